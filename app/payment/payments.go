package payment

import (
	"slices"

	"stampede/app/shop"
)

// Outcome is the effect of money that the gateway reported as received.
type Outcome string

// The outcomes. Anomalies change nothing: an operator must check and refund them.
const (
	OutcomeTaken     Outcome = "taken"     // the payment was accepted for the order
	OutcomeLate      Outcome = "late"      // the money arrived after the order had ended; the order is not resolved yet
	OutcomeRevived   Outcome = "revived"   // the money arrived late, and the order became paid
	OutcomeRefunding Outcome = "refunding" // an operator refunds an anomaly; the gateway has to pay
	OutcomeRefunded  Outcome = "refunded"  // the money arrived too late, or was an anomaly, and is refunded

	OutcomeUnknownOrder Outcome = "unknown_order" // the order does not exist
	OutcomeWrongAmount  Outcome = "wrong_amount"  // the payment and the order have different amounts
	OutcomeSecondTrade  Outcome = "second_trade"  // another trade has paid the order
	OutcomeNeverPayable Outcome = "never_payable" // the order was refused, so no payment can have been opened
)

// Valid reports whether o is one of these outcomes.
func (o Outcome) Valid() bool {
	return slices.Contains([]Outcome{
		OutcomeTaken, OutcomeLate, OutcomeRevived, OutcomeRefunding, OutcomeRefunded,
	}, o) || o.IsAnomaly()
}

// IsAnomaly reports whether an operator must check the payment.
func (o Outcome) IsAnomaly() bool { return slices.Contains(Anomalies, o) }

// Anomalies are the outcomes of payments that an operator must check.
var Anomalies = []Outcome{OutcomeUnknownOrder, OutcomeWrongAmount, OutcomeSecondTrade, OutcomeNeverPayable}

// ReceivedPayment is a row of the payments table: one trade that the gateway reported as paid.
type ReceivedPayment struct {
	TradeNo   string      `json:"trade_no"`
	Order     shop.ID     `json:"order"` // from the gateway
	AmountFen int64       `json:"amount_fen"`
	PaidAt    shop.Millis `json:"paid_at"` // by the gateway's clock
	SeenAt    shop.Millis `json:"seen_at"`
	Outcome   Outcome     `json:"outcome"`
}

// OpenedTrade is an order for which the gateway may have a trade.
type OpenedTrade struct {
	Order     shop.ID
	OpenedAt  shop.Millis
	ExpiresAt shop.Millis // after this instant the gateway accepts no money for the trade
	DueAt     shop.Millis // time at which the query of the trade was due
}
