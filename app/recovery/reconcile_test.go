package recovery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// effectsOf returns effects on fakes that share a trace.
func effectsOf(inventory order.Redis, orders order.Store, notifier order.Notifier) *order.Effects {
	return &order.Effects{
		Redis: inventory, Notifier: notifier, Store: orders, PublishMarks: &order.PublishMarks{Store: orders},
	}
}

// unexpectedCalls has the calls that a test does not expect: they panic. It is embedded one level deeper than the
// fakes, so that the methods of the fakes take precedence.
type unexpectedCalls struct{ deeper }

type (
	deeper  struct{ deepest }
	deepest struct {
		stores
		redis
	}
	stores interface {
		Orders
		Sales
		order.Store
	}
	redis interface {
		Redis
		order.Redis
	}
)

// scannedSale has the holds of a sale and the rows of their orders.
type scannedSale struct {
	unexpectedCalls
	*fakes.Redis
	holds []shop.OpenHold
	rows  []shop.Order
}

func (s *scannedSale) Holds(context.Context, shop.SaleRef, uint64) ([]shop.OpenHold, uint64, error) {
	return s.holds, 0, nil
}

func (s *scannedSale) OrdersByID(context.Context, []shop.ID) ([]shop.Order, error) {
	return s.rows, nil
}

func (s *scannedSale) ClaimHold(_ context.Context, order shop.ID, _ shop.OrderState) (shop.Order, error) {
	s.Add("claim %d", order)
	return shop.Order{}, nil
}

// I1, I3, P8: the scan makes every hold match its row. The number of a refused order is claimed before its units are
// returned. The hold of an order that a late payment may be reviving stays.
func TestScanMakesHoldsMatchTheirRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  shop.Order
		hold shop.OpenHold
		want []string
	}{
		"pending":             {shop.Order{State: shop.Pending, Hold: 1}, shop.OpenHold{Hold: 1}, nil},
		"expired":             {shop.Order{State: shop.Expired, Hold: 1}, shop.OpenHold{Hold: 1}, []string{"return 1"}},
		"refused":             {shop.Order{State: shop.Refused, Hold: 1}, shop.OpenHold{Hold: 1}, []string{"claim 5", "return 1"}},
		"refused, older hold": {shop.Order{State: shop.Refused, Hold: 2}, shop.OpenHold{Hold: 1}, []string{"return 1"}},
		"paid":                {shop.Order{State: shop.Paid, Hold: 1}, shop.OpenHold{Hold: 1}, []string{"sell 1"}},
		"refunded": {
			shop.Order{State: shop.Refunded, Hold: 1},
			shop.OpenHold{Hold: 1, Sold: true},
			[]string{"withdraw 1"},
		},
		"paid and sold":             {shop.Order{State: shop.Paid, Hold: 1}, shop.OpenHold{Hold: 1, Sold: true}, nil},
		"late payment, not decided": {shop.Order{State: shop.Expired, Hold: 2, TradeNo: "T"}, shop.OpenHold{Hold: 2}, nil},
		"late payment is refunded": {shop.Order{
			State: shop.Refunding, Hold: 2, TradeNo: "T", CancelledAt: 9,
		}, shop.OpenHold{Hold: 2}, []string{"return 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &fakes.Trace{}
			c.row.ID, c.hold.Order = 5, 5
			s := &scannedSale{Redis: &fakes.Redis{Trace: tr}, holds: []shop.OpenHold{c.hold}, rows: []shop.Order{c.row}}
			r := &Reconciler{Redis: s, Orders: s, Sales: s, Effects: effectsOf(s, s, nil)}
			fakes.Must(t, r.repairHolds(context.Background(), []shop.SaleRef{{ID: 7}}, nil))
			fakes.WantSteps(t, tr, c.want...)
		})
	}
}

// pagedSales has sales with many holds in pages of 1000.
type pagedSales struct {
	scannedSale
	pages map[shop.ID]uint64
	seen  map[shop.ID]int
}

func (p *pagedSales) Holds(_ context.Context, sale shop.SaleRef, page uint64) ([]shop.OpenHold, uint64, error) {
	p.seen[sale.ID]++
	if page+1 < p.pages[sale.ID] {
		return make([]shop.OpenHold, 1000), page + 1, nil
	}
	return make([]shop.OpenHold, 1000), 0, nil
}

// A scan reads a limited number of holds. The scans of a cycle together read all of them.
func TestScansOfACycleReadAllHolds(t *testing.T) {
	t.Parallel()
	p := &pagedSales{pages: map[shop.ID]uint64{1: 5, 2: 12, 3: 1}, seen: make(map[shop.ID]int)}
	sales := []shop.SaleRef{{ID: 1}, {ID: 2}, {ID: 3}}
	r := &Reconciler{Redis: p, Orders: p, Sales: p, Effects: effectsOf(p, p, nil)}
	pages := 0
	for range 18 { // 18 pages a cycle, five to a scan: five cycles
		fakes.Must(t, r.repairHolds(t.Context(), sales, nil))
		before := pages
		pages = p.seen[1] + p.seen[2] + p.seen[3]
		if pages-before != holdsPerScan/1000 {
			t.Fatalf("a scan read %d pages, want %d", pages-before, holdsPerScan/1000)
		}
	}
	if want := map[shop.ID]int{1: 25, 2: 60, 3: 5}; !maps.Equal(p.seen, want) {
		t.Errorf("got the pages %v, want %v", p.seen, want)
	}
}

// I3, P8: a sweep that finds an ended order again keeps the hold that a late payment may have taken for it.
func TestSweepKeepsTheHoldOfARevivingOrder(t *testing.T) {
	t.Parallel()
	tr := &fakes.Trace{}
	inventory := &fakes.Redis{Trace: tr, At: 1_000_000}
	orders := &fakes.DueStore{Trace: tr, Rows: []shop.Order{
		{ID: 1, Sale: 7, State: shop.Expired, Hold: 2, TradeNo: "T", Rev: 2, PublishedRev: 2},
	}}
	expirer := &order.Expirer{
		Redis: inventory, Store: orders, Effects: effectsOf(inventory, orders, &fakes.Notifier{Trace: tr}),
	}
	finished, err := expirer.Due(context.Background(), 0, []shop.ID{1})
	if err != nil || !slices.Equal(finished, []shop.ID{1}) || len(inventory.Returned) != 0 {
		t.Fatalf("got finished %v, returned %v, %v; want order 1 finished and no hold returned", finished, inventory.Returned, err)
	}
}

// overdueStores has overdue orders and an unavailable primary.
type overdueStores struct {
	unexpectedCalls
	*fakes.Redis
	rows        []shop.Order
	unavailable int
	scheduled   map[int]int // by partition
}

func (b *overdueStores) Overdue(_ context.Context, _ shop.Millis, limit int, except ...int) ([]shop.Order, error) {
	var rows []shop.Order
	for i := range b.rows {
		if !slices.Contains(except, b.rows[i].Partition) && len(rows) < limit {
			rows = append(rows, b.rows[i])
		}
	}
	return rows, nil
}

func (b *overdueStores) Schedule(_ context.Context, partition int, deadlines []shop.Deadline) error {
	if partition == b.unavailable {
		return shop.ErrTransient
	}
	b.scheduled[partition] += len(deadlines)
	return nil
}

// P5: a partition with an unavailable primary does not keep the overdue orders of other partitions out of the delay
// queue.
func TestUnavailablePrimaryDoesNotBlockOverdueOrders(t *testing.T) {
	t.Parallel()
	b := &overdueStores{Redis: &fakes.Redis{Trace: &fakes.Trace{}}, unavailable: 1, scheduled: make(map[int]int)}
	for i := range 3 * reconcileBatch {
		b.rows = append(b.rows, shop.Order{ID: shop.ID(i + 1), State: shop.Pending, Partition: 1})
	}
	for _, partition := range []int{0, 2} {
		b.rows = append(b.rows, shop.Order{ID: shop.ID(9000 + partition), State: shop.Pending, Partition: partition})
	}
	r := &Reconciler{Redis: b, Orders: b, Sales: b, Effects: effectsOf(b, b, nil)}
	if err := r.overdue(context.Background(), 0); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("got %v, want ErrTransient for the unavailable primary", err)
	}
	if want := map[int]int{0: 1, 2: 1}; !maps.Equal(b.scheduled, want) {
		t.Errorf("got the scheduled orders %v, want %v", b.scheduled, want)
	}
}
