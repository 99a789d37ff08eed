package recovery

import (
	"fmt"
	"slices"
	"testing"

	"stampede/app/shop"
)

// countedSale is a sale with one hold of a pending order. Its counter has two held units.
type countedSale struct {
	mark        shop.HoldsMark
	holds       []shop.OpenHold
	rows        []shop.Order
	free        int64           // free units in the database
	beforeCycle func(cycle int) // called before each cycle
}

// recount counts the holds in one cycle, and sets the counters if the recount corrects them. It returns the correction.
func (c *countedSale) recount(r *Reconciler) (corrections []string) {
	count := newRecount(shop.SaleRef{ID: 7}, c.mark, c.free)
	count.add(c.holds, c.rows)
	switch r.conclusionOf(count) {
	case correctCounters:
		to := count.correction()
		c.mark.Held, c.mark.Sold, c.mark.Stock = to.Held, to.Sold, to.Stock
		c.mark.HoldChanges++
		return []string{fmt.Sprintf("held %d sold %d stock %d", to.Held, to.Sold, to.Stock)}
	case alertOperators:
		r.firstAlert(7)
	}
	return nil
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
			s := &countedSale{
				holds: []shop.OpenHold{{Order: 5, Hold: 1, Qty: 1}},
				rows:  []shop.Order{{ID: 5, User: 9, Qty: 1, Hold: 1, State: shop.Pending}},
				mark: shop.HoldsMark{
					Counters: shop.Counters{Loaded: true, Stock: 1, Held: 2, Initial: 3, Tickets: 4, Done: 4, Epoch: 2},
				},
				free: 2,
			}
			c.change(s)
			r := &Reconciler{}
			var corrections []string
			for cycle := range c.cycles {
				if s.beforeCycle != nil {
					s.beforeCycle(cycle)
				}
				corrections = append(corrections, s.recount(r)...)
			}
			if !slices.Equal(corrections, c.want) || r.Mismatched() != c.mismatched {
				t.Errorf("got corrections %v, want %v; got %d mismatched, want %d", corrections, c.want, r.Mismatched(),
					c.mismatched)
			}
		})
	}
}

// A cycle over several pages counts every hold once, even if a page has it twice or repeats it from an earlier page.
func TestRecountCountsEachHoldOnce(t *testing.T) {
	t.Parallel()
	c := newRecount(shop.SaleRef{ID: 7}, shop.HoldsMark{Counters: shop.Counters{Loaded: true, Held: 9, Initial: 9}}, 1)
	for _, page := range [][]shop.ID{{1, 1, 2, 3}, {3, 4, 5}, {1, 6, 7, 8, 8}} {
		var holds []shop.OpenHold
		var rows []shop.Order
		for _, id := range page {
			holds = append(holds, shop.OpenHold{Order: id, Hold: 1, Qty: 1})
			rows = append(rows, shop.Order{ID: id, Qty: 1, Hold: 1, State: shop.Pending})
		}
		c.add(holds, rows)
	}
	if to := c.correction(); to.Held != 8 || to.Sold != 0 || to.Stock != 1 || !c.proven() {
		t.Errorf("got %+v, proven %v; want 8 units held and 1 in stock, proven", to, c.proven())
	}
}
