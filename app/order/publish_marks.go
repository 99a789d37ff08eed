package order

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	markEvery = time.Second // much shorter than the time after which the reconciler publishes unmarked rows again
	markBatch = 1000
	maxMarks  = 100_000 // further marks are dropped: the reconciler publishes again, clients ignore repeats
)

// PublishMarks records in the database which later states were published. It works in batches after the publication, so
// that no order waits for this commit. If a crash loses a mark, the state is published twice.
type PublishMarks struct {
	Store Store

	mu      sync.Mutex
	pending []*shop.Order
}

// Add queues published rows.
func (p *PublishMarks) Add(rows []*shop.Order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending)+len(rows) <= maxMarks {
		p.pending = append(p.pending, rows...)
	}
}

// RunOnce marks all rows added so far.
func (p *PublishMarks) RunOnce(ctx context.Context) error {
	p.mu.Lock()
	rows := p.pending
	p.pending = nil
	p.mu.Unlock()
	for len(rows) > 0 {
		n := min(len(rows), markBatch)
		if err := p.Store.MarkPublished(ctx, rows[:n]); err != nil {
			p.Add(rows)
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Run marks rows at the interval markEvery until ctx ends, and once more after that.
func (p *PublishMarks) Run(ctx context.Context) error {
	err := shop.Repeat(ctx, markEvery, "mark orders as published", p.RunOnce)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if markErr := p.RunOnce(last); markErr != nil {
		slog.WarnContext(last, "mark the last orders as published", "err", markErr)
	}
	return err
}
