package app

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	toldEvery = time.Second // long before the reconciler would tell them again
	toldBatch = 1000
	toldBound = 100_000 // beyond it marks are dropped: the reconciler tells again, the log recognises repeats
)

// Told writes down, behind the scenes and in batches, which events have reached their logs. It costs no
// commit on the way of an order; a mark lost in a crash only means that an event is offered to the log again.
type Told struct {
	Orders OrderStore

	mu      sync.Mutex
	pending []OrderEvent
}

// Add notes events that are in their logs.
func (t *Told) Add(events []OrderEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending)+len(events) > toldBound {
		return
	}
	t.pending = append(t.pending, events...)
}

// RunOnce marks everything that was noted so far.
func (t *Told) RunOnce(ctx context.Context) error {
	t.mu.Lock()
	events := t.pending
	t.pending = nil
	t.mu.Unlock()
	for len(events) > 0 {
		n := min(len(events), toldBatch)
		if err := t.Orders.MarkTold(ctx, events[:n]); err != nil {
			t.Add(events)
			return err
		}
		events = events[n:]
	}
	return nil
}

// Run marks until ctx ends, and a last time after that.
func (t *Told) Run(ctx context.Context) error {
	err := every(ctx, toldEvery, func() {
		if err := t.RunOnce(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "mark events as told", "err", err)
		}
	})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if markErr := t.RunOnce(last); markErr != nil {
		slog.WarnContext(last, "mark the last events as told", "err", markErr)
	}
	return err
}
