package app

import (
	"context"
	"fmt"
	"sync"
)

// WatchView is what a client that starts to watch gets: the slots of the day and full snapshots of the sales.
type WatchView struct {
	Slot  ID         `json:"-"` // the slot that was resolved; 0 when there is none
	Slots []Slot     `json:"slots"`
	Sales []SaleView `json:"sales"`
}

// Storefront reads slots and sales for shoppers. It changes nothing.
type Storefront struct {
	Catalogue *Catalogue
	Warmer    *Warmer
	Inventory Inventory
	Clock     *Clock
	Ticker    *Ticker

	lastMu sync.Mutex
	last   map[ID]Counters // what this node has seen last of sales
}

// Now is the server's clock, close to Redis TIME.
func (f *Storefront) Now() Millis { return f.Clock.Now() }

// Watch resolves a slot (0: the current one, unless only sales are asked for) and further sales into
// snapshots, and warms up what is watched for the first time. An unknown id is NotFound.
func (f *Storefront) Watch(ctx context.Context, slot ID, extra []ID) (WatchView, error) {
	now := f.Clock.Now()
	slots, err := f.Catalogue.Today(ctx, now)
	if err != nil {
		return WatchView{}, fmt.Errorf("read slots: %w", err)
	}
	view := WatchView{Slot: slot, Slots: slots, Sales: []SaleView{}}
	bound := boundSale(ctx) != 0
	if bound && slot != 0 {
		return WatchView{}, Fail(NotFound, "no such slot")
	}
	if slot == 0 && len(extra) == 0 && !bound {
		if current := CurrentSlot(slots, now); current != nil {
			view.Slot = current.ID
		}
	}
	var sales []*Sale
	if view.Slot != 0 {
		if sales, err = f.Catalogue.SalesOfSlot(ctx, view.Slot); err != nil {
			return WatchView{}, err
		}
	}
	known := make(map[ID]bool, len(sales))
	for _, s := range sales {
		known[s.ID] = true
	}
	for _, id := range extra {
		if known[id] {
			continue
		}
		sale, err := f.Catalogue.Offered(ctx, id)
		if err != nil {
			return WatchView{}, err
		}
		known[id] = true
		sales = append(sales, sale)
	}
	view.Sales, err = f.Views(ctx, sales)
	return view, err
}

// Views joins sales with their counters of this moment; sales that were never loaded are warmed up.
func (f *Storefront) Views(ctx context.Context, sales []*Sale) ([]SaleView, error) {
	if len(sales) == 0 {
		return []SaleView{}, nil
	}
	counters, err := f.counters(ctx, sales)
	if err != nil {
		return nil, err
	}
	return f.join(sales, counters, f.Clock.Now()), nil
}

// join shows each sale with its counters.
func (f *Storefront) join(sales []*Sale, counters []Counters, now Millis) []SaleView {
	views := make([]SaleView, len(sales))
	for i, s := range sales {
		views[i] = ViewOf(s, f.Ticker.Dress(counters[i]), now)
	}
	return views
}

// counters reads the numbers, warming up once what is not loaded and has not closed yet.
func (f *Storefront) counters(ctx context.Context, sales []*Sale) ([]Counters, error) {
	counters, err := f.someCounters(ctx, sales)
	if err != nil && AwayOf(err) == nil {
		return nil, Unreadable("live numbers", err)
	}
	warmed, away := false, AwayOf(err)
	for i, c := range counters {
		if !c.Loaded && !away.Has(sales[i].Partition) && f.Clock.Now() < sales[i].ClosesAt {
			if err := f.Warmer.Ensure(ctx, sales[i].ID); err == nil {
				warmed = true
			}
		}
	}
	if warmed {
		counters, err = f.someCounters(ctx, sales)
	}
	if AwayOf(err) != nil {
		err = nil
	}
	return counters, err
}

// someCounters reads the numbers. Of several sales, one whose partition is away has those that this node saw last.
func (f *Storefront) someCounters(ctx context.Context, sales []*Sale) ([]Counters, error) {
	counters, err := f.Inventory.Counters(ctx, refsOf(sales))
	away := AwayOf(err)
	if err != nil && away == nil {
		return nil, err
	}
	f.lastMu.Lock()
	defer f.lastMu.Unlock()
	if f.last == nil || len(f.last) > lastKept {
		f.last = make(map[ID]Counters)
	}
	for i, sale := range sales {
		if away.Has(sale.Partition) {
			if last, seen := f.last[sale.ID]; seen {
				counters[i] = last
			}
			continue
		}
		f.last[sale.ID] = counters[i]
	}
	return counters, err
}

// lastKept is how many sales are remembered as they were seen last, about 1 MB of them.
const lastKept = 5000

// Sale is one sale with description and rules.
func (f *Storefront) Sale(ctx context.Context, id ID) (SaleView, error) {
	sale, err := f.Catalogue.Offered(ctx, id)
	if err != nil {
		return SaleView{}, err
	}
	views, err := f.Views(ctx, []*Sale{sale})
	if err != nil {
		return SaleView{}, err
	}
	views[0].Description, views[0].Rules = sale.Product.Description, sale.Product.Rules
	return views[0], nil
}
