package seed

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"stampede/app"
)

// keepEvery is how often the Keeper looks whether the schedule needs more slots.
const keepEvery = 20 * time.Second

// Keeper keeps a rolling schedule going: a duty of the demo.
type Keeper struct {
	Seeder *Seeder
	Now    func() app.Millis
	Ahead  time.Duration // how far the schedule reaches into the future
}

// RunOnce adds the slots that are missing until Ahead from now.
func (k *Keeper) RunOnce(ctx context.Context) error {
	now := k.Now()
	until := now.Add(k.Ahead)
	existing, err := k.Seeder.Book.Slots(ctx, now.Add(-rollingLength), until.Add(rollingLength))
	if err != nil {
		return fmt.Errorf("read slots: %w", err)
	}
	var plan []Window
	for _, slot := range existing {
		if slot.Sales == 0 && slot.ClosesAt > now { // left so by a crash between slots and sales
			plan = append(plan, Window{slot.OpensAt, slot.ClosesAt})
		}
	}
	plan = append(plan, Rolling(existing, now, until)...)
	if _, err := k.Seeder.Schedule(ctx, plan); err != nil {
		return fmt.Errorf("extend the schedule: %w", err)
	}
	return nil
}

// Run keeps the schedule until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		if err := k.RunOnce(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "keep the schedule rolling", "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
