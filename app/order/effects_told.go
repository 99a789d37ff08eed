package order

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	toldEvery = time.Second // long before the reconciler would tell them again
	toldBatch = 1000
	toldBound = 100_000 // beyond it marks are dropped: the reconciler tells again, clients know repeats
)

// Told writes down in batches which later states were published: at no commit on the way of an order. A mark lost in a
// crash only means that a state is told twice.
type Told struct {
	Orders OrderStore

	mu      sync.Mutex
	pending []*shop.Order
}

// Add notes rows that were published.
func (t *Told) Add(rows []*shop.Order) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending)+len(rows) <= toldBound {
		t.pending = append(t.pending, rows...)
	}
}

// RunOnce marks everything that was noted so far.
func (t *Told) RunOnce(ctx context.Context) error {
	t.mu.Lock()
	rows := t.pending
	t.pending = nil
	t.mu.Unlock()
	for len(rows) > 0 {
		n := min(len(rows), toldBatch)
		if err := t.Orders.MarkTold(ctx, rows[:n]); err != nil {
			t.Add(rows)
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Run marks until ctx ends, and a last time after that.
func (t *Told) Run(ctx context.Context) error {
	err := shop.Repeat(ctx, toldEvery, "mark orders as told", t.RunOnce)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if markErr := t.RunOnce(last); markErr != nil {
		slog.WarnContext(last, "mark the last orders as told", "err", markErr)
	}
	return err
}
