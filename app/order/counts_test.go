package order

import (
	"context"
	"errors"
	"testing"
	"time"

	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// fakeFigures stores the figures of sales. If lostReply is set, it stores the figures and returns an error.
type fakeFigures struct {
	board.FigureStore
	published map[shop.ID]map[string]board.SaleFigures
	writes    int
	lostReply bool
}

func (f *fakeFigures) PublishSaleFigures(_ context.Context, figures []board.SaleFigures) error {
	f.writes++
	for _, figure := range figures {
		if f.published[figure.Sale] == nil {
			f.published[figure.Sale] = map[string]board.SaleFigures{}
		}
		f.published[figure.Sale][figure.By] = figure
	}
	if f.lostReply {
		return errors.New("unreachable")
	}
	return nil
}

func (f *fakeFigures) SaleFigures(_ context.Context, sale shop.ID) (figures []board.SaleFigures, err error) {
	for _, figure := range f.published[sale] {
		figures = append(figures, figure)
	}
	return figures, nil
}

func newCounts(process string, store *fakeFigures) (*board.SaleCounts, *shop.Millis) {
	now := new(shop.Millis)
	*now = 1_800_000_000_000
	return &board.SaleCounts{Figures: store, Process: process, Now: func() shop.Millis { return *now }}, now
}

// A checkout counts a rejected buy for the layer that rejected it: this node or the Lua script in Redis.
func TestCheckoutCountsByLayer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		gate scriptedGate
		sale shop.Sale
		want *board.Rejected
	}{
		{
			"rejected as sold out by the flag of this node",
			scriptedGate{result: shop.GateResult{Verdict: shop.VerdictSoldOut, Free: 1, Local: true}},
			shop.Sale{OpensAt: 1},
			&board.Rejected{Layer: shop.LayerNode, Code: shop.SoldOut, Buys: 1},
		},
		{
			"rejected as sold out by the script",
			scriptedGate{result: shop.GateResult{Verdict: shop.VerdictSoldOut, Free: 1}},
			shop.Sale{OpensAt: 1},
			&board.Rejected{Layer: shop.LayerRedis, Code: shop.SoldOut, Buys: 1},
		},
		{
			"unknown outcome",
			scriptedGate{err: shop.ErrTransient},
			shop.Sale{OpensAt: 1},
			&board.Rejected{Layer: shop.LayerRedis, Code: shop.Busy, Buys: 1},
		},
		{
			"too early",
			scriptedGate{},
			shop.Sale{OpensAt: 1 << 42},
			&board.Rejected{Layer: shop.LayerNode, Code: shop.NotOpen, Buys: 1},
		},
		{"reserved", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictReserved}}, shop.Sale{OpensAt: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := &fakeFigures{published: map[shop.ID]map[string]board.SaleFigures{}}
			counts, _ := newCounts("1", store)
			c.sale.ID, c.sale.ClosesAt = 7, 1<<43
			checkout := &Checkout{
				Catalogue: catalogueOf(t, c.sale), Gate: c.gate, SoldOut: NewSoldOutFlags(nil),
				Clock: shop.NewClock(), Mint: func() (shop.ID, error) { return 11, nil },
				Counts: &board.BuyCounts{Sales: counts},
			}
			_, _ = checkout.Buy(t.Context(), 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-0001"})
			fakes.Must(t, counts.RunOnce(t.Context()))
			figures, _ := store.SaleFigures(t.Context(), 7)
			got := board.BuysOf(figures)
			if got.Attempts != 1 || (c.want == nil) != (got.Reserved == 1) ||
				c.want != nil && (len(got.Rejected) != 1 || got.Rejected[0] != *c.want) {
				t.Errorf("got %+v, want one attempt with the rejection %+v", got, c.want)
			}
		})
	}
}

// catalogueOf returns a catalogue that has loaded these sales.
func catalogueOf(t testing.TB, sales ...shop.Sale) *catalog.Catalogue {
	t.Helper()
	source := &fakes.SaleData{OnSale: map[shop.ID]shop.Sale{}}
	for _, sale := range sales {
		source.OnSale[sale.ID] = sale
	}
	c := catalog.NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
	fakes.Must(t, c.Refresh(t.Context()))
	return c
}
