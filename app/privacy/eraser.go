package privacy

import (
	"context"
	"log/slog"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
)

const (
	eraseEvery = 10 * time.Second
	eraseBatch = 50
	// erasureWindow is the minimum time for which the orders of a deleted user are checked: a stream entry that waits
	// for its row, or a replayed dead letter, can bring an address back.
	erasureWindow = 7 * 24 * time.Hour
	// The limits of the interval between two checks of a user's orders.
	minErasure, maxErasure = time.Minute, 6 * time.Hour
)

// EraserJob removes the addresses from the orders of deleted users after the orders have ended.
type EraserJob struct {
	Store *store.Store
	Now   func() shop.Millis
}

// Run calls RunOnce periodically until ctx ends.
func (e *EraserJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, eraseEvery, "erase addresses of deleted users", e.RunOnce)
}

// RunOnce checks the orders of all users that are due. After a crash the next call processes the rest.
func (e *EraserJob) RunOnce(ctx context.Context) error {
	for {
		now := e.Now()
		due, err := e.Store.PersonalData().ClaimErasures(ctx, now, eraseBatch)
		if err != nil {
			return err
		}
		for _, d := range due {
			erased, remaining, err := e.Store.PersonalData().BlankAddresses(ctx, d.User)
			if err != nil {
				return err
			}
			if erased > 0 {
				slog.InfoContext(ctx, "erased addresses of a deleted user", "user", d.User, "orders", erased, "under_way", remaining)
			}
			next := nextErasure(d.RequestedAt, now, remaining)
			if err := e.Store.PersonalData().PlanErasure(ctx, d.User, next); err != nil {
				return err
			}
		}
		if len(due) < eraseBatch {
			return nil
		}
	}
}

// nextErasure returns the time of the next check; 0: no check is needed. remaining is the number of orders that still
// have an address. Most orders end within minutes; some wait weeks for their shipment. The interval therefore grows
// with the time since the deletion.
func nextErasure(requestedAt, now shop.Millis, remaining int64) shop.Millis {
	age := now.Sub(requestedAt)
	if remaining == 0 && age >= erasureWindow {
		return 0
	}
	return now.Add(min(max(age/4, minErasure), maxErasure))
}
