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

func (world *watermarkWorld) Clock(context.Context) (shop.Instant, error) {
	return shop.Instant{At: world.clock}, nil
}

func (world *watermarkWorld) Delivery(context.Context, int) (shop.Delivery, error) {
	return world.delivery, world.err
}

func (world *watermarkWorld) SetPublishedUntil(_ context.Context, _ int, at shop.Millis) error {
	world.published = at
	return nil
}

// F3: an instant becomes the watermark when all entries that existed at that instant are acknowledged. A stream of
// another epoch proves nothing, and a failed read discards the candidate.
func TestPublishedWatermarkNeedsProof(t *testing.T) {
	t.Parallel()
	world := &watermarkWorld{clock: 1000}
	mark := &PublishedWatermark{
		Partitions: 1, Queue: world, Clock: world.Clock, SetPublishedUntil: world.SetPublishedUntil,
	}
	entry := func(n int64) shop.EntryID { return shop.EntryID{Time: n} }
	for i, step := range []struct {
		why      string
		clock    shop.Millis
		delivery shop.Delivery
		err      error
		want     shop.Millis
	}{
		{"the first candidate", 1000, shop.Delivery{Epoch: 1, Newest: entry(10), OldestUnacknowledged: entry(7)}, nil, 0},
		{"entry 10 is unacknowledged", 2000, shop.Delivery{
			Epoch: 1, Newest: entry(20), OldestUnacknowledged: entry(10),
		}, nil, 0},
		{"the entries that existed at 1000 are acknowledged", 3000, shop.Delivery{
			Epoch: 1, Newest: entry(20), OldestUnacknowledged: entry(11),
		}, nil, 1000},
		{"all entries are acknowledged", 4000, shop.Delivery{Epoch: 1, Newest: entry(20)}, nil, 3000},
		{"another stream proves nothing", 5000, shop.Delivery{Epoch: 2, Newest: entry(1)}, nil, 3000},
		{"the stream is the same as before", 6000, shop.Delivery{Epoch: 2, Newest: entry(1)}, nil, 5000},
		{"a failed read", 7000, shop.Delivery{}, shop.ErrTransient, 5000},
		{"a new candidate", 8000, shop.Delivery{
			Epoch: 2, Newest: entry(30), OldestUnacknowledged: entry(30),
		}, nil, 5000},
		{"entry 30 is acknowledged", 9000, shop.Delivery{
			Epoch: 2, Newest: entry(31), OldestUnacknowledged: entry(31),
		}, nil, 8000},
		{"entry 31 existed at 9000", 10000, shop.Delivery{
			Epoch: 2, Newest: entry(31), OldestUnacknowledged: entry(31),
		}, nil, 8000},
		{"entry 31 is acknowledged", 11000, shop.Delivery{Epoch: 2, Newest: entry(99)}, nil, 9000},
	} {
		world.clock, world.delivery, world.err = step.clock, step.delivery, step.err
		if err := mark.RunOnce(context.Background()); (err != nil) != (step.err != nil) {
			t.Fatalf("step %d, %s: unexpected error %v", i, step.why, err)
		}
		if world.published != step.want {
			t.Errorf("step %d, %s: got watermark %d, want %d", i, step.why, world.published, step.want)
		}
	}
}
