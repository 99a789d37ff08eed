package recovery

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// countedSale is a sale with one hold of a pending order. Its counter has two held units.
type countedSale struct {
	scannedSale
	mark        shop.HoldsMark
	free        int64
	beforeCycle func(cycle int) // called before each cycle
}

func (c *countedSale) HoldsMark(context.Context, shop.SaleRef) (shop.HoldsMark, error) {
	return c.mark, nil
}

func (c *countedSale) Correct(_ context.Context, _ shop.SaleRef, to shop.Correction) (bool, error) {
	c.Add("held %d sold %d stock %d", to.Held, to.Sold, to.Stock)
	c.mark.Held, c.mark.Sold, c.mark.Stock = to.Held, to.Sold, to.Stock
	c.mark.HoldChanges++
	return true, nil
}

func (c *countedSale) FreeUnits(context.Context, []shop.ID) (map[shop.ID]int64, error) {
	return map[shop.ID]int64{7: c.free}, nil
}

// P1, I3: counters are corrected if two cycles have found the same difference, nothing has changed meanwhile, every
// hold has its row, and the database has the same number of free units. Other differences are reported to operators.
func TestRecountCorrectsOnlyStableDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(c *countedSale)
		cycles     int
		want       []string
		mismatched int
	}{
		"only one cycle":        {func(*countedSale) {}, 1, nil, 0},
		"a unit without a hold": {func(*countedSale) {}, 4, []string{"held 1 sold 0 stock 2"}, 0},
		"no difference":         {func(c *countedSale) { c.mark.Held, c.mark.Stock = 1, 2 }, 3, nil, 0},
		"a sold unit that is counted as held": {func(c *countedSale) {
			c.holds[0].Sold, c.rows[0].State, c.free = true, shop.Paid,
				2
		}, 3, []string{"held 0 sold 1 stock 2"}, 0},
		"a held unit that is not counted": {func(c *countedSale) { c.mark.Held, c.mark.Stock = 0, 3 }, 3, []string{"held 1 sold 0 stock 2"}, 0},
		"a unit that can no longer be sold": {func(c *countedSale) {
			c.mark.Burnt, c.mark.Withdrawn, c.mark.Stock, c.free = 1, 1, 0, 2
		}, 3, []string{"held 1 sold 0 stock 1"}, 0},
		"fewer free units in the database": {func(c *countedSale) { c.free = 1 }, 4, nil, 1},
		"more free units in the database":  {func(c *countedSale) { c.free = 3 }, 4, nil, 1},
		"a hold without a row":             {func(c *countedSale) { c.rows = nil }, 4, nil, 1},
		"a row without a hold":             {func(c *countedSale) { c.mark.Held, c.mark.Stock, c.free = 1, 2, 1 }, 4, nil, 1},
		"reservations in progress":         {func(c *countedSale) { c.mark.Tickets++ }, 4, nil, 0},
		"a sale that is not in Redis":      {func(c *countedSale) { c.mark = shop.HoldsMark{} }, 4, nil, 0},
		"a late payment in progress": {func(c *countedSale) {
			c.rows[0].State, c.rows[0].TradeNo = shop.Expired,
				"T"
		}, 4, nil, 0},
		"holds change in every cycle": {func(c *countedSale) { c.beforeCycle = func(int) { c.mark.HoldChanges++ } }, 4, nil, 0},
		"free units in the database change": {func(c *countedSale) {
			c.beforeCycle = func(cycle int) {
				c.free = int64(2 + cycle%2)
			}
		}, 4, nil, 0},
		"reported, then the difference disappears": {func(c *countedSale) {
			c.free = 1
			c.beforeCycle = func(cycle int) {
				if cycle == 3 {
					c.free, c.mark.Held, c.mark.Stock = 2, 1, 2
				}
			}
		}, 4, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &fakes.Trace{}
			s := &countedSale{
				scannedSale: scannedSale{
					Redis: &fakes.Redis{Trace: tr},
					holds: []shop.OpenHold{{Order: 5, Hold: 1, Qty: 1}},
					rows:  []shop.Order{{ID: 5, User: 9, Qty: 1, Hold: 1, State: shop.Pending}},
				},
				mark: shop.HoldsMark{
					Counters: shop.Counters{Loaded: true, Stock: 1, Held: 2, Initial: 3, Tickets: 4, Done: 4, Epoch: 2},
				},
				free: 2,
			}
			c.change(s)
			r := &Reconciler{Redis: s, Orders: s, Sales: s, Effects: effectsOf(s, s, nil)}
			for cycle := range c.cycles {
				if s.beforeCycle != nil {
					s.beforeCycle(cycle)
				}
				fakes.Must(t, r.repairHolds(t.Context(), []shop.SaleRef{{ID: 7}}, map[shop.ID]int64{7: s.free}))
			}
			if !slices.Equal(tr.Steps, c.want) || r.Mismatched() != c.mismatched ||
				r.Corrected() != int64(len(c.want)) {
				t.Errorf("got steps %v, want %v; got %d mismatched, want %d; got %d corrected", tr.Steps, c.want, r.Mismatched(),
					c.mismatched, r.Corrected())
			}
		})
	}
}

// A cycle over several scans counts every hold once, even if a scan returns it twice.
func TestRecountCountsEachHoldOnce(t *testing.T) {
	t.Parallel()
	const holds = 2*holdsPerScan + 500
	tr := &fakes.Trace{}
	s := &countedSale{
		scannedSale: scannedSale{Redis: &fakes.Redis{Trace: tr}},
		mark:        shop.HoldsMark{Counters: shop.Counters{Loaded: true, Held: holds + 1, Initial: holds + 1}},
		free:        1,
	}
	for i := range shop.ID(holds) {
		s.holds = append(s.holds, shop.OpenHold{Order: i + 1, Hold: 1, Qty: 1})
		s.rows = append(s.rows, shop.Order{ID: i + 1, User: 9, Qty: 1, Hold: 1, State: shop.Pending})
	}
	p := pagedHolds{s}
	r := &Reconciler{Redis: p, Orders: p, Sales: p, Effects: effectsOf(p, p, nil)}
	for range 6 { // a cycle has three scans
		fakes.Must(t, r.repairHolds(t.Context(), []shop.SaleRef{{ID: 7}}, map[shop.ID]int64{7: s.free}))
	}
	if want := []string{fmt.Sprintf("held %d sold 0 stock 1", holds)}; !slices.Equal(tr.Steps, want) {
		t.Errorf("got the steps %v, want %v", tr.Steps, want)
	}
}

// pagedHolds returns the holds in pages of 1000, with the first hold of each page twice.
type pagedHolds struct{ *countedSale }

func (p pagedHolds) Holds(_ context.Context, _ shop.SaleRef, from uint64) ([]shop.OpenHold, uint64, error) {
	to := min(from+1000, uint64(len(p.holds)))
	page := append([]shop.OpenHold{p.holds[from]}, p.holds[from:to]...)
	if to == uint64(len(p.holds)) {
		to = 0
	}
	return page, to, nil
}

func (p pagedHolds) OrdersByID(_ context.Context, ids []shop.ID) ([]shop.Order, error) {
	rows := make([]shop.Order, 0, len(ids))
	for _, id := range slices.Compact(ids) {
		rows = append(rows, p.rows[id-1])
	}
	return rows, nil
}
