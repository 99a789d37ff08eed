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
	catalog.CatalogueStore
	catalog.SaleStore
	ids []shop.ID
}

func (r *loadRecorder) Sale(_ context.Context, id shop.ID) (shop.Sale, error) {
	r.ids = append(r.ids, id)
	return shop.Sale{}, shop.ErrTransient
}

// fakeAudience records the published slots.
type fakeAudience struct {
	catalog.Audience
	slots []shop.Slot
}

func (*fakeAudience) Watched() []shop.ID { return nil }

func (a *fakeAudience) SlotChanged(s shop.Slot) { a.slots = append(a.slots, s) }

// fakeRedis is an inventory without sales.
type fakeRedis struct{ catalog.Stock }

func (fakeRedis) Now(context.Context) (shop.Millis, error) { return shop.MillisOf(time.Now()), nil }

func (fakeRedis) Counters(context.Context, []shop.SaleRef) ([]shop.Counters, error) { return nil, nil }

// P3, I11: a sale that opens at midnight is loaded beforehand, shown on the board and announced, while another slot is
// open until then.
func TestMidnightSaleIsLoadedBeforeItOpens(t *testing.T) {
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
		catalogue, clock, audience := catalog.NewCatalogue(
			source, source, fakes.ExactFilter, time.UTC,
		), shop.NewClock(), &fakeAudience{}
		loads, phases := &loadRecorder{}, &catalog.PhaseWatcher{
			Catalogue: catalogue, Stock: fakeRedis{}, Audience: audience, Clock: clock,
			Storefront: &catalog.Storefront{
				Catalogue: catalogue, Stock: fakeRedis{}, Clock: clock, Ticker: &catalog.Ticker{},
			},
		}
		refresh := func(before time.Duration) {
			t.Helper()
			time.Sleep(time.Until(midnight) - before)
			fakes.Must(t, errors.Join(catalogue.Refresh(ctx), phases.RunOnce(ctx)))
		}
		refresh(3 * time.Minute)
		_ = (&catalog.Warmer{Catalogue: catalogue, Sales: loads, Clock: clock}).RunOnce(ctx)
		board := (&Reader{Catalogue: catalogue}).boardSales(ctx, clock.Now())
		if !slices.Equal(loads.ids, []shop.ID{1, 2}) || len(board) != 2 {
			t.Errorf("three minutes before: loaded %v, %d sales on the board; want sales 1 and 2 loaded and 2 sales on the board", loads.ids, len(board))
		}
		refresh(time.Second)
		refresh(0)
		got := make(map[shop.ID]shop.Phase)
		for _, slot := range audience.slots {
			got[slot.ID] = slot.Phase
		}
		if n := catalogue.OpenSales(ctx, clock.Now()); got[10] != shop.Ended || got[20] != shop.Open || n != 1 {
			t.Errorf("at midnight: announced %v, %d open sales; want slot 10 closed, slot 20 open and 1 open sale", got, n)
		}
	})
}
