package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
)

// scanned are the holds of a sale, and the rows of their orders.
type scanned struct {
	OrderStore
	*fakeInventory
	holds []OpenHold
	rows  []Order
}

func (s *scanned) Holds(context.Context, SaleRef, uint64) ([]OpenHold, uint64, error) {
	return s.holds, 0, nil
}

func (s *scanned) OrdersByID(context.Context, []ID) ([]Order, error) { return s.rows, nil }

func (s *scanned) ClaimHold(_ context.Context, order ID, _ OrderState) (Order, error) {
	s.add("claim %d", order)
	return Order{}, nil
}

// I1, I3, P8: the scan brings every hold to what its row says. A refused order's number is claimed before its units go
// back, and the hold of an order that late money may be reviving is left alone.
func TestScanBringsHoldsToTheirRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  Order
		hold OpenHold
		want []string
	}{
		"pending":                  {Order{State: Pending, Hold: 1}, OpenHold{Hold: 1}, nil},
		"expired":                  {Order{State: Expired, Hold: 1}, OpenHold{Hold: 1}, []string{"return 1"}},
		"refused":                  {Order{State: Refused, Hold: 1}, OpenHold{Hold: 1}, []string{"claim 5", "return 1"}},
		"refused, older hold":      {Order{State: Refused, Hold: 2}, OpenHold{Hold: 1}, []string{"return 1"}},
		"paid":                     {Order{State: Paid, Hold: 1}, OpenHold{Hold: 1}, []string{"sell 1"}},
		"refunded":                 {Order{State: Refunded, Hold: 1}, OpenHold{Hold: 1, Sold: true}, []string{"withdraw 1"}},
		"paid and sold":            {Order{State: Paid, Hold: 1}, OpenHold{Hold: 1, Sold: true}, nil},
		"late money, not decided":  {Order{State: Expired, Hold: 2, TradeNo: "T"}, OpenHold{Hold: 2}, nil},
		"late money is given back": {Order{State: Refunding, Hold: 2, TradeNo: "T", CancelledAt: 9}, OpenHold{Hold: 2}, []string{"return 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &trace{}
			c.row.ID, c.hold.Order = 5, 5
			s := &scanned{fakeInventory: &fakeInventory{trace: tr}, holds: []OpenHold{c.hold}, rows: []Order{c.row}}
			r := &Reconciler{Inventory: s, Orders: s, Effects: effectsOf(s, s, nil)}
			must(t, r.orphans(context.Background(), []SaleRef{{ID: 7}}, nil))
			if !slices.Equal(tr.steps, c.want) {
				t.Errorf("steps %v, want %v", tr.steps, c.want)
			}
		})
	}
}

// paged are sales with many holds, a thousand to a page.
type paged struct {
	scanned
	pages map[ID]uint64
	seen  map[ID]int
}

func (p *paged) Holds(_ context.Context, sale SaleRef, page uint64) ([]OpenHold, uint64, error) {
	p.seen[sale.ID]++
	if page+1 < p.pages[sale.ID] {
		return make([]OpenHold, 1000), page + 1, nil
	}
	return make([]OpenHold, 1000), 0, nil
}

// A scan reads a bounded number of holds, and the scans together all of them, turn by turn.
func TestScanTakesTurns(t *testing.T) {
	t.Parallel()
	p := &paged{pages: map[ID]uint64{1: 5, 2: 12, 3: 1}, seen: make(map[ID]int)}
	sales := []SaleRef{{ID: 1}, {ID: 2}, {ID: 3}}
	r := &Reconciler{Inventory: p, Orders: p, Effects: effectsOf(p, p, nil)}
	pages := 0
	for range 18 { // 18 pages a turn, five to a scan: five turns
		must(t, r.orphans(t.Context(), sales, nil))
		before := pages
		pages = p.seen[1] + p.seen[2] + p.seen[3]
		if pages-before != holdsPerScan/1000 {
			t.Fatalf("a scan read %d pages, want %d", pages-before, holdsPerScan/1000)
		}
	}
	if want := map[ID]int{1: 25, 2: 60, 3: 5}; !maps.Equal(p.seen, want) {
		t.Errorf("pages read %v, want %v", p.seen, want)
	}
}

// I3, P8: a sweep that finds an ended order again does not touch the hold that late money may have taken for it.
func TestSweepLeavesARevivingOrderItsHold(t *testing.T) {
	t.Parallel()
	x, _, inventory, _ := newTestExpirer(Order{
		ID: 1, Sale: 7, State: Expired, Hold: 2, TradeNo: "T", Rev: 2, ToldRev: 2,
	})
	finished, err := x.Due(context.Background(), 0, []ID{1})
	if err != nil || !slices.Equal(finished, []ID{1}) || len(inventory.returned) != 0 {
		t.Fatalf("finished %v, returned %v, %v", finished, inventory.returned, err)
	}
}

// behind are orders that are overdue, and a primary that does not answer.
type behind struct {
	OrderStore
	*fakeInventory
	rows      []Order
	away      int
	scheduled map[int]int // by partition
}

func (b *behind) Overdue(_ context.Context, _ Millis, limit int, but ...int) ([]Order, error) {
	var rows []Order
	for i := range b.rows {
		if !slices.Contains(but, b.rows[i].Partition) && len(rows) < limit {
			rows = append(rows, b.rows[i])
		}
	}
	return rows, nil
}

func (b *behind) Schedule(_ context.Context, partition int, deadlines []Deadline) error {
	if partition == b.away {
		return ErrTransient
	}
	b.scheduled[partition] += len(deadlines)
	return nil
}

// P5: however many orders of a partition whose primary is away are overdue, those of the others get back into the
// queue.
func TestOverdueOrdersHideNoOthers(t *testing.T) {
	t.Parallel()
	b := &behind{fakeInventory: &fakeInventory{trace: &trace{}}, away: 1, scheduled: make(map[int]int)}
	for i := range 3 * reconcileBatch {
		b.rows = append(b.rows, Order{ID: ID(i + 1), State: Pending, Partition: 1})
	}
	for _, up := range []int{0, 2} {
		b.rows = append(b.rows, Order{ID: ID(9000 + up), State: Pending, Partition: up})
	}
	r := &Reconciler{Inventory: b, Orders: b, Effects: effectsOf(b, b, nil)}
	if err := r.overdue(context.Background(), 0); !errors.Is(err, ErrTransient) {
		t.Errorf("the primary that is away is not told of: %v", err)
	}
	if want := map[int]int{0: 1, 2: 1}; !maps.Equal(b.scheduled, want) {
		t.Errorf("scheduled %v, want %v", b.scheduled, want)
	}
}
