package board

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

func exactFilter(ids []shop.ID) catalog.IDFilter {
	return func(id shop.ID) bool { return slices.Contains(ids, id) }
}

// loadRecorder records the sales that a Warmer loads.
type loadRecorder struct {
	SaleStore
	ids []shop.ID
}

func (r *loadRecorder) Sale(_ context.Context, id shop.ID) (shop.Sale, error) {
	r.ids = append(r.ids, id)
	return shop.Sale{}, shop.ErrTransient
}

// P3, I11: a sale that opens at midnight is loaded beforehand, is on the board and is announced, while another slot is
// open until then.
func TestMidnightSaleIsLoadedBeforehand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, midnight := t.Context(), time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
		from, at, to := shop.MillisOf(midnight.Add(-2*time.Hour)), shop.MillisOf(midnight), shop.MillisOf(midnight.Add(2*time.Hour))
		source := &fakes.Shelf{
			Planned: []shop.Slot{{ID: 10, OpensAt: from, ClosesAt: at}, {ID: 20, OpensAt: at, ClosesAt: to}},
			OnSale: map[shop.ID]shop.Sale{
				1: {ID: 1, Slot: 10, OpensAt: from, ClosesAt: at}, 2: {ID: 2, Slot: 20, OpensAt: at, ClosesAt: to},
			},
		}
		catalogue, clock, people := catalog.NewCatalogue(source, exactFilter, time.UTC), shop.NewClock(), &catalog.Listeners{}
		loads, phases := &loadRecorder{}, catalog.Watcher(catalogue, clock, people)
		look := func(before time.Duration) {
			t.Helper()
			time.Sleep(time.Until(midnight) - before)
			fakes.Must(t, errors.Join(catalogue.Refresh(ctx), phases.RunOnce(ctx)))
		}
		look(3 * time.Minute)
		_ = (&catalog.Warmer{Catalogue: catalogue, Sales: loads, Clock: clock}).RunOnce(ctx)
		board := (&BoardReader{Catalogue: catalogue}).offered(ctx, clock.Now())
		if !slices.Equal(loads.ids, []shop.ID{1, 2}) || len(board) != 2 {
			t.Errorf("three minutes before: loaded %v, %d sales on the board, want 1 and 2", loads.ids, len(board))
		}
		look(time.Second)
		look(0)
		got := make(map[shop.ID]shop.Phase)
		for _, slot := range people.Slots {
			got[slot.ID] = slot.Phase
		}
		if n := catalogue.OpenSales(ctx, clock.Now()); got[10] != shop.Ended || got[20] != shop.Open || n != 1 {
			t.Errorf("at midnight: announced %v, %d open sales, want 10 closed, 20 open and 1", got, n)
		}
	})
}

// I11: concurrent callers share one read of the database; if the first of them leaves, the others still get its result.
func TestConcurrentCallersShareOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &fakes.Shelf{OnSale: map[shop.ID]shop.Sale{2: {ID: 2, Slot: 20}}, Slow: 5 * time.Millisecond}
		c := catalog.NewCatalogue(source, exactFilter, time.UTC)
		leaves, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		read := func(ctx context.Context) {
			callers.Go(func() {
				if sale, err := c.Sale(ctx, 2); ctx != leaves && (err != nil || sale.ID != 2) {
					t.Errorf("sale %v, %v", sale, err)
				}
			})
			callers.Go(func() { _, _ = c.SalesOfSlot(ctx, 20) })
		}
		read(leaves)
		synctest.Wait()
		for range 5000 {
			read(t.Context())
		}
		leave()
		callers.Wait()
		if source.Asked != 2 {
			t.Errorf("%d reads of the database, want one of the sale and one of its slot", source.Asked)
		}
	})
}
