package payment

import (
	"context"
	"errors"
	"unicode/utf8"

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

// LongestRefundText is the longest reason or note, in characters.
const LongestRefundText = 200

// RefundRequests receives the refund requests of buyers. The Refunder pays the money back.
type RefundRequests struct {
	Policy  RefundPolicy
	Redis   Redis
	Store   Store
	Effects *order.Effects
}

// AskRefund is the buyer's wish to have the money of a paid or shipped order back. It returns the state that the order
// has then: refunding, or unchanged with the reason ReasonRefundAsked while an operator decides. Asking again changes
// nothing. Another user's order is NotFound, one that was not paid, or is finished, WrongState.
func (r *RefundRequests) AskRefund(ctx context.Context, user, order shop.ID, text string) (shop.OrderState, error) {
	switch {
	case text == "":
		return "", shop.Fail(shop.BadRequest, "reason is missing")
	case utf8.RuneCountInString(text) > LongestRefundText:
		return "", shop.Failf(shop.BadRequest, "reason is longer than %d characters", LongestRefundText)
	case !shop.Printable(text):
		return "", shop.Fail(shop.BadRequest, "reason contains characters that cannot be stored")
	}
	now, err := r.Redis.Now(ctx)
	if err != nil {
		return "", shop.Unsettled("read Redis time", err)
	}
	row, err := r.Store.AskRefund(ctx, RefundAsk{Order: order, User: user, Text: text, At: now})
	if errors.Is(err, shop.ErrNoRow) {
		return "", shop.Fail(shop.NotFound, "no such order")
	}
	if err != nil {
		return "", shop.Unsettled("ask for the refund of order "+order.String(), err)
	}
	if r.Policy == RefundAuto && row.State == shop.Paid {
		row, err = r.Store.DecideRefund(ctx, RefundDecision{Order: order, Yes: true, At: now})
		if errors.Is(err, shop.ErrNoRow) {
			return "", shop.Fail(shop.Conflict, "the order changed at the same moment; read it again")
		}
		if err != nil {
			return "", shop.Unsettled("decide on the refund of order "+order.String(), err)
		}
	}
	if err := r.Effects.Do(ctx, now, &row); err != nil {
		return "", shop.Unsettled("tell of the refund of order "+order.String(), err)
	}
	switch row.State {
	case shop.Paid, shop.Shipped, shop.Refunding, shop.Refunded:
		return row.State, nil
	default:
		return "", shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
}
