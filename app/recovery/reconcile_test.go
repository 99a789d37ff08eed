package recovery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// I1, I3, P8: the scan makes every hold match its row. The number of a refused order is claimed before its units are
// returned. The hold of an order that a late payment may be reviving stays.
func TestScanMakesHoldsMatchTheirRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	type hold struct {
		number int64
		sold   bool
	}
	cases := map[string]*struct {
		columns string // of the row
		hold    hold
		want    string // where the unit is after the scan
		rowHold int64  // the hold number of the row after the scan
		sale    shop.Sale
		order   shop.ID
	}{
		"pending":             {columns: "hold = 1", hold: hold{1, false}, want: "held", rowHold: 1},
		"expired":             {columns: "state = 'expired'", hold: hold{1, false}, want: "free", rowHold: 1},
		"refused":             {columns: "state = 'refused'", hold: hold{1, false}, want: "free", rowHold: 2},
		"refused, older hold": {columns: "state = 'refused', hold = 2", hold: hold{1, false}, want: "free", rowHold: 2},
		"paid":                {columns: "state = 'paid'", hold: hold{1, false}, want: "sold", rowHold: 1},
		"refunded":            {columns: "state = 'refunded'", hold: hold{1, true}, want: "withdrawn", rowHold: 1},
		"paid and sold":       {columns: "state = 'paid'", hold: hold{1, true}, want: "sold", rowHold: 1},
		"ended, revival lost": {columns: "state = 'expired'", hold: hold{2, false}, want: "held", rowHold: 1},
		"ended, refund lost":  {columns: "state = 'expired'", hold: hold{1, true}, want: "withdrawn", rowHold: 1},
		"late payment, not decided": {
			columns: "state = 'expired', hold = 2, trade_no = 'T'", hold: hold{2, false}, want: "held", rowHold: 2,
		},
		"late payment is refunded": {
			columns: "state = 'refunding', hold = 2, trade_no = 'T', cancelled_at = 9", hold: hold{2, false}, want: "free",
			rowHold: 2,
		},
	}
	var sales []shop.SaleRef
	for _, c := range cases {
		c.sale = w.offer()
		c.order = w.insert(c.sale.ID, c.columns)
		ref := c.sale.Ref()
		_, err := w.redis.Stock().Hold(w.ctx, shop.HoldRequest{
			Sale: ref, Order: c.order, User: c.order, Hold: c.hold.number, Qty: 1,
		})
		kit.Must(t, err)
		if c.hold.sold {
			_, err := w.redis.Stock().Sell(w.ctx, []shop.SoldHold{{Sale: ref, Order: c.order, Hold: c.hold.number}})
			kit.Must(t, err)
		}
		sales = append(sales, ref)
	}
	unit := func(sale *shop.Sale) string {
		audit, err := w.redis.Stock().Audit(w.ctx, sale.Ref())
		kit.Must(t, err)
		if audit.Stock+audit.Held+audit.Sold+audit.Withdrawn != sale.Initial ||
			int64(len(audit.Holds)) != audit.Held+audit.Sold {
			t.Errorf("got the counters %+v and the holds %v", audit.Counters, audit.Holds)
		}
		switch {
		case audit.Held == 1:
			return "held"
		case audit.Sold == 1:
			return "sold"
		case audit.Withdrawn == 1:
			return "withdrawn"
		}
		return "free"
	}
	r := &Reconciler{Store: w.db, Redis: w.redis, Effects: w.effects()}
	w.db.WrapTransaction = faults.Transactions(func(_ context.Context, name string, call func() error) error {
		if name == "Orders.ClaimHold" {
			return shop.ErrTransient
		}
		return call()
	})
	kit.Must(t, r.repairHolds(w.ctx, sales, nil))
	if got := unit(&cases["refused"].sale); got != "held" {
		t.Errorf("the hold number of the refused order was not claimed: its unit is %s, want held", got)
	}
	w.db.WrapTransaction = nil
	kit.Must(t, r.repairHolds(w.ctx, sales, nil))
	for name, c := range cases {
		row, err := w.db.Orders().Order(w.ctx, c.order)
		kit.Must(t, err)
		if got := unit(&c.sale); got != c.want || row.Hold != c.rowHold {
			t.Errorf("%s: the unit is %s and the row has hold %d, want %s and %d", name, got, row.Hold, c.want, c.rowHold)
		}
	}
}

// A scan reads a limited number of holds. The scans of a cycle together read all of them. A sale that cannot be read
// does not stop the scan.
func TestScansOfACycleReadAllHolds(t *testing.T) {
	t.Parallel()
	pages, seen := map[shop.ID]uint64{1: 5, 2: 12, 3: 1}, make(map[shop.ID]int)
	sales := []shop.SaleRef{{ID: 1}, {ID: 2}, {ID: 3}}
	var p scanPosition
	for range 18 { // 18 pages a cycle, five to a scan: five cycles
		read := 0
		kit.Must(t, p.scan(sales, func(sale shop.SaleRef, page uint64) (holds int, next uint64, err error) {
			seen[sale.ID]++
			read++
			return 1000, (page + 1) % pages[sale.ID], nil
		}))
		if read != holdsPerScan/1000 {
			t.Fatalf("a scan read %d pages, want %d", read, holdsPerScan/1000)
		}
	}
	if want := map[shop.ID]int{1: 25, 2: 60, 3: 5}; !maps.Equal(seen, want) {
		t.Errorf("got the pages %v, want %v", seen, want)
	}
	var read []shop.ID
	err := p.scan(sales, func(sale shop.SaleRef, _ uint64) (holds int, next uint64, err error) {
		read = append(read, sale.ID)
		return 0, 7, shop.ErrTransient
	})
	if !errors.Is(err, shop.ErrTransient) || !slices.Equal(read, []shop.ID{1, 2, 3}) {
		t.Errorf("got the sales %v, %v; want all sales and ErrTransient", read, err)
	}
}

// P5: a partition with an unavailable primary does not keep the overdue orders of other partitions out of the delay
// queue.
func TestUnavailablePrimaryDoesNotBlockOverdueOrders(t *testing.T) {
	t.Parallel()
	const unavailable = 1
	overdue := make([]shop.Order, 3*reconcileBatch, 3*reconcileBatch+2)
	for i := range overdue {
		overdue[i].Partition = unavailable
	}
	overdue = append(overdue, shop.Order{Partition: 0}, shop.Order{Partition: 2})
	scheduled := make(map[int]int)
	err := new(Reconciler).eachPartition("list overdue orders",
		func(except []int) ([]shop.Order, error) {
			rows := shop.Where(overdue, func(o shop.Order) bool { return !slices.Contains(except, o.Partition) })
			return rows[:min(len(rows), reconcileBatch)], nil
		},
		func(rows []*shop.Order) error {
			if rows[0].Partition == unavailable {
				return shop.ErrTransient
			}
			scheduled[rows[0].Partition] += len(rows)
			return nil
		})
	if !errors.Is(err, shop.ErrTransient) {
		t.Errorf("got %v, want ErrTransient for the unavailable primary", err)
	}
	if want := map[int]int{0: 1, 2: 1}; !maps.Equal(scheduled, want) {
		t.Errorf("got the scheduled orders %v, want %v", scheduled, want)
	}
}
