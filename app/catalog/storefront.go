package catalog

import (
	"context"
	"fmt"
	"sync"

	"stampede/app/shop"
)

// WatchView is the reply to a client that starts to watch: the slots of the day and complete views of the sales.
type WatchView struct {
	Slot  shop.ID         `json:"-"` // the resolved slot; 0: none
	Slots []shop.Slot     `json:"slots"`
	Sales []shop.SaleView `json:"sales"`
}

// Storefront reads slots and sales for shoppers. It writes nothing except warm-ups.
type Storefront struct {
	Catalogue *Catalogue
	Warmer    *Warmer
	Stock     Stock
	Clock     *shop.Clock
	Ticker    *Ticker

	lastMu sync.Mutex
	last   map[shop.ID]shop.Counters // the last counters that this node has read, by sale
}

// Watch resolves a slot and further sales into views, and warms up sales that are watched for the first time. Slot 0 is
// the current slot, or no slot if extra is not empty. NotFound: an ID does not exist.
func (st *Storefront) Watch(ctx context.Context, slot shop.ID, extra []shop.ID) (WatchView, error) {
	now := st.Clock.Now()
	slots, err := st.Catalogue.Today(ctx, now)
	if err != nil {
		return WatchView{}, fmt.Errorf("read slots: %w", err)
	}
	view := WatchView{Slot: slot, Slots: slots, Sales: []shop.SaleView{}}
	bound := shop.BoundSale(ctx) != 0
	if bound && slot != 0 {
		return WatchView{}, shop.Fail(shop.NotFound, "no such slot")
	}
	if slot == 0 && len(extra) == 0 && !bound {
		if current := shop.CurrentSlot(slots, now); current != nil {
			view.Slot = current.ID
		}
	}
	var sales []*shop.Sale
	if view.Slot != 0 {
		if sales, err = st.Catalogue.SalesOfSlot(ctx, view.Slot); err != nil {
			return WatchView{}, err
		}
	}
	included := make(map[shop.ID]bool, len(sales))
	for _, s := range sales {
		included[s.ID] = true
	}
	for _, id := range extra {
		if included[id] {
			continue
		}
		sale, err := st.Catalogue.VisibleSale(ctx, id)
		if err != nil {
			return WatchView{}, err
		}
		included[id] = true
		sales = append(sales, sale)
	}
	view.Sales, err = st.Views(ctx, sales)
	return view, err
}

// Views joins sales with their present counters. It warms up sales that are not loaded and not closed.
func (st *Storefront) Views(ctx context.Context, sales []*shop.Sale) ([]shop.SaleView, error) {
	if len(sales) == 0 {
		return []shop.SaleView{}, nil
	}
	counters, err := st.counters(ctx, sales)
	if err != nil {
		return nil, err
	}
	return st.join(sales, counters, st.Clock.Now()), nil
}

// join returns the view of each sale with its counters.
func (st *Storefront) join(sales []*shop.Sale, counters []shop.Counters, now shop.Millis) []shop.SaleView {
	views := make([]shop.SaleView, len(sales))
	for i, s := range sales {
		views[i] = shop.ViewOf(s, st.Ticker.WithRate(counters[i]), now)
	}
	return views
}

// counters reads the counters. It warms up sales that are not loaded and not closed, and then reads again, once.
func (st *Storefront) counters(ctx context.Context, sales []*shop.Sale) ([]shop.Counters, error) {
	counters, err := st.readCounters(ctx, sales)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, shop.Unavailable("live counters", err)
	}
	warmed, unreachable := false, shop.UnreachableIn(err)
	for i, c := range counters {
		if !c.Loaded && !unreachable.Has(sales[i].Partition) && st.Clock.Now() < sales[i].ClosesAt {
			if err := st.Warmer.Ensure(ctx, sales[i].ID); err == nil {
				warmed = true
			}
		}
	}
	if warmed {
		counters, err = st.readCounters(ctx, sales)
	}
	if shop.UnreachableIn(err) != nil {
		err = nil
	}
	return counters, err
}

// readCounters reads the counters. For a sale of an unavailable partition it returns the last counters that this node
// has read.
func (st *Storefront) readCounters(ctx context.Context, sales []*shop.Sale) ([]shop.Counters, error) {
	counters, err := st.Stock.Counters(ctx, shop.RefsOf(sales))
	unreachable := shop.UnreachableIn(err)
	if err != nil && unreachable == nil {
		return nil, err
	}
	st.lastMu.Lock()
	defer st.lastMu.Unlock()
	if st.last == nil || len(st.last) > maxLastCounters {
		st.last = make(map[shop.ID]shop.Counters)
	}
	for i, sale := range sales {
		if unreachable.Has(sale.Partition) {
			if last, found := st.last[sale.ID]; found {
				counters[i] = last
			}
			continue
		}
		st.last[sale.ID] = counters[i]
	}
	return counters, err
}

// maxLastCounters is the maximum number of sales in Storefront.last, about 1 MB.
const maxLastCounters = 5000

// Sale returns one sale with description and rules in all languages.
func (st *Storefront) Sale(ctx context.Context, id shop.ID) (shop.SaleView, error) {
	sale, err := st.Catalogue.VisibleSale(ctx, id)
	if err != nil {
		return shop.SaleView{}, err
	}
	views, err := st.Views(ctx, []*shop.Sale{sale})
	if err != nil {
		return shop.SaleView{}, err
	}
	views[0].Description, views[0].Rules = sale.Product.Description, sale.Product.Rules
	views[0].Product.Texts = sale.Product.Texts
	return views[0], nil
}
