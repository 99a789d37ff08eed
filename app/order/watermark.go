package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app/shop"
)

const watermarkEvery = 5 * time.Second

// PublishedWatermark stores for each partition the instant up to which its new rows are published. Redis may lose the
// entries of rows, and a recovery then processes only rows with later change timestamps.
//
// Proof for an instant T of the database's clock: after T was read, N is the newest entry of the stream. Every row with
// a change timestamp up to T comes from an entry up to N. So all these rows are published when all entries up to N are
// acknowledged.
type PublishedWatermark struct {
	Partitions int
	Queue      Queue
	Clock      func(ctx context.Context) (shop.Instant, error) // reads the database's clock
	// SetPublishedUntil moves the stored instant of a partition forward. It ignores an instant before the stored one.
	SetPublishedUntil func(ctx context.Context, partition int, at shop.Millis) error

	candidates map[int]candidate // by partition
}

// candidate is an instant that becomes the watermark when lastEntry and all earlier entries are acknowledged.
type candidate struct {
	epoch     int64
	at        shop.Millis
	lastEntry shop.EntryID
}

// Run advances the watermarks at the interval watermarkEvery until ctx ends.
func (w *PublishedWatermark) Run(ctx context.Context) error {
	return shop.Repeat(ctx, watermarkEvery, "advance the watermarks of published orders", w.RunOnce)
}

// RunOnce checks each partition once.
func (w *PublishedWatermark) RunOnce(ctx context.Context) error {
	if w.candidates == nil {
		w.candidates = make(map[int]candidate, w.Partitions)
	}
	now, err := w.Clock(ctx)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	var failed []error
	for p := range w.Partitions {
		if err := w.checkPartition(ctx, p, now.At); err != nil {
			failed = append(failed, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	return errors.Join(failed...)
}

func (w *PublishedWatermark) checkPartition(ctx context.Context, partition int, now shop.Millis) error {
	d, err := w.Queue.Delivery(ctx, partition)
	if err != nil {
		delete(w.candidates, partition) // the next read may return another stream
		return err
	}
	// A restarted stream proves nothing about the old one. The recovery has processed the old rows.
	if c, known := w.candidates[partition]; known && c.epoch == d.Epoch {
		if settled := d.OldestUnacknowledged == (shop.EntryID{}) ||
			d.OldestUnacknowledged.After(c.lastEntry); !settled {
			return nil
		}
		if err := w.SetPublishedUntil(ctx, partition, c.at); err != nil {
			return err
		}
	}
	w.candidates[partition] = candidate{epoch: d.Epoch, at: now, lastEntry: d.Newest}
	return nil
}
