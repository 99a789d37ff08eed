package app

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func (b *refundStore) AskRefund(_ context.Context, ask RefundAsk) (Order, error) {
	if ask.Order != b.order.ID || ask.User != b.order.User {
		return Order{}, ErrNoRow
	}
	if b.order.State == Paid || b.order.State == Shipped {
		b.add("ask")
		b.order.Reason, b.order.Rev, b.order.Stamped = ReasonRefundAsked, b.order.Rev+1, true
	}
	return b.order, b.falls("ask")
}

func (b *refundStore) DecideRefund(_ context.Context, d RefundDecision) (Order, error) {
	if !d.Yes || b.order.State != Paid && b.order.State != Shipped {
		return Order{}, ErrNoRow
	}
	b.add("decide")
	b.order.State, b.order.Reason, b.order.Rev, b.order.Stamped = Refunding, ReasonRefundBuyer, b.order.Rev+1, true
	return b.order, nil
}

func newTestDesk(policy RefundPolicy, state OrderState) (*RefundDesk, *refundStore) {
	tr := &trace{}
	book := &refundStore{oneOrder: &oneOrder{
		trace: tr, order: Order{ID: 1, Sale: 7, User: 9, State: state, Rev: 3, ToldRev: 3},
	}}
	inventory := &fakeInventory{trace: tr, now: 1_000_000}
	return &RefundDesk{
		Policy: policy, Inventory: inventory, Orders: book, Refunds: book,
		Effects: effectsOf(inventory, book, &fakeNotifier{trace: tr}),
		Journal: &Journal{Store: &fakeActs{}},
	}, book
}

// The policy gives back what is not shipped; everything else that is paid waits for an operator, and the buyer hears
// so.
func TestPolicyDecidesOnWhatIsNotShipped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy RefundPolicy
		from   OrderState
		state  OrderState
		code   Code
		steps  []string
	}{
		{RefundAuto, Paid, Refunding, "", []string{"ask", "decide", "sell 1", "tell 1"}},
		{RefundAuto, Shipped, Shipped, "", []string{"ask", "sell 1", "tell 1"}},
		{RefundByOperator, Paid, Paid, "", []string{"ask", "sell 1", "tell 1"}},
		{RefundByOperator, Refunding, Refunding, "", nil},
		{RefundAuto, Refunded, Refunded, "", nil},
		{RefundAuto, Pending, "", WrongState, nil},
		{RefundAuto, Expired, "", WrongState, nil},
		{RefundAuto, Finished, "", WrongState, nil},
	} {
		desk, book := newTestDesk(c.policy, c.from)
		state, err := desk.AskRefund(context.Background(), 9, 1, "too large")
		if state != c.state || (c.code == "") != (err == nil) || err != nil && AsError(err).Code != c.code {
			t.Errorf("%s, %s: %s, %v", c.policy, c.from, state, err)
		}
		wantSteps(t, book.trace, c.steps...)
	}
}

func TestRefundIsForTheBuyerAloneAndNeedsAReason(t *testing.T) {
	t.Parallel()
	desk, book := newTestDesk(RefundAuto, Paid)
	for _, c := range []struct {
		user, order ID
		text        string
		code        Code
	}{
		{8, 1, "mine", NotFound},
		{9, 2, "mine", NotFound},
		{9, 1, "", BadRequest},
		{9, 1, "a\x00b", BadRequest},
		{9, 1, strings.Repeat("长", 201), BadRequest},
	} {
		if _, err := desk.AskRefund(context.Background(), c.user, c.order, c.text); err == nil ||
			AsError(err).Code != c.code {
			t.Errorf("user %s, order %s, %.10q: %v", c.user, c.order, c.text, err)
		}
	}
	wantSteps(t, book.trace)
	book.fail = "ask"
	if _, err := desk.AskRefund(context.Background(), 9, 1, strings.Repeat("长", 200)); AsError(err).Code != Busy ||
		!errors.Is(err, ErrTransient) {
		t.Errorf("unknown outcome: %v", err)
	}
}

func TestDecisionNeedsSomethingToDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from OrderState
		yes  bool
		code Code
	}{
		{Paid, true, ""},
		{Shipped, true, ""},
		{Paid, false, WrongState},
		{Pending, true, WrongState},
		{Finished, true, WrongState},
		{Refunded, false, WrongState},
	} {
		desk, _ := newTestDesk(RefundByOperator, c.from)
		_, err := desk.DecideRefund(context.Background(), Actor{User: 5}, 1, c.yes, "")
		if (c.code == "") != (err == nil) || err != nil &&
			AsError(err).Code != c.code {
			t.Errorf("%s, yes %v: %v", c.from, c.yes, err)
		}
	}
}
