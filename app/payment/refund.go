package payment

import (
	"slices"
	"time"

	"stampede/app/shop"
)

// RefundState is how far a refund has come.
type RefundState string

// The states of a refund:
//
//	asked ──▶ open ──▶ done        (by policy, or by an operator's yes)
//	  │  ▲     │ ▲
//	  ▼  │     ▼ │
//	declined  stuck               (the gateway's final no; an operator may try again)
const (
	RefundAsked    RefundState = "asked"    // by the buyer: an operator decides, the order stays as it is
	RefundOpen     RefundState = "open"     // decided, the order is refunding: the gateway is to give the money back
	RefundStuck    RefundState = "stuck"    // the gateway refuses: only people can go on
	RefundDone     RefundState = "done"     // the gateway has given the money back, the order is refunded
	RefundDeclined RefundState = "declined" // an operator said no; the buyer may ask again
)

// Known reports whether it is one of these.
func (s RefundState) Known() bool {
	return slices.Contains([]RefundState{RefundAsked, RefundOpen, RefundStuck, RefundDone, RefundDeclined}, s)
}

// Refund is a row of the refunds table: an order has at most one, of all that was paid.
type Refund struct {
	Order     shop.ID     `json:"order"`
	Request   string      `json:"request"` // the number under which the gateway knows it
	State     RefundState `json:"state"`
	AmountFen int64       `json:"amount_fen"`
	Reason    string      `json:"reason"` // a code of the program, or what the buyer wrote
	AskedBy   shop.ID     `json:"asked_by,omitempty"`
	AskedAt   shop.Millis `json:"asked_at"`
	DecidedBy shop.ID     `json:"decided_by,omitempty"` // an operator; 0: the policy
	DecidedAt shop.Millis `json:"decided_at,omitempty"`
	DoneAt    shop.Millis `json:"done_at,omitempty"`
	Attempts  int         `json:"attempts"`
	NextAt    shop.Millis `json:"next_at,omitempty"` // when the gateway is asked next; 0: it is not
	Note      string      `json:"note,omitempty"`    // what the last attempt or the operator said
}

// RefundNumber identifies the refund of an order at the gateway: no crash and no second node can make two of one.
func RefundNumber(order shop.ID) string { return "R" + order.String() }

// Reasons in the row of an order that its buyer reads, about its refund.
const (
	ReasonRefundAsked    = "refund_asked"    // the buyer wants the money back, an operator decides
	ReasonRefundDeclined = "refund_declined" // an operator said no
	ReasonRefundBuyer    = "refund_by_buyer" // the buyer gets the money back, having asked for it
	ReasonRefundShop     = "refund_by_shop"  // an operator gives the money back
)

// RefundAsk is a buyer's wish to have the money back.
type RefundAsk struct {
	Order shop.ID
	User  shop.ID
	Text  string // what the buyer wrote
	At    shop.Millis
}

// RefundDecision is an operator's word, or the policy's, on an order that is paid.
type RefundDecision struct {
	Order shop.ID
	By    shop.ID // the operator; 0: the policy
	Yes   bool    // no: what was asked for is declined
	Note  string
	At    shop.Millis
}

// RefundsQuery pages through refunds, newest orders first.
type RefundsQuery struct {
	State  RefundState // "": all
	Before shop.ID     // 0: from the newest
	Limit  int         // 1–100
}

// RefundBacklog is what waits: for people (asked, stuck) or for the gateway (open).
type RefundBacklog struct {
	Asked, Open, Stuck int64
	Oldest             shop.Millis // since when the oldest open one waits; 0: none is open
}

const (
	firstRefundPause = 15 * time.Second // longer than two calls of the gateway take, so that nobody sends in between
	lastRefundPause  = 10 * time.Minute
)

// RefundPause is the time between an attempt, counted from 1, and the next one.
func RefundPause(attempt int) time.Duration {
	pause := firstRefundPause
	for ; attempt > 1 && pause < lastRefundPause; attempt-- {
		pause *= 2
	}
	return min(pause, lastRefundPause)
}
