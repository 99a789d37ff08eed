package payment

import (
	"context"
	"errors"
	"unicode/utf8"

	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/shop"
)

// RefundPolicy says who decides on what a buyer asks for.
type RefundPolicy string

const (
	// RefundAuto gives the money of a paid order back at once. What is shipped is on its way to the buyer, so an
	// operator decides on it in any case.
	RefundAuto RefundPolicy = "auto"
	// RefundByOperator leaves every refund to an operator.
	RefundByOperator RefundPolicy = "operator"
)

// longestRefundText is how much a buyer may write, in characters.
const longestRefundText = 200

// RefundDesk is where buyers ask for their money and operators decide. The Refunder does the rest.
type RefundDesk struct {
	Policy  RefundPolicy
	Redis   Redis
	Store   Store
	Effects *order.Effects
	Journal *journal.Journal // of what operators decide
}

// AskRefund is the buyer's wish to have the money of a paid or shipped order back. It answers the state that the order
// has then: refunding, or unchanged with the reason ReasonRefundAsked while an operator decides. Asking again changes
// nothing. Another user's order is NotFound, one that was not paid, or is finished, WrongState.
func (d *RefundDesk) AskRefund(ctx context.Context, user, order shop.ID, text string) (shop.OrderState, error) {
	switch {
	case text == "":
		return "", shop.Fail(shop.BadRequest, "reason is missing")
	case utf8.RuneCountInString(text) > longestRefundText:
		return "", shop.Failf(shop.BadRequest, "reason is longer than %d characters", longestRefundText)
	case !shop.Printable(text):
		return "", shop.Fail(shop.BadRequest, "reason contains characters that cannot be stored")
	}
	now, err := d.Redis.Now(ctx)
	if err != nil {
		return "", shop.Unsettled("read Redis time", err)
	}
	row, err := d.Store.AskRefund(ctx, RefundAsk{Order: order, User: user, Text: text, At: now})
	if errors.Is(err, shop.ErrNoRow) {
		return "", shop.Fail(shop.NotFound, "no such order")
	}
	if err != nil {
		return "", shop.Unsettled("ask for the refund of order "+order.String(), err)
	}
	if d.Policy == RefundAuto && row.State == shop.Paid {
		row, err = d.Store.DecideRefund(ctx, RefundDecision{Order: order, Yes: true, At: now})
		if errors.Is(err, shop.ErrNoRow) {
			return "", shop.Fail(shop.Conflict, "the order changed at the same moment; read it again")
		}
		if err != nil {
			return "", shop.Unsettled("decide on the refund of order "+order.String(), err)
		}
	}
	if err := d.Effects.Do(ctx, now, &row); err != nil {
		return "", shop.Unsettled("tell of the refund of order "+order.String(), err)
	}
	switch row.State {
	case shop.Paid, shop.Shipped, shop.Refunding, shop.Refunded:
		return row.State, nil
	default:
		return "", shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
}

// DecideRefund is an operator's yes or no. A yes also refunds an order for which nobody has asked. NotFound: there is
// no such order. WrongState: it is not paid, or a no meets nothing that was asked for. The journal keeps no more of the
// order than its state, so the answer to the same decision made again is the order as it is then.
func (d *RefundDesk) DecideRefund(
	ctx context.Context, actor journal.Actor, order shop.ID, yes bool, note string,
) (shop.Order, error) {
	if utf8.RuneCountInString(note) > longestRefundText || !shop.Printable(note) {
		return shop.Order{}, shop.Failf(shop.BadRequest, "note must be text of at most %d characters", longestRefundText)
	}
	now, err := d.Redis.Now(ctx)
	if err != nil {
		return shop.Order{}, shop.Unsettled("read Redis time", err)
	}
	decision := RefundDecision{Order: order, By: actor.User, Yes: yes, Note: note, At: now}
	row, err := d.decide(ctx, actor, decision)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Order{}, d.undecidable(ctx, order, yes)
	}
	if err != nil {
		return shop.Order{}, shop.Unsettled("decide on the refund of order "+order.String(), err)
	}
	return row, shop.Unsettled("tell of the refund of order "+order.String(), d.Effects.Do(ctx, now, &row))
}

// decide makes a decision an act.
func (d *RefundDesk) decide(
	ctx context.Context, actor journal.Actor, decision RefundDecision,
) (row shop.Order, err error) {
	done, err := d.Journal.Act(ctx, actor, func(ctx context.Context) (journal.Act, error) {
		before, err := d.Store.Order(ctx, decision.Order)
		if err != nil {
			return journal.Act{}, err
		}
		row, err = d.Store.DecideRefund(ctx, decision)
		act := journal.Act{
			Kind: "refund.decline", Object: "order:" + decision.Order.String(), Note: decision.Note,
			Before: StateOf(&before), After: StateOf(&row),
		}
		if decision.Yes {
			act.Kind = "refund.approve"
		}
		return act, err
	})
	if err == nil && done.Repeated {
		row, err = d.Store.Order(ctx, decision.Order)
	}
	return row, err
}

// StateOf is what the journal may keep of an order.
func StateOf(o *shop.Order) any {
	return struct {
		State  shop.OrderState `json:"state"`
		Reason string          `json:"reason,omitempty"`
		Rev    int             `json:"rev"`
	}{o.State, o.Reason, o.Rev}
}

// undecidable says why a decision met nothing to decide on.
func (d *RefundDesk) undecidable(ctx context.Context, order shop.ID, yes bool) error {
	row, err := d.Store.Order(ctx, order)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return shop.Fail(shop.NotFound, "no such order")
	case err != nil:
		return shop.Unreadable("the order", err)
	case !yes && (row.State == shop.Paid || row.State == shop.Shipped):
		return shop.Fail(shop.WrongState, "nobody asked for a refund that could be declined")
	default:
		return shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
}

// RetryRefund has the gateway asked again for a refund that is stuck.
func (d *RefundDesk) RetryRefund(ctx context.Context, actor journal.Actor, order shop.ID) error {
	now, err := d.Redis.Now(ctx)
	if err != nil {
		return shop.Unsettled("read Redis time", err)
	}
	_, err = d.Journal.Act(ctx, actor, func(ctx context.Context) (journal.Act, error) {
		return journal.Act{
			Kind: "refund.retry", Object: "order:" + order.String(), Before: RefundStuck, After: RefundOpen,
		}, d.Store.RetryRefund(ctx, order, now)
	})
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.WrongState, "the refund of that order is not stuck")
	}
	return shop.Unsettled("try the refund of order "+order.String()+" again", err)
}

// ListRefunds pages through refunds, those of the newest orders first.
func (d *RefundDesk) ListRefunds(ctx context.Context, q RefundsQuery) ([]Refund, bool, error) {
	refunds, more, err := d.Store.Refunds(ctx, q)
	return refunds, more, shop.Unreadable("refunds", err)
}

// AnyOrder reads an order, whosever it is, with its refund, if it has one. NotFound when there is no such order.
func (d *RefundDesk) AnyOrder(ctx context.Context, order shop.ID) (shop.Order, *Refund, error) {
	row, err := d.Store.Order(ctx, order)
	if errors.Is(err, shop.ErrNoRow) {
		return row, nil, shop.Fail(shop.NotFound, "no such order")
	}
	if err != nil {
		return row, nil, shop.Unreadable("the order", err)
	}
	refund, err := d.Store.RefundOf(ctx, order)
	if errors.Is(err, shop.ErrNoRow) {
		return row, nil, nil
	}
	return row, &refund, shop.Unreadable("the refund", err)
}
