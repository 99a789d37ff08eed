package money

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/uptrace/bun"

	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/faults"
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

// interrupted returns a context in which a recovery calls the hook at its moments.
func interrupted(ctx context.Context, hook momentHook) context.Context {
	if hook == nil {
		return ctx
	}
	fault := func(command context.Context, name string, call func() error) error {
		if name == "script open" {
			hook(beforeOpen, 0)
		}
		err := faults.OfContext(ctx, name, call)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err // the script runs in the next call
		}
		switch name {
		case "Partitions.AdvanceEpoch":
			hook(advanced, 0)
		case "script close":
			hook(closed, 0)
		case "script set_stuck":
			hook(afterWrites, saleOfScript(command))
		case "script restore":
			if slices.Contains(faults.Args(command), "arm") { // the last part of the sale
				hook(afterWrites, saleOfScript(command))
			}
		}
		return err
	}
	return context.WithValue(faults.With(ctx, fault), momentKey{}, hook)
}

type momentKey struct{}

// saleOfScript returns the sale that a script of a recovery writes: its second key is that of the sale.
func saleOfScript(command context.Context) shop.ID {
	key := fmt.Sprint(faults.Args(command)[4]) // after the command, the digest, the number of keys and the first key
	sale, err := shop.ParseID(key[strings.LastIndex(key, ":")+1:])
	if err != nil {
		panic(err)
	}
	return sale
}

// rowsHook is a bun.QueryHook that calls the hook of the context before and after it reads the orders of a sale.
type rowsHook struct{}

// ordersOfSale matches the statement of Orders.OrdersOfSale.
var ordersOfSale = regexp.MustCompile(`^SELECT .* WHERE \(sale_id = (\d+)\) AND \(id > \d+\) ORDER BY`)

func (rowsHook) call(ctx context.Context, moment, query string) {
	hook, _ := ctx.Value(momentKey{}).(momentHook)
	if hook == nil {
		return
	}
	if found := ordersOfSale.FindStringSubmatch(query); found != nil {
		sale, err := shop.ParseID(found[1])
		if err != nil {
			panic(err)
		}
		hook(moment, sale)
	}
}

func (h rowsHook) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	h.call(ctx, beforeRows, event.Query)
	return ctx
}

func (h rowsHook) AfterQuery(ctx context.Context, event *bun.QueryEvent) {
	h.call(ctx, afterRows, event.Query)
}

// driver returns the driver that recovers the partition on this node.
func (n *node) driver() *recovery.Driver {
	return &recovery.Driver{
		Partitions: 1, Store: n.w.recoveryDB, Redis: n.w.inventory,
		PayWindow: payWindow, Margin: shop.PayMargin(payWindow), Spread: time.Millisecond,
		Trust: func(_ context.Context, server string, generation int64) error {
			n.w.db.History().Trust(server, generation)
			return nil
		},
	}
}

// recoverPartition recovers the partition if necessary. others runs at the moments of the recovery.
func (n *node) recoverPartition(others momentHook) error {
	return n.driver().RunOnce(interrupted(n.ctx, others))
}

// counterMismatch returns the counters of a sale in Redis that differ from the sums of its holds (I3); otherwise "".
func (w *world) counterMismatch(sale shop.SaleRef) string {
	w.t.Helper()
	a, err := w.inventory.Stock().Audit(w.ctx, sale)
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
