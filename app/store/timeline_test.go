package store_test

import (
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// wantTimeline compares the timeline of an order.
func (s *testShop) wantTimeline(id shop.ID, want ...shop.Step) {
	s.t.Helper()
	o := s.read(id)
	trail := val(s.Trail(s.ctx, o.ID, o.User))(s.t)
	wantEqual(s.t, "timeline (-want +got)", want, shop.Timeline(&o, trail))
}

// insertedOrder returns a pending order whose row has the instant of its insertion.
func (s *testShop) insertedOrder() shop.Order {
	s.t.Helper()
	o := s.order(s.sales[0], 1)
	o.InsertedAt = opens + 2
	s.insert(o)
	return s.read(o.ID)
}

// takePayment opens and pays a pending order.
func (s *testShop) takePayment(o shop.Order) {
	s.t.Helper()
	s.must(errOf(s.OpenTrade(s.ctx, o.ID, o.User, opens+3, margin)))
	s.wantReceived(tradeOf(o), payment.OutcomeTaken, shop.Paid)
}

func TestTimelineHasAllStatesWithTheirTimes(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		begin := []shop.Step{{State: shop.Reserved, At: opens + 1}, {State: shop.Pending, At: opens + 2}}
		paid := shop.Step{State: shop.Paid, At: opens + 9}
		shipped := shop.Step{State: shop.Shipped, At: shippedAt}

		finished := h.insertedOrder()
		h.takePayment(finished)
		h.ship(shippingOptions, parcel(finished.ID))
		other := store.Parcel{Order: finished.ID, Carrier: "SF", Tracking: "another"}
		for _, at := range []shop.Millis{shippedAt, shippedAt + 5, shippedAt + 6} { // the first time stays
			h.ship(store.Shipping{By: 7, At: at, Finish: finishAt, Replace: true}, other)
			other.Tracking += "-"
		}
		_, _, err := h.ConfirmReceipt(h.ctx, finished.ID, finished.User, shippedAt+9)
		h.must(err)
		want := append(begin[:2:2], paid, shipped, shop.Step{State: shop.Finished, At: shippedAt + 9})
		h.wantTimeline(finished.ID, want...)
		if trail := val(h.Trail(h.ctx, finished.ID, finished.User))(t); trail.Carrier != "SF" {
			t.Errorf("got the carrier %q, want SF", trail.Carrier)
		}
		h.must(errOf(h.DB().ExecContext(h.ctx, "DELETE FROM order_states WHERE state = 'finished'")))
		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE orders SET inserted_at = 0 WHERE id = ?", finished.ID)))
		want[1].At, want[4].At = 0, 0 // rows of an earlier version have no times
		h.wantTimeline(finished.ID, want...)

		expired := h.insertedOrder()
		h.must(errOf(h.Expire(h.ctx, []shop.ID{expired.ID}, payBy)))
		h.wantTimeline(expired.ID, append(begin[:2:2], shop.Step{State: shop.Expired, At: payBy})...)
	}, 20)
}

func TestTimelineOfRefundAfterDeclinedRequest(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.insertedOrder()
		h.takePayment(o)
		ask := payment.BuyerRefundRequest{Order: o.ID, User: o.User, Text: "too large", At: opens + 30}
		decide := payment.RefundDecision{Order: o.ID, By: 7, At: opens + 40}
		h.must(errOf(h.RequestRefund(h.ctx, ask)))
		h.must(errOf(h.DecideRefund(h.ctx, decide)))
		h.ship(shippingOptions, parcel(o.ID))
		ask.At, decide.At, decide.Approved = shippedAt+10, shippedAt+20, true
		h.must(errOf(h.RequestRefund(h.ctx, ask)))
		h.must(errOf(h.DecideRefund(h.ctx, decide)))
		h.must(errOf(h.FinishRefund(h.ctx, o.ID, shippedAt+30)))
		h.wantTimeline(o.ID, []shop.Step{
			{State: shop.Reserved, At: opens + 1},
			{State: shop.Pending, At: opens + 2},
			{State: shop.Paid, At: opens + 9},
			{State: shop.RefundAsked, At: opens + 30},
			{State: shop.RefundDeclined, At: opens + 40},
			{State: shop.Shipped, At: shippedAt},
			{State: shop.RefundAsked, At: shippedAt + 10},
			{State: shop.Refunding, At: shippedAt + 20},
			{State: shop.Refunded, At: shippedAt + 30},
		}...)
	}, 10)
}

// The row of an order with a late payment no longer shows how or when the order had ended.
func TestTimelineKeepsTheEndBeforeALatePayment(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		revived, refunded := h.insertedOrder(), h.insertedOrder()
		for _, o := range []shop.Order{revived, refunded} {
			h.must(errOf(h.Cancel(h.ctx, o.ID, o.User, opens+8)))
			h.wantReceived(tradeOf(o), payment.OutcomeLate, shop.Cancelled)
		}
		ended := []shop.Step{
			{State: shop.Reserved, At: opens + 1},
			{State: shop.Pending, At: opens + 2},
			{State: shop.Cancelled, At: opens + 8},
		}
		claimed := val(h.ClaimHold(h.ctx, revived.ID, shop.Cancelled))(t)
		h.must(errOf(h.ReviveLate(h.ctx, claimed, h.epoch, opens+20)))
		h.wantTimeline(revived.ID, append(ended[:3:3], shop.Step{State: shop.Paid, At: opens + 20})...)

		from := []shop.OrderState{shop.Cancelled}
		h.must(errOf(h.BeginRefund(h.ctx, refunded.ID, from, shop.ReasonLateSoldOut, opens+30)))
		h.wantTimeline(refunded.ID, append(ended[:3:3], shop.Step{State: shop.Refunding, At: opens + 30})...)
	}, 10)
}

func TestTimelineOfReplayedDeadLetter(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.order(h.sales[0], 1)
		o.State, o.Reason, o.PayBy, o.InsertedAt = shop.Refused, shop.ReasonDead, 0, opens+2
		h.insert(o)
		want := []shop.Step{{State: shop.Reserved, At: opens + 1}, {State: shop.Refused, At: opens + 2}}
		h.wantTimeline(o.ID, want...)
		claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Refused))(t)
		h.must(errOf(h.Revive(h.ctx, claimed, h.epoch, opens+20, payBy)))
		h.wantTimeline(o.ID, append(want, shop.Step{State: shop.Pending, At: opens + 20})...)
	}, 10)
}
