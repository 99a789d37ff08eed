package server

import (
	"context"

	"stampede/app"
)

// journal is how these tools act.
func (t *Tools) journal() *app.Journal { return &app.Journal{Store: t.stores.db} }

// act does something in one transaction with its row in the journal.
func (t *Tools) act(ctx context.Context, do func(ctx context.Context) (app.Act, error)) (app.Done, error) {
	if err := t.prepared(ctx); err != nil {
		return app.Done{}, err
	}
	return t.journal().Act(ctx, t.Actor, do)
}

// note journals what is done outside the database, before it is done.
func (t *Tools) note(ctx context.Context, act app.Act) error {
	_, err := t.act(ctx, func(context.Context) (app.Act, error) { return act, nil })
	return err
}

// Seeding journals that the shop is filled.
func (t *Tools) Seeding(ctx context.Context, how any) error {
	return t.note(ctx, app.Act{Kind: "shop.seed", Object: "shop", After: how})
}
