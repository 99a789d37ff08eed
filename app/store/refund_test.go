package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
)

// paid returns a paid order of a new buyer.
func (s *testShop) paid(sale shop.ID, qty int) shop.Order {
	s.t.Helper()
	o := s.order(sale, qty)
	s.insert(o)
	_, err := s.DB().ExecContext(s.ctx,
		"UPDATE orders SET state = 'paid', rev = 2, paid_at = ?, trade_no = ? WHERE id = ?",
		opens+9, "T"+o.ID.String(), o.ID)
	s.must(err)
	return s.read(o.ID)
}

// I5, P8: a refund begins once, only from the given states, and the order keeps its units. A repeat returns the same
// order.
func TestRefundBeginsOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.paid(h.sales[0], 2)
		begin := func(from ...shop.OrderState) (shop.Order, error) {
			return h.BeginRefund(h.ctx, o.ID, from, payment.ReasonRefundShop, opens+20)
		}
		wantErr(t, "begun from another state", errOf(begin(shop.Expired, shop.Cancelled)), shop.ErrNoRow)
		wantErr(t, "begun for a missing order",
			errOf(h.BeginRefund(h.ctx, o.ID+1_000_000, []shop.OrderState{shop.Paid}, "", opens)), shop.ErrNoRow)
		for range 2 {
			got := val(begin(shop.Paid, shop.Shipped))(h.t)
			if got.State != shop.Refunding || got.Reason != payment.ReasonRefundShop || got.Rev != o.Rev+1 {
				t.Errorf("%+v", got)
			}
			wantEqual(t, "(-result +row)", got, h.read(o.ID), ignoreTouched)
		}
		h.wantTaken(h.sales[0], 2)
	}, 10)
}

// P8: the refund of a late payment of an ended order changes no units.
func TestRefundOfLatePaymentChangesNoUnits(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.order(h.sales[0], 2)
		h.insert(o)
		h.must(errOf(h.Expire(h.ctx, []shop.ID{o.ID}, payBy)))
		got, err := h.BeginRefund(h.ctx, o.ID, []shop.OrderState{shop.Expired, shop.Cancelled},
			"sold_out", payBy+5)
		h.must(err)
		if got.State != shop.Refunding || got.Reason != "sold_out" || got.CancelledAt != payBy || got.Rev != 3 {
			t.Errorf("%+v", got)
		}
		h.wantTaken(h.sales[0], 0)
	}, 10)
}

// P8: an approval, a refusal and a repeated request each change the order once.
func TestRefundRequestAndDecisionApplyOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.paid(h.sales[0], 2)
		ask := payment.BuyerRefundRequest{Order: o.ID, User: o.User, Text: "too large", At: opens + 30}
		wantErr(t, "requested by another user",
			errOf(h.RequestRefund(h.ctx, payment.BuyerRefundRequest{Order: o.ID, User: o.User + 1})), shop.ErrNoRow)
		wantErr(t, "declined a refund that was not requested",
			errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7})), shop.ErrNoRow)
		h.wantRefund(o.ID, shop.Paid, "", 2)
		for _, step := range []struct {
			do     func() (shop.Order, error)
			state  shop.OrderState
			reason string
			rev    int
		}{
			{
				func() (shop.Order, error) { return h.RequestRefund(h.ctx, ask) }, shop.Paid,
				payment.ReasonRefundRequested, 3,
			},
			{func() (shop.Order, error) {
				return h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, Note: "worn", At: opens + 40})
			}, shop.Paid, payment.ReasonRefundDeclined, 4},
			{
				func() (shop.Order, error) { return h.RequestRefund(h.ctx, ask) }, shop.Paid,
				payment.ReasonRefundRequested, 5,
			},
			{func() (shop.Order, error) {
				return h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, Approved: true, At: opens + 50})
			}, shop.Refunding, payment.ReasonRefundBuyer, 6},
			{
				func() (shop.Order, error) { return h.RequestRefund(h.ctx, ask) }, shop.Refunding,
				payment.ReasonRefundBuyer, 6,
			},
		} {
			for range 2 {
				got := val(step.do())(h.t)
				wantEqual(t, "(-result +row)", got, h.read(o.ID), ignoreTouched)
				h.wantRefund(o.ID, step.state, step.reason, step.rev)
			}
		}
		all, _, err := h.Refunds.Refunds(h.ctx, payment.RefundsQuery{Limit: 10})
		h.must(err)
		want := []payment.Refund{{
			Order: o.ID, Request: payment.RefundNumber(o.ID, 1), State: payment.RefundOpen, AmountFen: o.AmountFen,
			Reason:      "too large",
			RequestedBy: o.User, RequestedAt: opens + 30, DecidedBy: 7, DecidedAt: opens + 50, NextAt: opens + 50,
		}}
		wantEqual(t, "(-want +got)", want, all)
	}, 10)
}

func (s *testShop) wantRefund(order shop.ID, state shop.OrderState, reason string, rev int) {
	s.t.Helper()
	if o := s.read(order); o.State != state || o.Reason != reason || o.Rev != rev {
		s.t.Errorf("got the order %s (%s) at rev %d, want %s (%s) at rev %d",
			o.State, o.Reason, o.Rev, state, reason, rev)
	}
}

// P8: after a partial refund, the next refund has a number of its own and refunds the rest. The order is refunded when
// its whole amount is.
func TestLaterRefundHasItsOwnNumber(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.paid(h.sales[0], 2)
		_, err := h.DB().ExecContext(h.ctx, "INSERT INTO refunds (request, order_id, state, amount_fen, reason, requested_by,"+
			" requested_at, decided_by, decided_at, done_at, attempts, note) VALUES (?, ?, 'done', 100, '', 0, 1, 0, 1, 1, 1, '')",
			payment.RefundNumber(o.ID, 1), o.ID)
		h.must(err)
		_, err = h.DB().ExecContext(h.ctx, "UPDATE orders SET refunded_fen = 100 WHERE id = ?", o.ID)
		h.must(err)
		ask := payment.BuyerRefundRequest{Order: o.ID, User: o.User, Text: "too large", At: opens + 30}
		h.must(errOf(h.RequestRefund(h.ctx, ask)))
		for range 2 {
			decision := payment.RefundDecision{Order: o.ID, By: 7, Approved: true, At: opens + 40}
			h.must(errOf(h.DecideRefund(h.ctx, decision)))
		}
		refund := val(h.RefundOf(h.ctx, o.ID))(t)
		if refund.Request != payment.RefundNumber(o.ID, 2) || refund.State != payment.RefundOpen ||
			refund.AmountFen != o.AmountFen-100 {
			t.Errorf("got the refund %+v, want the second one, of %d fen", refund, o.AmountFen-100)
		}
		for range 2 {
			done := val(h.FinishRefund(h.ctx, o.ID, opens+50))(t)
			if done.State != shop.Refunded || done.RefundedFen != o.AmountFen {
				t.Errorf("got the order %s with %d fen refunded, want all", done.State, done.RefundedFen)
			}
		}
		all, _, err := h.Refunds.Refunds(h.ctx, payment.RefundsQuery{State: payment.RefundDone, Limit: 10})
		if h.must(err); len(all) != 2 {
			t.Errorf("got the refunds %+v, want both, done", all)
		}
	}, 10)
}

// P8: a claimed refund is due again after its pause, which grows, until it is finished. A stuck refund is due only
// after RetryRefund.
func TestUnfinishedRefundIsClaimedAgain(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.paid(h.sales[0], 2)
		now := opens + 50
		h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, Approved: true, At: now})))
		claimed := func(at shop.Millis) int {
			t.Helper()
			got, err := h.ClaimRefunds(h.ctx, at, at, 10)
			h.must(err)
			return len(got)
		}
		if early, err := h.ClaimRefunds(h.ctx, now, now-1, 10); err != nil || len(early) > 0 {
			t.Errorf("claimed %+v, %v, which was decided later", early, err)
		}
		for attempt := 1; attempt < 4; attempt++ {
			if claimed(now-1) != 0 || claimed(now) != 1 || claimed(now) != 0 {
				t.Fatalf("attempt %d: the refund was not claimed exactly once from its due time on", attempt)
			}
			now = now.Add(payment.RefundPause(attempt))
		}
		h.must(h.RecordRefundAttempt(h.ctx, o.ID, "the gateway is down", false))
		if claimed(now) != 1 {
			t.Error("a refund with a note is not due again")
		}
		wantErr(t, "retried a refund that is not stuck", h.RetryRefund(h.ctx, o.ID, now), shop.ErrNoRow)
		h.must(h.RecordRefundAttempt(h.ctx, o.ID, "ACCOUNT_CLOSED", true))
		if claimed(now.Add(24*time.Hour)) != 0 {
			t.Error("a stuck refund is due")
		}
		backlog, err := h.RefundBacklog(h.ctx)
		h.must(err)
		if backlog != (payment.RefundBacklog{Stuck: 1}) {
			t.Errorf("got the backlog %+v, want one stuck refund", backlog)
		}
		h.must(h.RetryRefund(h.ctx, o.ID, now))
		if backlog, err = h.RefundBacklog(h.ctx); err != nil || backlog != (payment.RefundBacklog{
			Open: 1, Oldest: opens + 50,
		}) {
			t.Errorf("got the backlog %+v (%v), want one open refund", backlog, err)
		}
		if claimed(now) != 1 {
			t.Error("a retried refund is not due")
		}
	}, 10)
}

// P1, P8: a finished refund withdraws the units once, closes the refund, and is posted to the back office once.
func TestRefundFinishesOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o, other := h.paid(h.sales[0], 2), h.paid(h.sales[0], 1)
		wantErr(t, "finished a refund that had not begun", errOf(h.FinishRefund(h.ctx, o.ID, opens+70)), shop.ErrNoRow)
		h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, Approved: true, At: opens + 60})))
		for range 2 {
			got := val(h.FinishRefund(h.ctx, o.ID, opens+70))(h.t)
			wantEqual(t, "(-result +row)", got, h.read(o.ID), ignoreTouched)
			h.wantRefund(o.ID, shop.Refunded, payment.ReasonRefundShop, 4)
			h.wantRefund(other.ID, shop.Paid, "", 2)
		}
		h.wantTaken(h.sales[0], 3)
		if sums := h.totals(h.sales[0]); sums.RefundedUnits != 2 || sums.SoldUnits != 1 {
			t.Errorf("got %d refunded units and %d sold, want 2 and 1", sums.RefundedUnits, sums.SoldUnits)
		}
		got := val(h.ClaimOutbox(h.ctx, opens+70, 10))(h.t)
		want := []outbox.Message{{
			Order: o.ID, Rev: 4, State: shop.Refunded, At: opens + 70,
			Sale: o.Sale, ProductName: o.ProductName, User: o.User, Qty: 2,
			PriceFen: o.PriceFen, AmountFen: o.AmountFen, PaidAt: o.PaidAt, TradeNo: o.TradeNo, Address: o.Address,
		}}
		wantEqual(t, "(-want +got)", want, got)
	}, 10)
}

// Two nodes claim refunds concurrently: each refund goes to one of them.
func TestRefundsAreClaimedByOneNode(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		for range 30 {
			_, err := h.DecideRefund(
				h.ctx, payment.RefundDecision{Order: h.paid(h.sales[0], 1).ID, Approved: true, At: opens},
			)
			h.must(err)
		}
		var claimed atomic.Int64
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				for {
					got, err := h.ClaimRefunds(h.ctx, opens, opens, 4)
					if err != nil || len(got) == 0 {
						return err
					}
					claimed.Add(int64(len(got)))
				}
			})
		}
		h.must(g.Wait())
		if n := claimed.Load(); n != 30 {
			t.Errorf("got %d claims of 30 refunds, want 30", n)
		}
	}, 100)
}
