package money

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
)

// forceRebuild makes the next recovery restore the partition from rows, as after an aborted recovery.
func (w *world) forceRebuild() {
	w.t.Helper()
	w.must(w.client.HSet(w.ctx, "stampede:{0}:meta", "state", "recovering", "lost", "1").Err())
}

// Moments of a recovery.
const (
	advanced    = "after the next epoch"
	closed      = "after the close"
	beforeRows  = "before the rows"
	afterRows   = "after the rows"
	afterWrites = "after the sale is written"
	beforeOpen  = "before the end"
)

// momentHook runs at the moments of a recovery. sale is 0 at moments of the whole partition.
type momentHook func(moment string, sale shop.ID)

func (m momentHook) call(moment string, sale shop.ID) {
	if m != nil {
		m(moment, sale)
	}
}

type interruptedRedis struct {
	recovery.Redis
	m momentHook
}

func (i interruptedRedis) Close(ctx context.Context, partition int, r shop.PartitionRecovery, history string) error {
	err := i.Redis.Close(ctx, partition, r, history)
	i.m.call(closed, 0)
	return err
}

func (i interruptedRedis) Restore(ctx context.Context, claim int64, s shop.SaleState) error {
	err := i.Redis.Restore(ctx, claim, s)
	i.m.call(afterWrites, s.Sale.ID)
	return err
}

func (i interruptedRedis) SetStuck(ctx context.Context, claim int64, sale shop.SaleRef, reason string) error {
	err := i.Redis.SetStuck(ctx, claim, sale, reason)
	i.m.call(afterWrites, sale.ID)
	return err
}

func (i interruptedRedis) Open(ctx context.Context, partition int, r shop.PartitionRecovery, seq int64) error {
	i.m.call(beforeOpen, 0)
	return i.Redis.Open(ctx, partition, r, seq)
}

type interruptedPartitions struct {
	store.Partitions
	m momentHook
}

func (i interruptedPartitions) AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error) {
	epoch, err := i.Partitions.AdvanceEpoch(ctx, partition, above)
	i.m.call(advanced, 0)
	return epoch, err
}

type interruptedOrders struct {
	store.Orders
	m momentHook
}

func (i interruptedOrders) OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error) {
	i.m.call(beforeRows, sale)
	page, err := i.Orders.OrdersOfSale(ctx, sale, after, limit)
	i.m.call(afterRows, sale)
	return page, err
}

// driver returns the driver that recovers the partition on this node. others runs at its moments.
func (n *node) driver(others momentHook) *recovery.Driver {
	db := n.w.db
	return &recovery.Driver{
		Partitions: 1, Redis: interruptedRedis{n.w.inventory, others},
		Orders: interruptedOrders{db.Orders(), others}, Sales: db.Sales(),
		Epochs: interruptedPartitions{db.Partitions(), others}, History: db.History(),
		Payments: db.Payments(), Refunds: db.Refunds(),
		TakesPayments: true,
		PayWindow:     payWindow, Margin: shop.PayMargin(payWindow), Spread: time.Millisecond,
		Trust: func(_ context.Context, server string, generation int64) error {
			db.History().Trust(server, generation)
			return nil
		},
	}
}

// recoverPartition recovers the partition if necessary.
func (n *node) recoverPartition(others momentHook) error { return n.driver(others).RunOnce(n.ctx) }

// counterMismatch returns the counters of a sale in Redis that differ from the sums of its holds (I3); otherwise "".
func (w *world) counterMismatch(sale shop.SaleRef) string {
	w.t.Helper()
	a, err := w.inventory.Audit(w.ctx, sale)
	w.must(err)
	var held, sold int64
	for _, h := range a.Holds {
		if h.Sold {
			sold += int64(h.Qty)
		} else {
			held += int64(h.Qty)
		}
	}
	if a.Initial+a.Added != a.Stock+a.Held+a.Sold+a.Withdrawn || a.Held != held || a.Sold != sold {
		return fmt.Sprintf("counters %+v, want the sums of the holds: %d held and %d sold", a.Counters, held, sold)
	}
	return ""
}

// changes are changes of an order during a recovery of its partition, with their preparation. Calls to Redis fail
// during the recovery; the row changes.
var changes = map[string]scenario{
	"cancelled": {steps: func(n *node, o shop.Order) { _, _ = n.expirer.Cancel(n.ctx, o.User, o.ID) }},
	"expired": {steps: func(n *node, o shop.Order) {
		n.w.passDeadline(o.ID)
		_ = n.sweep(o.ID)
	}},
	"paid": {prepare: payAtGateway, steps: func(n *node, o shop.Order) { _ = n.settleNow(o) }},
	"refunding": {
		prepare: payAndSettle,
		steps:   func(n *node, o shop.Order) { _, _ = n.refundRequests.RequestRefund(n.ctx, o.User, o.ID, "no reason") },
	},
	"refunded": {
		prepare: payAndSettle,
		steps: func(n *node, o shop.Order) {
			_, _ = n.refundRequests.RequestRefund(n.ctx, o.User, o.ID, "no reason")
			_ = n.refunder.RunOnce(n.ctx)
		},
	},
	"revived by a late payment": {prepare: payLate, steps: func(n *node, o shop.Order) { _ = n.settleNow(o) }},
	"late payment after expiry": {prepare: openPayment, steps: func(n *node, o shop.Order) {
		payLate(n.w, n, o)
		_ = n.settleNow(o)
	}},
}

// payAndSettle pays, and the shop processes the payment.
func payAndSettle(w *world, n *node, o shop.Order) {
	payAtGateway(w, n, o)
	w.retry("the shop settles the payment", func() error { return n.settleNow(o) })
}

// P1, I3: an order changes at each moment of a recovery of its partition. When the partition is open, the counters
// equal the sums of the holds. The effects of the change complete afterwards, also if the process that changed the row
// dies.
func TestOrderChangesDuringRebuildKeepCounters(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, moment := range []string{advanced, closed, beforeRows, afterRows, afterWrites, beforeOpen} {
				w.changes(c, moment)
			}
		})
	}
}

// changes applies one change at a moment of a recovery.
func (w *world) changes(c scenario, moment string) {
	w.t.Helper()
	n, sale := w.node(nil), w.offer(3, 2)
	o := w.order(sale, newID())
	if c.prepare != nil {
		c.prepare(w, n, o)
	}
	w.forceRebuild()
	once := false
	err := n.recoverPartition(func(at string, of shop.ID) {
		if at == moment && (of == 0 || of == sale.ID) && !once {
			once = true
			c.steps(n, o)
		}
	})
	if err != nil || !once {
		w.t.Fatalf("%s: recovery returned %v; change applied: %v", moment, err, once)
	}
	fail := func(format string, args ...any) { w.t.Errorf("%s: %s", moment, fmt.Sprintf(format, args...)) }
	if problem := w.counterMismatch(sale); problem != "" {
		fail("I3: %s", problem)
	}
	w.awaitRest(sale, []shop.ID{o.ID}, fail)
	w.remove(sale)
}
