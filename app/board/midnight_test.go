package board

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// loadRecorder records the sales that a Warmer loads.
type loadRecorder struct {
	catalog.Store
	ids []shop.ID
}

func (r *loadRecorder) Sale(_ context.Context, id shop.ID) (shop.Sale, error) {
	r.ids = append(r.ids, id)
	return shop.Sale{}, shop.ErrTransient
}

// listeners records the published slots.
type listeners struct {
	catalog.Audience
	slots []shop.Slot
}

func (*listeners) Watched() []shop.ID { return nil }

func (l *listeners) SlotChanged(s shop.Slot) { l.slots = append(l.slots, s) }

// nothing is an inventory without sales.
type nothing struct{ catalog.Redis }

func (nothing) Now(context.Context) (shop.Millis, error) { return shop.MillisOf(time.Now()), nil }

func (nothing) Counters(context.Context, []shop.SaleRef) ([]shop.Counters, error) { return nil, nil }

// P3, I11: a sale that opens at midnight is loaded beforehand, shown on the board and announced, while another slot is
// open until then.
func TestMidnightSaleIsLoadedBeforehand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, midnight := t.Context(), time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
		from, at, to := shop.MillisOf(midnight.Add(-2*time.Hour)), shop.MillisOf(midnight),
			shop.MillisOf(midnight.Add(2*time.Hour))
		source := &fakes.SaleData{
			Planned: []shop.Slot{{ID: 10, OpensAt: from, ClosesAt: at}, {ID: 20, OpensAt: at, ClosesAt: to}},
			OnSale: map[shop.ID]shop.Sale{
				1: {ID: 1, Slot: 10, OpensAt: from, ClosesAt: at}, 2: {ID: 2, Slot: 20, OpensAt: at, ClosesAt: to},
			},
		}
		catalogue, clock, people := catalog.NewCatalogue(
			source, fakes.ExactFilter, time.UTC,
		), shop.NewClock(), &listeners{}
		loads, phases := &loadRecorder{}, &catalog.PhaseWatcher{
			Catalogue: catalogue, Redis: nothing{}, Audience: people, Clock: clock,
			Storefront: &catalog.Storefront{
				Catalogue: catalogue, Redis: nothing{}, Clock: clock, Ticker: &catalog.Ticker{},
			},
		}
		look := func(before time.Duration) {
			t.Helper()
			time.Sleep(time.Until(midnight) - before)
			fakes.Must(t, errors.Join(catalogue.Refresh(ctx), phases.RunOnce(ctx)))
		}
		look(3 * time.Minute)
		_ = (&catalog.Warmer{Catalogue: catalogue, Store: loads, Clock: clock}).RunOnce(ctx)
		board := (&Reader{Catalogue: catalogue}).offered(ctx, clock.Now())
		if !slices.Equal(loads.ids, []shop.ID{1, 2}) || len(board) != 2 {
			t.Errorf("three minutes before: loaded %v, %d sales on the board, want 1 and 2", loads.ids, len(board))
		}
		look(time.Second)
		look(0)
		got := make(map[shop.ID]shop.Phase)
		for _, slot := range people.slots {
			got[slot.ID] = slot.Phase
		}
		if n := catalogue.OpenSales(ctx, clock.Now()); got[10] != shop.Ended || got[20] != shop.Open || n != 1 {
			t.Errorf("at midnight: announced %v, %d open sales, want 10 closed, 20 open and 1", got, n)
		}
	})
}
