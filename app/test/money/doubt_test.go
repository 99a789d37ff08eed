package money

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/faults"
)

// loseBeats lets the last beat be as old as in a backup of an hour ago.
func (w *world) loseBeats() {
	w.t.Helper()
	w.exec("UPDATE history SET beat_at = beat_at - 3600000")
}

// P8: the database has lost that a payment was opened, and the gateway has its money. At its deadline the order is
// paid: in doubt, only a reply of the gateway ends it. The doubt begins with another server, with a gap between two
// beats, or with a recovery on request that restores something.
func TestOrderInDoubtEndsByCloseAtGateway(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]func(w *world, o shop.Order){
		"another server": func(w *world, _ shop.Order) { w.simulatePromotion() },
		"another server, row lost": func(w *world, o shop.Order) {
			w.deleteRows(o)
			w.simulatePromotion()
		},
		"an older backup of this server": func(w *world, _ shop.Order) { w.loseBeats() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(3, 2)
			w.must(n.recoverPartition(nil))
			o := w.order(sale, newID())
			restore := w.saveRows(o)
			payAtGateway(w, n, o)
			restore()
			loss(w, o)
			n = w.node(nil)
			w.must(n.recoverPartition(nil))
			if row := w.read(o.ID); row.State != shop.Pending || row.TradeOpened != 0 || !w.watched(o.ID) {
				t.Fatalf("after the loss: the order is %s, watched %v; want pending and watched", row.State, w.watched(o.ID))
			}
			w.exec("UPDATE trades SET check_at = check_at + 3600000") // the queries come later than the deadline
			w.passDeadline(o.ID)
			w.retry("the order ends", func() error {
				err := n.sweep(o.ID)
				switch row := w.read(o.ID); {
				case !row.HoldsUnits():
					t.Fatalf("the order is %s (%s), want paid", row.State, row.Reason)
				case err == nil && row.State != shop.Paid:
					err = fmt.Errorf("the order is %s", row.State)
				}
				return err
			})
			w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
		})
	}
}

// P8: a buyer cancels an order in doubt that was paid. The order is paid.
func TestCancelledOrderInDoubtIsPaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 2)
	w.must(n.recoverPartition(nil))
	o := w.order(sale, newID())
	restore := w.saveRows(o)
	payAtGateway(w, n, o)
	restore()
	w.loseBeats()
	w.must(n.recoverPartition(nil))
	_, err := n.expirer.Cancel(n.ctx, o.User, o.ID)
	if row := w.read(o.ID); row.State != shop.Paid || shop.AsError(err).Code != shop.WrongState {
		t.Errorf("cancel returned %v, and the order is %s; want wrong_state and paid", err, row.State)
	}
	w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
}

// P8: after a gap, no node ends, ships or refunds an order before a beat has recorded the doubt.
func TestNothingEndsBeforeABeatAfterAGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(5, 5)
	w.must(n.recoverPartition(nil))
	due, pending := w.order(sale, newID()), w.order(sale, newID())
	paid, refunding := w.order(sale, newID()), w.order(sale, newID())
	payAndSettle(w, n, paid)
	payAndSettle(w, n, refunding)
	w.must(errOf(n.refundRequests.RequestRefund(n.ctx, refunding.User, refunding.ID, "no reason")))
	w.passDeadline(due.ID)
	w.loseBeats()
	for name, try := range map[string]func() error{
		"expiry": func() error { return n.sweep(due.ID) },
		"cancel": func() error { return errOf(n.expirer.Cancel(n.ctx, pending.User, pending.ID)) },
		"ship":   func() error { return n.ship(paid.ID, store.Shipping{}) },
		"refund": func() error { return errOf(n.refundRequests.RequestRefund(n.ctx, paid.User, paid.ID, "no reason")) },
	} {
		if err := try(); !errors.Is(err, shop.ErrTransient) && shop.AsError(err).Code != shop.Busy {
			t.Errorf("%s after a gap: got %v, want a transient error", name, err)
		}
	}
	w.makeDue()
	_ = n.refunder.RunOnce(n.ctx)
	if l := w.sim.Ledger(); l.RefundedFen != 0 {
		t.Errorf("%d fen were refunded before a beat", l.RefundedFen)
	}
	w.must(n.recoverPartition(nil))
	w.must(n.ship(paid.ID, store.Shipping{}))
	w.awaitRest(sale, []shop.ID{due.ID, pending.ID, paid.ID, refunding.ID}, t.Errorf)
}

// ship enters a parcel of the order.
func (n *node) ship(order shop.ID, how store.Shipping) error {
	service := &backoffice.ShippingService{
		Store: n.w.db, RedisTime: n.w.inventory.Now, Gateway: n.gateway, Effects: n.effects, FinishAfter: time.Hour,
	}
	parcel := store.Parcel{Order: order, Carrier: "SF", Tracking: "1"}
	return errOf(service.Ship(n.ctx, operator(), parcel, how))
}

// P8, C9: a refund was sent, and the database has lost its row. The order is not shipped: the gateway is queried first,
// and the refund is entered again, not sent again. Another order that was paid before the doubt is shipped.
func TestRefundLostWithinTheLagIsNotShipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 3)
	w.must(n.recoverPartition(nil))
	kept, refunded := w.order(sale, newID()), w.order(sale, newID())
	payAndSettle(w, n, kept)
	payAndSettle(w, n, refunded)
	lose := w.saveRows(w.read(refunded.ID))
	w.must(errOf(n.refundRequests.RequestRefund(n.ctx, refunded.User, refunded.ID, "no reason")))
	for calls := 1; w.sim.Ledger().RefundedFen == 0; calls++ { // it dies as soon as the gateway has the refund
		w.makeDue()
		dying := w.node(&dyingProcess{callsLeft: calls})
		_ = dying.refunder.RunOnce(dying.ctx)
	}
	lose()
	w.simulatePromotion()
	n = w.node(nil)
	if problems := w.recoverAll(n); len(problems) > 0 {
		t.Errorf("problems to settle: %+v, want none", problems)
	}
	n.gateway = nil
	err := shop.AsError(n.ship(kept.ID, store.Shipping{}))
	if err.Code != shop.WrongState || !strings.Contains(err.Message, "STAMPEDE_ALIPAY_") {
		t.Errorf("without a gateway: got %v, want wrong_state that names the settings", err)
	}
	n = w.node(nil)
	w.must(n.ship(kept.ID, store.Shipping{}))
	for range 2 {
		if err := shop.AsError(n.ship(refunded.ID, store.Shipping{})); err.Code != shop.WrongState {
			t.Errorf("a refunded order: got %v, want wrong_state", err)
		}
	}
	n.runJobs(refunded.ID)
	if row := w.read(refunded.ID); row.State != shop.Refunded {
		t.Errorf("the order is %s, want refunded", row.State)
	}
	if l := w.sim.Ledger(); l.RefundedFen != refunded.AmountFen {
		t.Errorf("%d fen were refunded, want %d", l.RefundedFen, refunded.AmountFen)
	}
	w.awaitRest(sale, []shop.ID{kept.ID, refunded.ID}, t.Errorf)
}

// P5: after a planned stop, however long, an order without a payment expires without a call of the gateway.
func TestPlannedStopBeginsNoDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 2)
	ctx, stop := context.WithCancel(w.ctx)
	driver := n.driver()
	before := w.count("SELECT beat FROM history")
	stopped := make(chan error, 1)
	go func() { stopped <- driver.Run(ctx) }()
	w.retry("a beat", func() error { // a generation also sets beat_at, before the node has checked its partitions
		if w.count("SELECT beat FROM history") == before {
			return errors.New("no beat yet")
		}
		return nil
	})
	o := w.order(sale, newID())
	stop()
	<-stopped
	w.loseBeats()
	w.must(n.recoverPartition(nil))
	if w.watched(o.ID) || w.count("SELECT doubt_until FROM history") != 0 {
		t.Error("a doubt has begun, want none after a planned stop")
	}
}

// P8: a payment that is opened in doubt is queried like every other: a lost notification is found within a minute.
func TestPaymentOpenedInDoubtIsQueriedSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(3, 2)
	o := w.order(sale, newID())
	w.simulatePromotion()
	n := w.node(nil)
	w.recoverAll(n)
	w.makeDue()
	w.must(n.payReconciler.RunOnce(n.ctx))
	openPayment(w, n, o)
	now, err := w.inventory.Now(w.ctx)
	w.must(err)
	next := shop.Millis(w.count("SELECT check_at FROM trades WHERE order_id = ?", o.ID))
	if wait := next.Sub(now); wait > time.Minute {
		t.Errorf("the next query comes after %v, want within a minute", wait)
	}
}

// P6: the database has lost many changes of an order that its buyer has seen. Later states have higher revs.
func TestRevRisesAboveLostChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 2)
	o := w.order(sale, newID())
	restore := w.saveRows(o)
	for i := range 45 {
		a := homeAddress
		a.Text += fmt.Sprint(i)
		w.must(errOf(n.addresses.SetAddress(n.ctx, o.User, o.ID, &a)))
	}
	seen := w.buyers.lastOf(o.ID).Rev
	restore()
	w.simulatePromotion()
	n = w.node(nil)
	w.recoverAll(n)
	payAndSettle(w, n, o)
	if row := w.read(o.ID); row.Rev <= seen {
		t.Errorf("the paid order has rev %d, and its buyer has seen rev %d", row.Rev, seen)
	}
	w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
}

// P8, C6: the Redis of a partition is unreachable while the database fails over. The database has lost that A was
// cancelled and that B bought its unit and paid. A cannot be paid before its partition is recovered.
func TestPartitionThatWasNotInspectedIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(1, 1)
	a := w.order(sale, newID())
	restore := w.saveRows(a)
	w.must(errOf(n.expirer.Cancel(n.ctx, a.User, a.ID)))
	b := w.order(sale, newID())
	payAndSettle(w, n, b)
	w.deleteRows(b)
	restore()
	w.simulatePromotion()
	n = w.node(nil)
	down := faults.With(n.ctx, func(ctx context.Context, name string, call func() error) error {
		if name == "eval" || name == "evalsha" {
			return shop.ErrTransient
		}
		return call()
	})
	driver := n.driver()
	if err := driver.RunOnce(down); err == nil {
		t.Fatal("an unreachable partition was inspected")
	}
	if driver.Database().Generation == 0 {
		t.Fatal("the node does not work on the new generation")
	}
	_, err := n.payments.Pay(n.ctx, a.User, a.ID, payment.ViaPage)
	if shop.AsError(err).Code != shop.Busy {
		t.Errorf("pay before the recovery: got %v, want busy", err)
	}
	w.must(driver.RunOnce(n.ctx))
	w.awaitRest(sale, []shop.ID{a.ID, b.ID}, t.Errorf)
	if row := w.read(b.ID); row.State != shop.Paid {
		t.Errorf("B was paid before the failover and is %s", row.State)
	}
}

// P8: the program dies at any call of a refund that the policy approves. The refund is decided with its request.
func TestRefundByPolicyIsDecidedWithItsRequest(t *testing.T) {
	t.Parallel()
	for calls := 1; ; calls++ {
		w := newWorld(t)
		n, sale := w.node(nil), w.offer(3, 2)
		o := w.order(sale, newID())
		payAndSettle(w, n, o)
		dying := w.node(&dyingProcess{callsLeft: calls})
		_, err := dying.refundRequests.RequestRefund(dying.ctx, o.User, o.ID, "no reason")
		if row := w.read(o.ID); row.State == shop.Paid && row.Reason == payment.ReasonRefundRequested {
			t.Errorf("after %d calls the order waits for a decision of an operator", calls)
		}
		w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
		if err == nil && !dying.dead() {
			return
		}
	}
}
