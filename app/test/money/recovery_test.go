package money

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"stampede/app/alipay/sim"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// simulatePromotion makes the database look promoted: the last recovery ran for another server.
func (w *world) simulatePromotion() {
	w.t.Helper()
	w.exec("UPDATE history SET server = '0badcafe'")
}

// recoverAll recovers all partitions on a live node, requires that a second recovery finds no work, and returns the
// remaining problems.
func (w *world) recoverAll(n *node) []shop.Problem {
	w.t.Helper()
	d := n.driver()
	w.must(d.RunOnce(w.ctx))
	report, err := d.Recover(w.ctx, 0)
	w.must(err)
	if report.Written+report.Ended+report.Imported > 0 {
		w.t.Errorf("a second recovery wrote %+v, want no work", report)
	}
	return report.Problems
}

// revsPerGeneration is the number of revs that an order can have in one generation, see store.History.
const revsPerGeneration = 1 << 18

// P1, P2, P8: within the replication lag a unit was returned and sold again. The promoted database has lost both
// changes. The order of the first buyer ends again; the second buyer keeps the unit, and the money is kept.
func TestRecoveredUnitStaysWithSecondBuyer(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]struct{ pays, cancels, opened bool }{
		"the second is pending, the first expired":                   {},
		"the second is paid, the first expired":                      {pays: true},
		"the second is pending, the first cancelled":                 {cancels: true},
		"the second is paid, the payment of the first was opened":    {pays: true, opened: true},
		"the second is pending, the payment of the first was opened": {opened: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(1, 1)
			first := w.order(sale, newID())
			if scenario.opened {
				openPayment(w, n, first)
			}
			restore := w.saveRows(first)
			if scenario.cancels {
				w.must(errOf(n.expirer.Cancel(n.ctx, first.User, first.ID)))
			} else {
				expireOrder(w, n, first)
			}
			second := w.order(sale, newID())
			if scenario.pays {
				payAndSettle(w, n, second)
			}
			before := w.read(second.ID)
			w.deleteRows(second)
			restore()
			w.simulatePromotion()
			n = w.node(nil)
			if problems := w.recoverAll(n); len(problems) > 0 {
				t.Errorf("unexpected problems to settle: %+v", problems)
			}
			row := w.read(first.ID)
			if row.State != shop.Cancelled || row.Reason != shop.ReasonRecovered || row.Rev <= revsPerGeneration {
				t.Errorf("the first order is %s (%s), rev %d", row.State, row.Reason, row.Rev)
			}
			n.runJobs()
			if row := w.read(second.ID); row.State != before.State {
				t.Errorf("the second order: want %s, got %s (%s)", before.State, row.State, row.Reason)
			}
			w.awaitRest(sale, []shop.ID{first.ID, second.ID}, t.Errorf)
		})
	}
}

// P8: the promoted database has lost an opened payment. The gateway is queried for every pending order. So money at the
// gateway, also later money, is processed, and no order ends before the gateway has replied.
func TestRecoveryFindsLostOpenedPayment(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]struct{ rowKept, paidBefore bool }{
		"the row is kept, paid before the recovery": {true, true},
		"the row is kept, paid after the recovery":  {true, false},
		"the row is lost, paid before the recovery": {false, true},
		"the row is lost, paid after the recovery":  {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(3, 2)
			o := w.order(sale, newID())
			restore := w.saveRows(o)
			openPayment(w, n, o)
			if scenario.paidBefore {
				w.must(w.sim.Pay(o.ID.String()))
			}
			if restore(); !scenario.rowKept {
				w.deleteRows(o)
			}
			w.simulatePromotion()
			n = w.node(nil)
			w.recoverAll(n)
			if !scenario.paidBefore {
				w.must(w.sim.Pay(o.ID.String()))
			}
			_, err := w.sim.Inject(sim.Fault{Kind: sim.Down})
			w.must(err)
			w.passDeadline(o.ID)
			_ = n.sweep(o.ID)
			if row := w.read(o.ID); row.State != shop.Pending {
				t.Errorf("the order is %s before the reply of the gateway, want pending", row.State)
			}
			w.sim.RemoveFaults()
			w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
			if row := w.read(o.ID); row.State != shop.Paid {
				t.Errorf("the order is %s (%s), want paid: the gateway has its money", row.State, row.Reason)
			}
		})
	}
}

// P8: both stores are promoted at once. The restore loses the payment in Redis; the gateway still has it.
func TestPaymentSurvivesPromotionOfBothStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 1)
	kept, lost := w.order(sale, newID()), w.order(sale, newID())
	openPayment(w, n, kept)
	payAndSettle(w, n, lost)
	w.deleteRows(lost)
	w.simulatePromotion()
	w.forceRebuild()
	n = w.node(nil)
	w.must(n.recoverPartition(nil))
	w.awaitRest(sale, []shop.ID{kept.ID, lost.ID}, t.Errorf)
	if row := w.read(lost.ID); row.State != shop.Paid {
		t.Errorf("the order is %s", row.State)
	}
}

// P8: an order was refunded within the lag. A refund is sent only with positive evidence: an operator decides, the
// order is not shipped before that, and the refund is not sent twice. If the payment is lost, too, no trace of the
// order remains.
func TestLostRefundIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for name, paymentKept := range map[string]bool{"the payment is kept": true, "the payment is lost, too": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(3, 2)
			o := w.order(sale, newID())
			restore := w.saveRows(o)
			payAndSettle(w, n, o)
			wantProblems := 0
			if paymentKept {
				wantProblems = 1
				w.exec("DELETE FROM kept_orders")
				w.exec("DELETE FROM kept_trades")
				restore = w.saveRows(w.read(o.ID))
			}
			w.must(errOf(n.refundRequests.RequestRefund(n.ctx, o.User, o.ID, "no reason")))
			w.retry("refunded", func() error {
				w.makeDue()
				err := n.refunder.RunOnce(n.ctx)
				if row := w.read(o.ID); err == nil && row.State != shop.Refunded {
					err = fmt.Errorf("the order is %s", row.State)
				}
				return err
			})
			restore()
			w.simulatePromotion()
			n = w.node(nil)
			problems := w.recoverAll(n)
			if len(problems) != wantProblems {
				t.Errorf("unexpected problems to settle: %+v", problems)
			}
			if paymentKept {
				w.must(errOf(n.driver().Settle(w.ctx, o.ID, recovery.SettleRefund, 0)))
			}
			w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
			if l := w.sim.Ledger(); l.TakenFen != l.RefundedFen {
				t.Errorf("the gateway took %d fen and refunded %d fen", l.TakenFen, l.RefundedFen)
			}
			if c := w.redisCounters(sale); c.Stock != 2 || w.free(sale) != 2 {
				t.Errorf("%d units are free in Redis, %d in the database, want 2", c.Stock, w.free(sale))
			}
		})
	}
}

// P1, P8: the promoted database has lost the revival of an order by late money, at each step of it. Its units stay
// reserved meanwhile, and the gateway repeats that the order is paid.
func TestRecoveryRestoresLostLatePayment(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct {
		diesAfter int  // calls of the process that settles the payment; 0: it completes
		expiry    bool // is lost, too
	}{
		"all changes":              {},
		"the hold":                 {diesAfter: 6},
		"the hold and the payment": {diesAfter: 8},
		"the expiry and the hold":  {diesAfter: 6, expiry: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sale := w.offer(3, 2)
			o := w.order(sale, newID())
			restore, wantProblems := func() {}, 0
			if lost.expiry {
				restore = w.saveRows(w.read(o.ID))
			}
			payLate(w, w.node(nil), o)
			if !lost.expiry {
				restore, wantProblems = w.saveRows(w.read(o.ID)), 1
			}
			if lost.diesAfter == 0 {
				w.retry("late payment", func() error { return w.node(nil).settleNow(o) })
			} else {
				_ = w.node(&dyingProcess{callsLeft: lost.diesAfter}).settleNow(o)
			}
			held := w.redisCounters(sale)
			if held.Held+held.Sold != 1 {
				t.Fatalf("the test lost no change: %+v", held)
			}
			restore()
			w.simulatePromotion()
			n := w.node(nil)
			if problems := w.recoverAll(n); len(problems) != wantProblems ||
				wantProblems == 1 && problems[0].Order != o.ID {
				t.Errorf("unexpected problems to settle: %+v", problems)
			}
			w.must(n.reconciler.RunOnce(n.ctx))
			if now := w.redisCounters(sale); now.Stock != held.Stock || now.Paused {
				t.Errorf("the units of a revived order are for sale, or the sale is stuck: got %+v, want %+v", now, held)
			}
			w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
			if row := w.read(o.ID); row.State != shop.Paid {
				t.Errorf("the order is %s (%s), hold %d", row.State, row.Reason, row.Hold)
			}
		})
	}
}

// P1: the promoted database has lost an operator's replay of a refused order. An operator ends the order, and its units
// are on sale again.
func TestOperatorEndsOrderWithLostReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(3, 2)
	o := w.order(sale, newID())
	w.refuse(o)
	restore := w.saveRows(w.read(o.ID))
	n, letter := w.node(nil), w.deadLetterOf(o)
	w.retry("replay", func() error { return n.replay(letter) })
	restore()
	w.simulatePromotion()
	if problems := w.recoverAll(n); len(problems) != 1 || problems[0].Order != o.ID {
		t.Errorf("unexpected problems to settle: %+v", problems)
	}
	report, err := n.driver().Settle(w.ctx, o.ID, recovery.SettleEnd, 0)
	w.must(err)
	if len(report.Problems) > 0 {
		t.Errorf("unexpected problems to settle: %+v", report.Problems)
	}
	w.must(n.reconciler.RunOnce(n.ctx))
	if c := w.redisCounters(sale); c.Stock != 3 || c.Held != 0 {
		t.Errorf("got counters %+v, want stock 3 and held 0", c)
	}
	if problem := w.audit(sale); problem != "" {
		t.Errorf("P1: %s", problem)
	}
}

// I8: a switchover without data loss needs one pass and changes no row. Pending orders are in doubt.
func TestSwitchoverWithoutLossChangesNoRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(5, 2)
	var orders []shop.ID
	for range 3 {
		orders = append(orders, w.order(sale, newID()).ID)
	}
	expireOrder(w, n, w.read(orders[1]))
	payAndSettle(w, n, w.read(orders[2]))
	w.must(n.recoverPartition(nil)) // records the history
	before, epoch := w.rows(orders), w.sale(sale.ID).Epoch
	w.simulatePromotion()
	d := w.node(nil).driver()
	w.must(d.RunOnce(w.ctx))
	if d.Counts().Passes.Load() != 1 || w.sale(sale.ID).Epoch <= epoch {
		t.Errorf("got %d passes and epoch %d, want 1 pass and an epoch above %d", d.Counts().Passes.Load(),
			w.sale(sale.ID).Epoch, epoch)
	}
	if after := w.rows(orders); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("rows changed: before %+v, after %+v", before, after)
	}
	w.must(d.RunOnce(w.ctx))
	if d.Counts().Passes.Load() != 1 {
		t.Error("a second pass ran, want one")
	}
	w.awaitRest(sale, orders, t.Errorf)
}

func (w *world) rows(orders []shop.ID) []shop.Order {
	rows, err := w.db.Orders().OrdersByID(w.ctx, orders)
	w.must(err)
	return rows
}

// I8: a replaced database server that returns unchanged is not used. A node that reaches it gets no epoch, does not
// increase the beat (the counter of database checks), and reports the necessary command. An operator may accept the
// server. A restored backup of the current server is recovered.
func TestReplacedDatabaseIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(5, 2)
	o := w.order(sale, newID())
	raw := w.db.ForRecovery()
	t.Cleanup(func() { _ = raw.Close() })
	h, err := raw.History().Read(w.ctx)
	w.must(err)
	meta := "stampede:{0}:meta"
	w.must(w.client.HSet(w.ctx, meta, "db_server", "0badcafe", "db_generation", h.Generation+1, "db_replaced",
		h.Server).Err())
	d := w.node(nil).driver()
	d.Store = raw
	if err := d.RunOnce(w.ctx); !errors.Is(err, recovery.ErrReplaced) || d.Blocked() == nil || d.Certain() ||
		!strings.Contains(err.Error(), "stampede recover --accept "+h.Server) {
		t.Errorf("a replaced server: got %v, want ErrReplaced", err)
	}
	if _, err := w.db.Orders().Order(w.ctx, o.ID); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("a statement on a replaced server: got %v, want a transient error", err)
	}
	if now, err := raw.History().Read(w.ctx); err != nil || now.Beat != h.Beat || now.Generation != h.Generation {
		t.Errorf("its history is %+v, %v; want %+v", now, err, h)
	}
	w.must(w.inventory.Recovery().AcceptServer(w.ctx, 0, h.Server))
	w.must(d.RunOnce(w.ctx))
	if now, err := raw.History().Read(w.ctx); err != nil || now.Generation < h.Generation+2 || d.Blocked() != nil {
		t.Errorf("its history after the acceptance: %+v, %v", now, err)
	}

	if _, err := w.db.Orders().Order(w.ctx, o.ID); err != nil {
		t.Errorf("the database cannot be used after the acceptance: %v", err)
	}
	w.exec("UPDATE history SET beat = 0") // a backup with the same server name
	passes := d.Counts().Passes.Load()
	w.must(d.RunOnce(w.ctx))
	if d.Counts().Passes.Load() != passes+1 {
		t.Error("a backup of the server in use was not recovered")
	}
	w.order(sale, newID())
	if problem := w.audit(sale); problem != "" {
		t.Errorf("P1: %s", problem)
	}
}

// P1, P2, P8: a node dies after each of its calls in a recovery, and two others continue concurrently. The result
// equals a single recovery.
func TestInterruptedRecoveryGivesSameResult(t *testing.T) {
	t.Parallel()
	for calls := 1; ; calls++ {
		w := newWorld(t)
		n, sale := w.node(nil), w.offer(3, 2)
		first, second, third := w.order(sale, newID()), w.order(sale, newID()), w.order(sale, newID())
		restore := w.saveRows(first)
		expireOrder(w, n, first)
		last := w.order(sale, newID())
		payAndSettle(w, n, last)
		w.deleteRows(second, last)
		restore()
		w.simulatePromotion()
		m := &dyingProcess{callsLeft: calls}
		_ = w.node(m).recoverPartition(nil)
		one, other, done := w.node(nil), w.node(nil), make(chan error)
		go func() { done <- one.recoverPartition(nil) }()
		_ = other.recoverPartition(nil)
		<-done
		if problems := w.recoverAll(w.node(nil)); len(problems) > 0 {
			t.Errorf("%d calls: unexpected problems to settle: %+v", calls, problems)
		}
		orders := []shop.ID{first.ID, second.ID, third.ID, last.ID}
		w.awaitRest(sale, orders, t.Errorf)
		if row := w.read(last.ID); row.State != shop.Paid {
			t.Errorf("%d calls: the last order is %s (%s)", calls, row.State, row.Reason)
		}
		if t.Failed() || !m.dead() {
			return
		}
	}
}

// P1, P2: while a partition is closed, a key is repeated, a reservation without a row is cancelled, and a payment
// arrives. No request is lost or counted twice.
func TestClosedPartitionLosesNoRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(5, 2)
	o, paying := w.order(sale, newID()), w.order(sale, newID())
	payAtGateway(w, n, paying)
	w.deleteRows(o)
	w.simulatePromotion()
	var settleErr error // nil: settled, or never tried
	w.must(w.node(nil).recoverPartition(func(moment string, _ shop.ID) {
		if moment != closed {
			return
		}
		if d, err := w.decide(shop.Buy{
			Order: newID(), User: o.User, Sale: sale, Qty: 1, Key: o.Key, Hash: o.ContentHash,
		}); err == nil && d.Verdict != shop.VerdictRecovering {
			t.Errorf("a repeated key got %+v, want recovering", d)
		}
		if _, err := n.expirer.Cancel(n.ctx, o.User, o.ID); err == nil {
			t.Error("an order without a row was cancelled")
		}
		settleErr = n.settleNow(paying)
	}))
	if settleErr == nil {
		t.Error("a payment was settled although its units could not be moved, or the partition was never closed")
	}
	w.awaitRest(sale, []shop.ID{o.ID, paying.ID}, t.Errorf)
	if row := w.read(paying.ID); row.State != shop.Paid {
		t.Errorf("the paid order is %s", row.State)
	}
	if row := w.read(o.ID); row.State != shop.Pending {
		t.Errorf("the lost order is %s, want pending", row.State)
	}
}

func errOf[T any](_ T, err error) error { return err }
