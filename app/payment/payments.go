package payment

import (
	"slices"

	"stampede/app/shop"
)

// PaymentOutcome is what became of money that the gateway says it took.
type PaymentOutcome string

// The outcomes. From PaymentForeign on they are oddities: nothing changes by them, and people have to look.
const (
	PaymentTaken    PaymentOutcome = "taken"    // the order is paid by it
	PaymentLate     PaymentOutcome = "late"     // the order had ended; it is not resolved yet
	PaymentRevived  PaymentOutcome = "revived"  // it came late, and the order is paid by it all the same
	PaymentRefunded PaymentOutcome = "refunded" // it came too late: it is given back, see the refund

	PaymentForeign PaymentOutcome = "unknown_order" // there is no such order
	PaymentAmount  PaymentOutcome = "wrong_amount"  // it is not what the order costs
	PaymentSecond  PaymentOutcome = "second_trade"  // another trade has paid the order
	PaymentNever   PaymentOutcome = "never_payable" // the order was refused, no payment can have been opened
)

// Known reports whether it is one of these.
func (o PaymentOutcome) Known() bool {
	return slices.Contains([]PaymentOutcome{
		PaymentTaken, PaymentLate, PaymentRevived, PaymentRefunded, PaymentForeign, PaymentAmount, PaymentSecond,
		PaymentNever,
	}, o)
}

// Odd reports whether people have to look.
func (o PaymentOutcome) Odd() bool {
	return o != PaymentTaken && o != PaymentLate && o != PaymentRevived && o != PaymentRefunded
}

// Received is a row of the payments table: one trade that the gateway says was paid.
type Received struct {
	TradeNo   string         `json:"trade_no"`
	Order     shop.ID        `json:"order"` // as the gateway names it
	AmountFen int64          `json:"amount_fen"`
	PaidAt    shop.Millis    `json:"paid_at"` // by the gateway's clock
	SeenAt    shop.Millis    `json:"seen_at"`
	Outcome   PaymentOutcome `json:"outcome"`
}

// OpenedTrade is an order for which the gateway may have been contacted.
type OpenedTrade struct {
	Order     shop.ID
	OpenedAt  shop.Millis
	ExpiresAt shop.Millis // after it the gateway takes no money for this trade
	DueAt     shop.Millis // when it was to be asked about
}
