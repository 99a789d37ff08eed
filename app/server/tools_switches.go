package server

import (
	"context"

	"stampede/app"
)

func (t *Tools) switchDesk() *app.SwitchDesk {
	return &app.SwitchDesk{Journal: t.journal(), Kept: t.stores.db}
}

// Switches is how they stand.
func (t *Tools) Switches(ctx context.Context) (app.Switches, error) {
	if err := t.prepared(ctx); err != nil {
		return app.Switches{}, err
	}
	return t.switchDesk().Switches(ctx)
}

// EditSwitches turns some, whatever version they are at.
func (t *Tools) EditSwitches(ctx context.Context, e app.SwitchesEdit) (app.Switches, error) {
	now, err := t.Switches(ctx)
	if err != nil {
		return now, err
	}
	e.Version = now.Version
	return t.switchDesk().EditSwitches(ctx, t.actor, e)
}

// TellAll tells all shoppers something.
func (t *Tools) TellAll(ctx context.Context, n app.NewNotice) (app.Notice, error) {
	if err := t.prepared(ctx); err != nil {
		return app.Notice{}, err
	}
	return t.switchDesk().TellAll(ctx, t.actor, n)
}

// TakeBack ends the notice.
func (t *Tools) TakeBack(ctx context.Context) (app.Notice, error) {
	if err := t.prepared(ctx); err != nil {
		return app.Notice{}, err
	}
	return t.switchDesk().TakeBack(ctx, t.actor)
}
