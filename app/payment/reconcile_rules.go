package payment

import (
	"fmt"
	"slices"

	"stampede/app/shop"
)

// payDayCase has the records of both sides for one order.
type payDayCase struct {
	order    shop.ID
	trade    Trade
	queryErr error
	row      *shop.Order // nil: the order does not exist
	payments []ReceivedPayment
}

// received reports whether the gateway received money, even if it was refunded later.
func (c *payDayCase) received() bool {
	return c.queryErr == nil && (c.trade.State == TradePaid || c.trade.RefundedFen > 0)
}

// paidAt returns when the gateway received the money: the time that the gateway reports, else the time in the payments
// row, else the time when the trade was opened. Each trade has exactly one such instant, so the sums of all days are
// complete.
func (c *payDayCase) paidAt() shop.Millis {
	if c.trade.PaidAt != 0 {
		return c.trade.PaidAt
	}
	for _, p := range c.payments {
		if p.TradeNo == c.trade.No {
			return p.PaidAt
		}
	}
	if c.row != nil {
		return c.row.TradeOpened
	}
	return 0
}

// differences returns the differences between the shop and the gateway; nil if they agree.
func (c *payDayCase) differences() []PayDifference {
	var out []PayDifference
	addDifference := func(kind, format string, args ...any) {
		out = append(out, PayDifference{Order: c.order, Kind: kind, Message: fmt.Sprintf(format, args...)})
	}
	if c.queryErr != nil {
		addDifference("unanswered", "the gateway did not reply: %v", c.queryErr)
		return out
	}
	for _, p := range c.payments {
		if isOdd(p) {
			addDifference("odd", "trade %s of %s yuan is recorded as %s", p.TradeNo, shop.FormatFen(p.AmountFen), p.Outcome)
		}
	}
	c.comparePayments(addDifference)
	c.compareOrder(addDifference)
	return out
}

func (c *payDayCase) odd() bool { return slices.ContainsFunc(c.payments, isOdd) }

// isOdd reports whether an operator has to check or to refund the payment, or its refund is not made yet.
func isOdd(p ReceivedPayment) bool { return p.Outcome.IsAnomaly() || p.Outcome == OutcomeRefunding }

// comparePayments compares the payments rows with the trade.
func (c *payDayCase) comparePayments(addDifference func(kind, format string, args ...any)) {
	switch {
	case c.received() && len(c.payments) == 0:
		addDifference("not_entered", "the gateway received %s yuan in trade %s, which is not recorded here",
			shop.FormatFen(c.trade.AmountFen), c.trade.No)
	case !c.received() && len(c.payments) > 0:
		addDifference("not_taken", "trade %s of %s yuan is recorded here, but the gateway received nothing",
			c.payments[0].TradeNo, shop.FormatFen(c.payments[0].AmountFen))
	case c.received():
		for _, p := range c.payments {
			if p.TradeNo != c.trade.No {
				addDifference("other_trade", "trade %s is recorded here, the gateway has trade %s", p.TradeNo, c.trade.No)
			} else if p.AmountFen != c.trade.AmountFen {
				addDifference("amount", "%s yuan are recorded here, the gateway received %s", shop.FormatFen(p.AmountFen),
					shop.FormatFen(c.trade.AmountFen))
			}
		}
	}
}

// compareOrder compares the state of the order with the money at the gateway: received, refunded, or never received.
func (c *payDayCase) compareOrder(addDifference func(kind, format string, args ...any)) {
	state := shop.OrderState("unknown to the shop")
	if c.row != nil {
		state = c.row.State
	} else if len(c.payments) > 0 && !c.odd() { // the order was deleted long after its payment was settled
		return
	}
	hasMoney := c.received() && c.trade.RefundedFen == 0
	switch state {
	case shop.Paid, shop.Shipped, shop.Finished:
		if !hasMoney {
			addDifference("order_without_money", "the order is %s, but the gateway has no money for it", state)
		}
	case shop.Refunding:
		// The refund is running: either side may have the money.
	case shop.Refunded:
		if hasMoney {
			addDifference("not_given_back", "the order is refunded, but the gateway still has its money")
		}
	default:
		if hasMoney {
			addDifference("money_without_order", "the gateway has the money, but the order is %s", state)
		}
	}
}
