package payment

import (
	"fmt"
	"slices"
	"time"

	"stampede/app/shop"
)

// RefundState is the state of a refund.
type RefundState string

// The states of a refund:
//
//	RefundRequested ──▶ RefundOpen ──▶ RefundDone    (approved by the policy or an operator)
//	  │  ▲            │ ▲
//	  ▼  │            ▼ │
//	RefundDeclined  RefundStuck                  (refused by the gateway; an operator may retry)
const (
	RefundRequested RefundState = "requested" // requested by the buyer; an operator decides, the order stays unchanged
	RefundOpen      RefundState = "open"      // approved, the order is refunding; the gateway has to pay
	RefundStuck     RefundState = "stuck"     // the gateway refuses; only an operator can continue
	RefundDone      RefundState = "done"      // the gateway has paid, the order is refunded
	RefundDeclined  RefundState = "declined"  // declined by an operator; the buyer may request again
)

// Valid reports whether s is one of these states.
func (s RefundState) Valid() bool {
	return slices.Contains([]RefundState{RefundRequested, RefundOpen, RefundStuck, RefundDone, RefundDeclined}, s)
}

// Refund is a row of the refunds table. At most one refund of an order is not done; it is for the money that is not
// refunded yet.
type Refund struct {
	Order       shop.ID     `json:"order"`
	Request     string      `json:"request"` // the request number at the gateway
	State       RefundState `json:"state"`
	AmountFen   int64       `json:"amount_fen"`
	Reason      string      `json:"reason"` // a code of the program, or the buyer's text
	RequestedBy shop.ID     `json:"requested_by,omitempty"`
	RequestedAt shop.Millis `json:"requested_at"`
	DecidedBy   shop.ID     `json:"decided_by,omitempty"` // an operator; 0: the policy
	DecidedAt   shop.Millis `json:"decided_at,omitempty"`
	DoneAt      shop.Millis `json:"done_at,omitempty"`
	Attempts    int         `json:"attempts"`
	NextAt      shop.Millis `json:"next_at,omitempty"` // time of the next gateway call; 0: none
	Note        string      `json:"note,omitempty"`    // result of the last attempt, or the operator's note
}

// RefundNumber identifies the n-th refund of an order at the gateway, from 1, so that neither a crash nor a second node
// refunds twice.
func RefundNumber(order shop.ID, n int) string {
	if n == 1 {
		return "R" + order.String()
	}
	return fmt.Sprintf("R%s-%d", order, n)
}

// Reasons in the row of an order about its refund, shown to the buyer.
const (
	ReasonRefundRequested = "refund_asked"    // the buyer requested a refund, an operator decides
	ReasonRefundDeclined  = "refund_declined" // an operator declined the refund
	ReasonRefundBuyer     = "refund_by_buyer" // refunded at the buyer's request
	ReasonRefundShop      = "refund_by_shop"  // refunded by an operator
)

// BuyerRefundRequest is a buyer's request for a refund.
type BuyerRefundRequest struct {
	Order shop.ID
	User  shop.ID
	Text  string // the buyer's text
	At    shop.Millis
	// Approved: the policy refunds the order at once, if it is paid.
	Approved bool
}

// RefundDecision is the decision of an operator on the refund of an order.
type RefundDecision struct {
	Order    shop.ID
	By       shop.ID // the operator; 0: the command line
	Approved bool    // false: the request is declined
	Note     string
	At       shop.Millis
}

// RefundsQuery pages through refunds, newest orders first.
type RefundsQuery struct {
	State  RefundState // "": all
	Before string      // request number of the last refund of the previous page; "": from the newest
	Limit  int         // 1–100
}

// RefundBacklog counts the refunds that wait for an operator (new requests, stuck) or for the gateway (open).
type RefundBacklog struct {
	Requested, Open, Stuck int64
	Oldest                 shop.Millis // time since which the oldest open refund waits; 0: no open refund
}

const (
	firstRefundPause = 15 * time.Second // longer than two gateway calls, so that no other node sends the same refund
	lastRefundPause  = 10 * time.Minute
)

// RefundPause returns the pause after an attempt; attempts count from 1.
func RefundPause(attempt int) time.Duration {
	pause := firstRefundPause
	for ; attempt > 1 && pause < lastRefundPause; attempt-- {
		pause *= 2
	}
	return min(pause, lastRefundPause)
}
