package payment

import (
	"context"
	"errors"
	"unicode/utf8"

	"stampede/app/order"
	"stampede/app/shop"
)

// RefundPolicy selects who decides on buyers' requests.
type RefundPolicy string

const (
	// RefundAuto refunds a paid order at once. An operator decides on shipped orders, because the goods are on their
	// way.
	RefundAuto RefundPolicy = "auto"
	// RefundByOperator leaves every decision to an operator.
	RefundByOperator RefundPolicy = "operator"
)

// MaxRefundText is the maximum length of a reason or note, in characters.
const MaxRefundText = 200

// RefundRequests accepts the refund requests of buyers. The Refunder executes the refunds.
type RefundRequests struct {
	Policy  RefundPolicy
	Stock   Stock
	Refunds Refunds
	Effects *order.Effects
}

// RequestRefund requests the refund of a paid or shipped order. It returns the new state of the order: refunding, or
// unchanged with ReasonRefundRequested while an operator decides. A repeat changes nothing. NotFound: the order belongs
// to another user or does not exist. WrongState: the order is unpaid or finished.
func (r *RefundRequests) RequestRefund(ctx context.Context, user, order shop.ID, text string) (shop.OrderState, error) {
	switch {
	case text == "":
		return "", shop.Fail(shop.BadRequest, "reason is missing")
	case utf8.RuneCountInString(text) > MaxRefundText:
		return "", shop.Failf(shop.BadRequest, "reason is longer than %d characters", MaxRefundText)
	case !shop.Printable(text):
		return "", shop.Fail(shop.BadRequest, "reason contains characters that cannot be stored")
	}
	now, err := r.Stock.Now(ctx)
	if err != nil {
		return "", shop.Unavailable("Redis time", err)
	}
	row, err := r.Refunds.RequestRefund(ctx, BuyerRefundRequest{
		Order: order, User: user, Text: text, At: now, Approved: r.Policy == RefundAuto,
	})
	if errors.Is(err, shop.ErrNoRow) {
		return "", shop.Fail(shop.NotFound, "no such order")
	}
	if err != nil {
		return "", shop.UnknownOutcome("request the refund of order "+order.String(), err)
	}
	if err := r.Effects.Do(ctx, now, &row); err != nil {
		return "", shop.UnknownOutcome("publish the refund of order "+order.String(), err)
	}
	switch row.State {
	case shop.Paid, shop.Shipped, shop.Refunding, shop.Refunded:
		return row.State, nil
	default:
		return "", shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
}
