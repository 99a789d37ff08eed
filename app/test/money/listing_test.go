package money

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stampede/app/alipay"
	"stampede/app/alipay/sim"
	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// listing compares lists without a lag.
func (n *node) listing() *payment.Listing {
	return &payment.Listing{
		Payments: n.payments, Window: payWindow, Zone: alipay.Zone,
		Daily: &payment.DailyReconciliation{
			Trades: n.payments.Trades, Orders: n.payments.Orders, Gateway: n.payments.Gateway, Zone: alipay.Zone,
		},
	}
}

// list compares the gateway's lists of the last hour with the shop until the comparison has read the last second.
func (n *node) list(done func(payment.ListingReport) bool) payment.ListingReport {
	n.w.t.Helper()
	listing := n.listing()
	var report payment.ListingReport
	n.w.retry("list", func() error {
		now, err := n.w.inventory.Now(n.ctx)
		if err != nil {
			return err
		}
		if report, err = listing.Compare(n.ctx, now.Add(-time.Hour), now); err == nil && !done(report) {
			err = fmt.Errorf("the report is %+v", report)
		}
		return err
	})
	return report
}

// loseOrder deletes an order in both stores, as a restore of older backups does.
func (w *world) loseOrder(n *node, o shop.Order) {
	w.t.Helper()
	w.deleteRows(o)
	w.must(w.client.FlushDB(w.ctx).Err())
	w.must(n.recoverPartition(nil))
}

// losePruned is loseOrder for an order of a sale whose old orders were deleted.
func (w *world) losePruned(n *node, o shop.Order) {
	w.t.Helper()
	w.loseOrder(n, o)
	w.exec("INSERT INTO pruned_orders (sale_id, orders, sold, gone, max_ticket, max_seq, paid_fen, refunded_fen)"+
		" VALUES (?, 1, 1, 0, 1, 1, ?, 0)", o.Sale, o.AmountFen)
}

// P8, C4: all stores have lost a paid order. The gateway's list names it, and it is written again from its mark: paid
// if a unit is free, otherwise refunded. A repeat of the comparison changes nothing.
func TestMoneyThatNoRowKnowsIsFoundByTheList(t *testing.T) {
	t.Parallel()
	for _, soldOut := range []bool{false, true} {
		t.Run(fmt.Sprint("sold out ", soldOut), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(1, 1)
			w.must(n.recoverPartition(nil))
			o := w.order(sale, newID())
			payAndSettle(w, n, o)
			w.loseOrder(n, o)
			want, orders := shop.Paid, []shop.ID{o.ID}
			if soldOut {
				want, orders = shop.Refunded, append(orders, w.order(sale, newID()).ID)
			}
			n = w.node(nil)
			n.list(func(r payment.ListingReport) bool { return r.Written == 1 })
			w.awaitRest(sale, orders, t.Errorf)
			got := w.read(o.ID)
			if got.State != want || got.User != o.User || got.Qty != o.Qty || got.PriceFen != o.PriceFen {
				t.Errorf("the order is %+v, want %s and the order of the buyer", got, want)
			}
			again := n.list(func(payment.ListingReport) bool { return true })
			if again.Written+again.Settled+again.Booked+len(again.Differences) > 0 || again.Trades != 1 {
				t.Errorf("a repeat: got %+v, want no work", again)
			}
		})
	}
}

// P8, C4: trades of another shop at the same account change nothing, even with a mark of their own. Money of a sale
// whose old orders were deleted is only listed.
func TestForeignAndOldMoneyChangesNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(2, 1)
	w.must(n.recoverPartition(nil))
	o := w.order(sale, newID())
	payAndSettle(w, n, o)
	w.losePruned(n, o)
	other := payment.Mark{Shop: "0badcafe0badcafe", Sale: sale.ID, User: o.User, Qty: 1}
	w.sim.AddForeign("TX-1", "two cups", 500)
	w.sim.AddForeign(newID().String(), other.String(), 700)
	report := w.node(nil).list(func(r payment.ListingReport) bool { return r.Foreign == 2 && r.Trades == 1 })
	if report.Written > 0 || len(report.Differences) != 2 || report.Differences[0].Order != o.ID {
		t.Errorf("got %+v, want the differences of order %s", report, o.ID)
	}
	if l := w.sim.Ledger(); l.RefundedFen != 0 {
		t.Errorf("%d fen were refunded, want 0", l.RefundedFen)
	}
}

// P8, C4: the database has lost a refund that was made. The log of the gateway names it, and the order is refunded. A
// refund in the gateway's own console is booked in the same way; a partial one keeps the state of the order.
func TestRefundsThatNoRowKnowsAreBooked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 3)
	w.must(n.recoverPartition(nil))
	lost, whole, part := w.order(sale, newID()), w.order(sale, newID()), w.order(sale, newID())
	for _, o := range []shop.Order{lost, whole, part} {
		payAndSettle(w, n, o)
	}
	for _, r := range []payment.RefundRequest{
		{Order: lost.ID, Request: payment.RefundNumber(lost.ID, 1), AmountFen: lost.AmountFen},
		{Order: whole.ID, Request: "console-1", AmountFen: whole.AmountFen},
		{Order: part.ID, Request: "console-2", AmountFen: 100},
	} {
		r.TradeNo, r.Reason = w.read(r.Order).TradeNo, "scratched"
		w.must(n.gateway.Refund(n.ctx, r))
	}
	n.list(func(r payment.ListingReport) bool { return r.Refunds == 3 })
	w.awaitRest(sale, []shop.ID{lost.ID, whole.ID, part.ID}, t.Errorf)
	for _, c := range []struct {
		order shop.Order
		state shop.OrderState
		fen   int64
	}{{lost, shop.Refunded, lost.AmountFen}, {whole, shop.Refunded, whole.AmountFen}, {part, shop.Paid, 100}} {
		if got := w.read(c.order.ID); got.State != c.state || got.RefundedFen != c.fen {
			t.Errorf("the order is %s with %d fen refunded, want %s and %d", got.State, got.RefundedFen, c.state, c.fen)
		}
	}
	again := n.list(func(r payment.ListingReport) bool { return r.Refunds == 3 })
	if again.Booked+again.Settled > 0 {
		t.Errorf("a repeat: got %+v, want no work", again)
	}
}

// P8: a refund in the gateway's own console is entered by its notification, if the gateway confirms it. A refunded
// order is not shipped, and one of which a part was refunded only if the operator confirms it.
func TestRefundsInTheGatewayConsoleAreEntered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 3)
	w.must(n.recoverPartition(nil))
	whole, part, forged := w.order(sale, newID()), w.order(sale, newID()), w.order(sale, newID())
	for _, o := range []shop.Order{whole, part, forged} {
		payAndSettle(w, n, o)
	}
	for o, fen := range map[*shop.Order]int64{&whole: whole.AmountFen, &part: 100} {
		request := payment.RefundRequest{
			Order: o.ID, TradeNo: w.read(o.ID).TradeNo, Request: "console " + o.ID.String(), AmountFen: fen, Reason: "scratched",
		}
		w.must(n.gateway.Refund(n.ctx, request))
		notified := payment.Trade{
			Order: o.ID, No: request.TradeNo, State: payment.TradePaid, AmountFen: o.AmountFen, RefundedFen: fen,
			Refund: request.Request,
		}
		if fen == o.AmountFen {
			notified.State = payment.TradeClosed
		}
		for range 2 {
			w.must(n.payments.Settle(n.ctx, notified))
		}
	}
	w.must(n.payments.Settle(n.ctx, payment.Trade{
		Order: forged.ID, No: w.read(forged.ID).TradeNo, State: payment.TradePaid, AmountFen: forged.AmountFen,
		RefundedFen: 100, Refund: "never made",
	}))
	w.awaitRest(sale, []shop.ID{whole.ID, part.ID, forged.ID}, t.Errorf)
	for _, c := range []struct {
		order   shop.Order
		state   shop.OrderState
		fen     int64
		shipped bool
	}{{whole, shop.Refunded, whole.AmountFen, false}, {part, shop.Paid, 100, false}, {forged, shop.Paid, 0, true}} {
		if got := w.read(c.order.ID); got.State != c.state || got.RefundedFen != c.fen {
			t.Errorf("the order is %s with %d fen refunded, want %s and %d", got.State, got.RefundedFen, c.state, c.fen)
		}
		if err := n.ship(c.order.ID, store.Shipping{}); (err == nil) != c.shipped {
			t.Errorf("%s with %d fen refunded: shipped with the error %v, want shipped %v", c.state, c.fen, err, c.shipped)
		}
	}
	w.must(n.ship(part.ID, store.Shipping{PartRefunded: true}))
}

// P8: an operator refunds money that fits no order. Each payment is refunded once, also if the gateway's reply is lost.
func TestAnomaliesAreRefundedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(2, 1)
	w.must(n.recoverPartition(nil))
	o := w.order(sale, newID())
	payAndSettle(w, n, o)
	w.losePruned(n, o)
	n = w.node(nil)
	n.list(func(r payment.ListingReport) bool { return len(r.Differences) > 0 })
	refunds := &backoffice.RefundService{Store: w.db, RedisTime: w.inventory.Now}
	actor := operator()
	actor.Note = "its order was deleted"
	refunded, err := refunds.RefundAnomalies(n.ctx, actor, "", payment.OutcomeUnknownOrder)
	if err != nil || refunded.Payments != 1 || refunded.AmountFen != o.AmountFen {
		t.Fatalf("got %+v (%v), want the payment of %d fen", refunded, err, o.AmountFen)
	}
	_, err = w.sim.Inject(sim.Fault{Kind: sim.ErrorAfterSuccess, Method: "alipay.trade.refund", Times: 1})
	w.must(err)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		w.makeDue()
		failed := n.payReconciler.RunOnce(n.ctx)
		list, err := w.db.Payments().Unresolved(n.ctx, 1<<60, 0, 10)
		return err == nil && len(list) == 0, fmt.Sprintf("unresolved %+v, %v, %v", list, err, failed)
	})
	if l := w.sim.Ledger(); l.RefundedFen != o.AmountFen {
		t.Errorf("%d fen were refunded, want %d", l.RefundedFen, o.AmountFen)
	}
	r := n.list(func(r payment.ListingReport) bool { return r.Trades == 1 })
	if len(r.Differences) > 0 || r.Written > 0 {
		t.Errorf("after the refund: got %+v, want no difference", r)
	}
}

// P8, C4: after a doubt about lost writes, one node compares the gateway's lists by itself. Differences stay until they
// have ended.
func TestListsAreComparedAfterADoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(2, 1)
	w.must(n.recoverPartition(nil))
	o, odd := w.order(sale, newID()), w.order(sale, newID())
	payAndSettle(w, n, o)
	payAndSettle(w, n, odd)
	w.exec("UPDATE payments SET outcome = 'wrong_amount' WHERE order_id = ?", odd.ID)
	w.loseOrder(n, o)
	n = w.node(nil)
	job := &payment.ListingJob{Listing: n.listing(), Store: w.db.Differences()}
	run := func(orders ...shop.ID) {
		t.Helper()
		n.w.retry("compare", func() error {
			w.exec("UPDATE history SET listing_at = 0, doubt_until = listed_until + 1")
			if err := job.RunOnce(n.ctx); err != nil {
				return err
			}
			found, err := w.db.Differences().List(n.ctx, 10)
			ids := shop.Mapped(found, func(d payment.PayDifference) shop.ID { return d.Order })
			if err == nil && !slices.Equal(slices.Compact(ids), orders) {
				err = fmt.Errorf("got the differences %+v, want those of the orders %v", found, orders)
			}
			return err
		})
	}
	n.w.retry("write the lost order again", func() error {
		w.exec("UPDATE history SET listing_at = 0, doubt_until = listed_until + 1")
		err := job.RunOnce(n.ctx)
		if _, readErr := w.db.Orders().Order(n.ctx, o.ID); err == nil {
			err = readErr
		}
		return err
	})
	run(odd.ID)
	w.exec("UPDATE payments SET outcome = 'taken' WHERE order_id = ?", odd.ID)
	run()
	w.awaitRest(sale, []shop.ID{o.ID, odd.ID}, t.Errorf)
	if got := w.read(o.ID); got.State != shop.Paid {
		t.Errorf("the lost order is %s, want paid", got.State)
	}
}
