package payment

import (
	"slices"

	"stampede/app/shop"
)

// Outcome is what became of money that the gateway says it took.
type Outcome string

// The outcomes. From OutcomeForeign on they are oddities: nothing changes by them, and people have to look.
const (
	OutcomeTaken    Outcome = "taken"    // the order is paid by it
	OutcomeLate     Outcome = "late"     // the order had ended; it is not resolved yet
	OutcomeRevived  Outcome = "revived"  // it came late, and the order is paid by it all the same
	OutcomeRefunded Outcome = "refunded" // it came too late: it is given back, see the refund

	OutcomeForeign Outcome = "unknown_order" // there is no such order
	OutcomeAmount  Outcome = "wrong_amount"  // it is not what the order costs
	OutcomeSecond  Outcome = "second_trade"  // another trade has paid the order
	OutcomeNever   Outcome = "never_payable" // the order was refused, no payment can have been opened
)

// Known reports whether it is one of these.
func (o Outcome) Known() bool {
	return slices.Contains([]Outcome{
		OutcomeTaken, OutcomeLate, OutcomeRevived, OutcomeRefunded, OutcomeForeign, OutcomeAmount, OutcomeSecond,
		OutcomeNever,
	}, o)
}

// Odd reports whether people have to look.
func (o Outcome) Odd() bool {
	return o != OutcomeTaken && o != OutcomeLate && o != OutcomeRevived && o != OutcomeRefunded
}

// Received is a row of the payments table: one trade that the gateway says was paid.
type Received struct {
	TradeNo   string      `json:"trade_no"`
	Order     shop.ID     `json:"order"` // as the gateway names it
	AmountFen int64       `json:"amount_fen"`
	PaidAt    shop.Millis `json:"paid_at"` // by the gateway's clock
	SeenAt    shop.Millis `json:"seen_at"`
	Outcome   Outcome     `json:"outcome"`
}

// OpenedTrade is an order for which the gateway may have been contacted.
type OpenedTrade struct {
	Order     shop.ID
	OpenedAt  shop.Millis
	ExpiresAt shop.Millis // after it the gateway takes no money for this trade
	DueAt     shop.Millis // when it was to be asked about
}
