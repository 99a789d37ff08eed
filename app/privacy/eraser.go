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
	// erasureOpen is how long the orders of somebody are looked at in any case: an entry of a stream that still waits
	// for its row, or a dead letter that is replayed, brings an address back.
	erasureOpen = 7 * 24 * time.Hour
	// between two looks at somebody's orders
	shortestErasure, longestErasure = time.Minute, 6 * time.Hour
)

// Eraser blanks the addresses in the orders of people who had their data deleted, once these orders are over.
type Eraser struct {
	Store *store.Store
	Now   func() shop.Millis
}

// Run works until ctx ends.
func (e *Eraser) Run(ctx context.Context) error {
	return shop.Repeat(ctx, eraseEvery, "blank addresses of deleted users", e.RunOnce)
}

// RunOnce looks at the orders of everybody who is due. A crash leaves the rest to the next look.
func (e *Eraser) RunOnce(ctx context.Context) error {
	for {
		now := e.Now()
		due, err := e.Store.ClaimErasures(ctx, now, eraseBatch)
		if err != nil {
			return err
		}
		for _, d := range due {
			blanked, left, err := e.Store.BlankAddresses(ctx, d.User)
			if err != nil {
				return err
			}
			if blanked > 0 {
				slog.InfoContext(ctx, "blanked addresses of a deleted user", "user", d.User, "orders", blanked, "under_way", left)
			}
			if err := e.Store.PlanErasure(ctx, d.User, nextErasure(d.AskedAt, now, left)); err != nil {
				return err
			}
		}
		if len(due) < eraseBatch {
			return nil
		}
	}
}

// nextErasure is the next look at orders of which so many still have an address; 0: none is needed. Most orders are
// over within minutes, some wait for weeks to be shipped: the longer it takes, the longer the pause.
func nextErasure(asked, now shop.Millis, left int64) shop.Millis {
	age := now.Sub(asked)
	if left == 0 && age >= erasureOpen {
		return 0
	}
	return now.Add(min(max(age/4, shortestErasure), longestErasure))
}
