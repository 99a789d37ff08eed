package order

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/shop"
)

// batchWorld records the steps of each order. Order 2 is locked in the database for the duration locked.
type batchWorld struct {
	Store
	Stock
	Queue
	locked time.Duration

	mu    sync.Mutex
	steps []string
}

func (b *batchWorld) add(step string, order shop.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps = append(b.steps, step+" "+order.String())
}

func (b *batchWorld) Now(context.Context) (shop.Millis, error) { return 1_000_000, nil }

func (b *batchWorld) Expire(_ context.Context, ids []shop.ID, _ shop.Millis) ([]shop.Order, error) {
	if ids[0] == 2 {
		time.Sleep(b.locked)
	}
	return []shop.Order{
		{ID: ids[0], Sale: 7, State: shop.Expired, Hold: 1, Rev: 2, PublishedRev: 1, Touched: true},
	}, nil
}

func (b *batchWorld) Return(_ context.Context, r []shop.Return) ([]bool, error) {
	b.add("units", r[0].Order)
	return make([]bool, len(r)), nil
}

func (b *batchWorld) Publish(_ context.Context, _ int, _ shop.Millis, rows []*shop.Order) error {
	b.add("published", rows[0].ID)
	return nil
}

// P5: two batches are due at once. Both batches return their units before a batch is published. A batch of locked
// orders delays the publication of the other batch by at most publishDelay.
func TestPublicationWaitsForUnitsOfOtherBatches(t *testing.T) {
	t.Parallel()
	for locked, want := range map[time.Duration][]string{
		publishDelay / 2: {"units 1", "units 2", "published"},
		publishDelay * 2: {"units 1", "published 1", "units 2", "published 2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			world := &batchWorld{locked: locked}
			x := &Expirer{Stock: world, Store: world, Effects: effectsOf(world, world, world)}
			var batches sync.WaitGroup
			for _, id := range []shop.ID{2, 1} {
				batches.Go(func() {
					if finished, err := x.Due(t.Context(), 0, []shop.ID{id}); err != nil || !slices.Equal(finished,
						[]shop.ID{id}) {
						t.Errorf("got finished orders %v and error %v, want order %s", finished, err, id)
					}
				})
				synctest.Wait()
			}
			batches.Wait()
			if len(want) == 3 { // the order of the two publications is arbitrary
				last, _, _ := strings.Cut(world.steps[2], " ")
				world.steps = slices.Concat(world.steps[:2], []string{last})
			}
			if !slices.Equal(world.steps, want) {
				t.Errorf("locked for %v: got steps %v, want %v", locked, world.steps, want)
			}
		})
	}
}
