package store_test

import (
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
)

// C7: only an operator ends a problem, once. A recovery that finds it again changes nothing while it is open, and opens
// it again after a decision. Its buyer sees the order meanwhile, until the decision.
func TestProblemsStayOpenUntilTheDecision(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		problems := h.Store.Problems()
		o := h.order(h.sales[0], 2)
		entry := &shop.Entry{
			Order: o.ID, Sale: o.Sale, User: o.User, Partition: 3, Qty: 2, PriceFen: 900, Key: "key",
			Address: `{"name":"Li"}`,
		}
		problem := shop.Problem{Order: o.ID, Sale: o.Sale, User: o.User, Partition: 3, Text: "no row", Entry: entry}
		found := func(reason string, now shop.Millis) {
			t.Helper()
			again := problem
			again.Text = reason
			h.must(problems.Add(h.ctx, []shop.Problem{again}, now))
		}
		found("no row", 10)
		found("found again", 20)
		wantEqual(t, "open problems (-want +got)", []shop.Problem{problem}, val(problems.Open(h.ctx, 3))(t))
		wantEqual(t, "the problem (-want +got)", problem, val(problems.Problem(h.ctx, o.ID))(t))
		if other := val(problems.Open(h.ctx, 4))(t); len(other) > 0 {
			t.Errorf("another partition has the problems %+v", other)
		}
		seen := val(h.Checking(h.ctx, o.User))(t)
		if len(seen) != 1 || seen[0].State != shop.Reserved || seen[0].Reason != shop.ReasonChecking ||
			seen[0].AmountFen != 1800 {
			t.Errorf("the buyer sees %+v, want the reserved order", seen)
		}

		h.must(problems.Decide(h.ctx, o.ID, "end", 7, 30))
		wantErr(t, "a second decision", problems.Decide(h.ctx, o.ID, "write", 8, 40), shop.ErrNoRow)
		wantErr(t, "a decided problem", errOf(problems.Problem(h.ctx, o.ID)), shop.ErrNoRow)
		if n := val(problems.Count(h.ctx))(t); n != 0 || len(val(h.Checking(h.ctx, o.User))(t)) > 0 {
			t.Errorf("%d problems are open after the decision", n)
		}
		found("it holds units again", 50)
		if again := val(problems.Problem(h.ctx, o.ID))(t); again.Text != "it holds units again" {
			t.Errorf("got the problem %+v, want the new reason", again)
		}
	}, 5)
}

// C7: the decision on the refund of an order is also the decision on its problem.
func TestRefundDecisionSettlesTheProblem(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		problems := h.Store.Problems()
		for _, approved := range []bool{false, true} {
			o := refundRequestedOrder(h)
			h.must(problems.Add(h.ctx, []shop.Problem{{Order: o.ID, Sale: o.Sale, User: o.User}}, opens))
			decision := payment.RefundDecision{Order: o.ID, By: 7, Approved: approved, At: opens}
			h.must(errOf(h.DecideRefund(h.ctx, decision)))
			wantErr(t, "a decided problem", errOf(problems.Problem(h.ctx, o.ID)), shop.ErrNoRow)
		}
	}, 10)
}
