package server

import (
	"context"
	"time"

	"stampede/app"
)

// OpenActs is OpenTools for a command that changes something: what it does is journalled as done by the actor.
func OpenActs(ctx context.Context, c Config, actor app.Actor) (*Tools, error) {
	t, err := OpenTools(ctx, c)
	if err != nil {
		return nil, err
	}
	t.actor = actor
	return t, nil
}

// journal is how these tools act and read what was done.
func (t *Tools) journal() *app.Journal { return &app.Journal{Store: t.stores.db} }

// act does something in one transaction with its row in the journal.
func (t *Tools) act(ctx context.Context, do func(ctx context.Context) (app.Act, error)) (app.Done, error) {
	if err := t.prepared(ctx); err != nil {
		return app.Done{}, err
	}
	return t.journal().Act(ctx, t.actor, do)
}

// note journals what is done outside the database, before it is done.
func (t *Tools) note(ctx context.Context, act app.Act) error {
	_, err := t.act(ctx, func(context.Context) (app.Act, error) { return act, nil })
	return err
}

// JournalFilter is what of the journal somebody wants to see.
type JournalFilter = app.JournalQuery

// ListJournal reads what operators have done, the newest first.
func (t *Tools) ListJournal(ctx context.Context, q JournalFilter) ([]app.JournalEntry, error) {
	if err := t.prepared(ctx); err != nil {
		return nil, err
	}
	entries, _, err := t.journal().ListJournal(ctx, q)
	return entries, err
}

// VerifyJournal walks along the journal; head ("": none) is one that somebody wrote down.
func (t *Tools) VerifyJournal(ctx context.Context, head string) (app.JournalReport, error) {
	if err := t.prepared(ctx); err != nil {
		return app.JournalReport{}, err
	}
	return t.journal().VerifyJournal(ctx, head)
}

// Seeding journals that the shop is filled.
func (t *Tools) Seeding(ctx context.Context, how any) error {
	return t.note(ctx, app.Act{Kind: "shop.seed", Object: "shop", After: how})
}

// Repost has everything that reached the back office since the instant given appended to its stream once more, and
// answers how much that is. A running server does it.
func (t *Tools) Repost(ctx context.Context, since time.Time) (n int64, err error) {
	done, err := t.act(ctx, func(ctx context.Context) (app.Act, error) {
		n, err := t.stores.db.Repost(ctx, app.MillisOf(since))
		after := map[string]any{"since": app.MillisOf(since), "entries": n}
		return app.Act{Kind: "backoffice.repost", Object: "backoffice", After: after, Answer: n}, err
	})
	if err == nil {
		err = done.Into(&n)
	}
	return n, err
}
