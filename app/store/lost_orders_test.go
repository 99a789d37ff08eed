package store_test

import (
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
)

// P8: a refund that the gateway has made is entered once. Parts keep the state of the order until everything is
// refunded; then no other refund of the order is sent. An order without this money is unchanged.
func TestMadeRefundsAreEnteredOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		lost := h.Store.LostOrders()
		o := refundRequestedOrder(h)
		book := func(request string, fen int64, state shop.OrderState, refunded int64) {
			t.Helper()
			made := payment.MadeRefund{Order: o.ID, Request: request, AmountFen: fen, At: opens + 60}
			for range 2 {
				h.must(errOf(lost.BookRefund(h.ctx, made)))
			}
			if got := h.read(o.ID); got.State != state || got.RefundedFen != refunded {
				t.Errorf("after %q: got %s with %d fen refunded, want %s with %d", request, got.State, got.RefundedFen, state,
					refunded)
			}
		}
		book("console-1", 100, shop.Paid, 100)
		book("console-2", o.AmountFen, shop.Refunded, o.AmountFen) // the gateway cannot refund more than the rest
		states := map[payment.RefundState]int{}
		for query, more := (payment.RefundsQuery{Limit: 1}), true; more; { // a page may end between refunds of an order
			var page []payment.Refund
			var err error
			page, more, err = h.Store.Refunds().Refunds(h.ctx, query)
			h.must(err)
			states[page[0].State]++
			query.Before = page[0].Request
		}
		wantEqual(t, "states of refunds (-want +got)",
			map[payment.RefundState]int{payment.RefundDone: 2, payment.RefundDeclined: 1}, states)

		open := refundingOrder(h)
		made := payment.MadeRefund{Order: open.ID, AmountFen: open.AmountFen, At: opens + 60}
		h.must(errOf(lost.BookRefund(h.ctx, made)))
		if r := val(h.Store.Refunds().RefundOf(h.ctx, open.ID))(t); r.Request != payment.RefundNumber(open.ID, 1) ||
			r.State != payment.RefundDone || h.read(open.ID).State != shop.Refunded {
			t.Errorf("got the refund %+v, want the open one, done", r)
		}
		unpaid := openedOrder(h)
		h.must(errOf(lost.BookRefund(h.ctx, payment.MadeRefund{Order: unpaid.ID, AmountFen: 1})))
		if got := h.read(unpaid.ID); got.State != shop.Pending || got.RefundedFen != 0 {
			t.Errorf("got the unpaid order %+v, want it unchanged", got)
		}
		wantErr(t, "no such order", errOf(lost.BookRefund(h.ctx, payment.MadeRefund{Order: 4242, AmountFen: 1})), shop.ErrNoRow)
	}, 10)
}

// P8: an operator refunds one anomaly, or all with an outcome. Payments that fit their order are never refunded so. A
// rejected refund waits, and a made one is final.
func TestAnomaliesAreRefundedByDecision(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		lost := h.Store.LostOrders()
		receive := func(no string) payment.Trade {
			trade := payment.Trade{
				Order: nextID(), No: no, State: payment.TradePaid, AmountFen: 700, Mark: payment.Mark{Shop: "here"},
			}
			h.wantReceived(trade, payment.OutcomeUnknownOrder, "")
			return trade
		}
		first, second, third := receive("T1"), receive("T2"), receive("T3")
		taken := paidOrder(h)
		refund := func(no string, outcome payment.Outcome, want int) {
			t.Helper()
			n, fen, err := lost.RefundAnomalies(h.ctx, no, outcome, opens)
			if err != nil || n != want || fen != int64(want)*700 {
				t.Errorf("refund %q %q: got %d payments, %d fen (%v), want %d", no, outcome, n, fen, err, want)
			}
		}
		refund(taken.TradeNo, "", 0)
		refund("", payment.OutcomeWrongAmount, 0)
		refund("T1", "", 1)
		refund("T1", "", 0)
		refund("", payment.OutcomeUnknownOrder, 2)
		unresolved := func(before shop.Millis, want int) {
			t.Helper()
			if list := val(h.Unresolved(h.ctx, before, 0, 10))(t); len(list) != want {
				t.Errorf("before %d: got unresolved payments %+v, want %d", before, list, want)
			}
		}
		unresolved(opens+1, 3)
		h.must(lost.RetryAnomaly(h.ctx, "T1", opens+100))
		unresolved(opens+1, 2)
		for range 2 {
			h.must(lost.AnomalyRefunded(h.ctx, "T2"))
		}
		h.must(lost.AnomalyRefunded(h.ctx, taken.TradeNo))
		unresolved(opens+101, 2)
		h.wantReceived(first, payment.OutcomeRefunding, "")
		h.wantReceived(second, payment.OutcomeRefunded, "")
		h.wantReceived(third, payment.OutcomeRefunding, "")
		h.wantReceived(tradeOf(taken), payment.OutcomeTaken, shop.Paid)
	}, 10)
}
