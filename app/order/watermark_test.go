package order

import (
	"context"
	"testing"

	"stampede/app/shop"
)

// watermarkWorld has one partition whose consumer progress the test sets.
type watermarkWorld struct {
	Queue
	clock     shop.Millis
	delivery  shop.Delivery
	err       error
	published shop.Millis
}

func (w *watermarkWorld) Clock(context.Context) (shop.Instant, error) {
	return shop.Instant{At: w.clock}, nil
}

func (w *watermarkWorld) Delivery(context.Context, int) (shop.Delivery, error) {
	return w.delivery, w.err
}

func (w *watermarkWorld) SetPublishedUntil(_ context.Context, _ int, at shop.Millis) error {
	w.published = at
	return nil
}

// F3: an instant becomes the watermark when all entries up to that time are acknowledged. A stream of another epoch
// proves nothing, and a failed read discards the candidate.
func TestPublishedWatermarkNeedsProof(t *testing.T) {
	t.Parallel()
	s := &watermarkWorld{clock: 1000}
	w := &PublishedWatermark{Partitions: 1, Queue: s, Clock: s.Clock, SetPublishedUntil: s.SetPublishedUntil}
	entry := func(n int64) shop.EntryID { return shop.EntryID{Time: n} }
	for i, step := range []struct {
		clock    shop.Millis
		delivery shop.Delivery
		err      error
		want     shop.Millis
	}{
		{1000, shop.Delivery{Epoch: 1, Newest: entry(10), OldestUnacknowledged: entry(7)}, nil, 0},
		// entry 10 is still open
		{2000, shop.Delivery{Epoch: 1, Newest: entry(20), OldestUnacknowledged: entry(10)}, nil, 0},
		// all entries from before 1000 are acknowledged
		{3000, shop.Delivery{Epoch: 1, Newest: entry(20), OldestUnacknowledged: entry(11)}, nil, 1000},
		{4000, shop.Delivery{Epoch: 1, Newest: entry(20)}, nil, 3000}, // now all entries are acknowledged
		// another stream proves nothing about the old one
		{5000, shop.Delivery{Epoch: 2, Newest: entry(1)}, nil, 3000},
		{6000, shop.Delivery{Epoch: 2, Newest: entry(1)}, nil, 5000},
		{7000, shop.Delivery{}, shop.ErrTransient, 5000}, // a failed read
		// a new candidate
		{8000, shop.Delivery{Epoch: 2, Newest: entry(30), OldestUnacknowledged: entry(30)}, nil, 5000},
		{9000, shop.Delivery{Epoch: 2, Newest: entry(31), OldestUnacknowledged: entry(31)}, nil, 8000},
		// entry 31 existed at 9000
		{10000, shop.Delivery{Epoch: 2, Newest: entry(31), OldestUnacknowledged: entry(31)}, nil, 8000},
		{11000, shop.Delivery{Epoch: 2, Newest: entry(99), OldestUnacknowledged: shop.EntryID{}}, nil, 9000},
	} {
		s.clock, s.delivery, s.err = step.clock, step.delivery, step.err
		if err := w.RunOnce(context.Background()); (err != nil) != (step.err != nil) {
			t.Fatalf("step %d: unexpected error %v", i, err)
		}
		if s.published != step.want {
			t.Errorf("step %d: got watermark %d, want %d", i, s.published, step.want)
		}
	}
}
