package payment

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

func (r *refundStore) RequestRefund(_ context.Context, request BuyerRefundRequest) (shop.Order, error) {
	if request.Order != r.Row.ID || request.User != r.Row.User {
		return shop.Order{}, shop.ErrNoRow
	}
	if r.Row.State == shop.Paid || r.Row.State == shop.Shipped {
		r.Add("request")
		r.Row.Reason, r.Row.Rev, r.Row.Touched = ReasonRefundRequested, r.Row.Rev+1, true
	}
	if request.Approved && r.Row.State == shop.Paid {
		r.Row.State, r.Row.Reason = shop.Refunding, ReasonRefundBuyer
	}
	return r.Row, r.FailAt("request")
}

func newTestRequests(policy RefundPolicy, state shop.OrderState) (*RefundRequests, *refundStore) {
	tr := &fakes.Trace{}
	refunds := &refundStore{OneOrder: &fakes.OneOrder{
		Trace: tr, Row: shop.Order{ID: 1, Sale: 7, User: 9, State: state, Rev: 3, PublishedRev: 3},
	}}
	inventory := &fakes.Redis{Trace: tr, At: 1_000_000}
	return &RefundRequests{
		Policy: policy, Stock: inventory, Refunds: refunds,
		Effects: effectsOf(inventory, refunds, &fakes.Notifier{Trace: tr}),
	}, refunds
}

// The automatic policy refunds unshipped orders. All other paid orders wait for an operator, and the buyer sees this
// state.
func TestAutoPolicyRefundsUnshippedOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy RefundPolicy
		from   shop.OrderState
		state  shop.OrderState
		code   shop.Code
		steps  []string
	}{
		{RefundAuto, shop.Paid, shop.Refunding, "", []string{"request", "sell 1", "publish 1"}},
		{RefundAuto, shop.Shipped, shop.Shipped, "", []string{"request", "sell 1", "publish 1"}},
		{RefundByOperator, shop.Paid, shop.Paid, "", []string{"request", "sell 1", "publish 1"}},
		{RefundByOperator, shop.Refunding, shop.Refunding, "", nil},
		{RefundAuto, shop.Refunded, shop.Refunded, "", nil},
		{RefundAuto, shop.Pending, "", shop.WrongState, nil},
		{RefundAuto, shop.Expired, "", shop.WrongState, nil},
		{RefundAuto, shop.Finished, "", shop.WrongState, nil},
	} {
		requests, refunds := newTestRequests(c.policy, c.from)
		state, err := requests.RequestRefund(context.Background(), 9, 1, "too large")
		if state != c.state || (c.code == "") != (err == nil) || err != nil && shop.AsError(err).Code != c.code {
			t.Errorf("policy %s, %s order: got state %q, error %v; want state %q, code %q", c.policy, c.from, state, err,
				c.state, c.code)
		}
		fakes.WantSteps(t, refunds.Trace, c.steps...)
	}
}

func TestRefundRequestNeedsBuyerAndReason(t *testing.T) {
	t.Parallel()
	requests, refunds := newTestRequests(RefundAuto, shop.Paid)
	for _, c := range []struct {
		user, order shop.ID
		text        string
		code        shop.Code
	}{
		{8, 1, "mine", shop.NotFound},
		{9, 2, "mine", shop.NotFound},
		{9, 1, "", shop.BadRequest},
		{9, 1, "a\x00b", shop.BadRequest},
		{9, 1, strings.Repeat("长", 201), shop.BadRequest},
	} {
		if _, err := requests.RequestRefund(context.Background(), c.user, c.order, c.text); err == nil ||
			shop.AsError(err).Code != c.code {
			t.Errorf("user %s, order %s, text %.10q: got %v, want %s", c.user, c.order, c.text, err, c.code)
		}
	}
	fakes.WantSteps(t, refunds.Trace)
	refunds.FailStep = "request"
	if _, err := requests.RequestRefund(
		context.Background(), 9, 1, strings.Repeat("长", 200),
	); shop.AsError(err).Code != shop.Busy ||
		!errors.Is(err, shop.ErrTransient) {
		t.Errorf("unknown outcome: got %v, want ErrTransient with busy", err)
	}
}
