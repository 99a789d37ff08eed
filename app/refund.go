package app

import (
	"context"
	"slices"
	"time"
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
	Order     ID          `json:"order"`
	Request   string      `json:"request"` // the number under which the gateway knows it
	State     RefundState `json:"state"`
	AmountFen int64       `json:"amount_fen"`
	Reason    string      `json:"reason"` // a code of the program, or what the buyer wrote
	AskedBy   ID          `json:"asked_by,omitempty"`
	AskedAt   Millis      `json:"asked_at"`
	DecidedBy ID          `json:"decided_by,omitempty"` // an operator; 0: the policy
	DecidedAt Millis      `json:"decided_at,omitempty"`
	DoneAt    Millis      `json:"done_at,omitempty"`
	Attempts  int         `json:"attempts"`
	NextAt    Millis      `json:"next_at,omitempty"` // when the gateway is asked next; 0: it is not
	Note      string      `json:"note,omitempty"`    // what the last attempt or the operator said
}

// RefundNumber identifies the refund of an order at the gateway: no crash and no second node can make two of one.
func RefundNumber(order ID) string { return "R" + order.String() }

// Reasons in the row of an order that its buyer reads, about its refund.
const (
	ReasonRefundAsked    = "refund_asked"    // the buyer wants the money back, an operator decides
	ReasonRefundDeclined = "refund_declined" // an operator said no
	ReasonRefundBuyer    = "refund_by_buyer" // the buyer gets the money back, having asked for it
	ReasonRefundShop     = "refund_by_shop"  // an operator gives the money back
)

// RefundAsk is a buyer's wish to have the money back.
type RefundAsk struct {
	Order ID
	User  ID
	Text  string // what the buyer wrote
	At    Millis
}

// RefundDecision is an operator's word, or the policy's, on an order that is paid.
type RefundDecision struct {
	Order ID
	By    ID   // the operator; 0: the policy
	Yes   bool // no: what was asked for is declined
	Note  string
	At    Millis
}

// RefundsQuery pages through refunds, newest orders first.
type RefundsQuery struct {
	State  RefundState // "": all
	Before ID          // 0: from the newest
	Limit  int         // 1–100
}

// RefundBacklog is what waits: for people (asked, stuck) or for the gateway (open).
type RefundBacklog struct {
	Asked, Open, Stuck int64
	Oldest             Millis // since when the oldest open one waits; 0: none is open
}

// RefundStore is the durable truth about refunds. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type RefundStore interface {
	// BeginRefund flips an order in one of the given states to refunding and enters its refund under the request
	// number, in one transaction. A repeat returns the order. ErrNoRow: no such order in such a state. A paid or
	// shipped order keeps its units; late money holds none.
	BeginRefund(ctx context.Context, order ID, from []OrderState, request, reason string, now Millis) (Order, error)
	// AskRefund enters what the buyer of a paid or shipped order wants, and tells so in the order's reason. It answers
	// the row as it is afterwards, changed or not; ErrNoRow if there is none or it is another user's.
	AskRefund(ctx context.Context, ask RefundAsk) (Order, error)
	// DecideRefund flips a paid or shipped order to refunding, or declines what was asked for. A repeat answers the
	// order as it is. ErrNoRow: the order is in no such state, or there is nothing to decline.
	DecideRefund(ctx context.Context, d RefundDecision) (Order, error)
	// ClaimRefunds takes open refunds that are due and counts an attempt. Each comes again after RefundPause, unless it
	// is finished or stuck by then.
	ClaimRefunds(ctx context.Context, now Millis, limit int) ([]Refund, error)
	// NoteRefund keeps what an attempt brought; stuck: the gateway's final no, nothing is tried again.
	NoteRefund(ctx context.Context, order ID, note string, stuck bool) error
	// RetryRefund opens a stuck refund again. ErrNoRow: it is not stuck.
	RetryRefund(ctx context.Context, order ID, now Millis) error
	// FinishRefund flips a refunding order to refunded, its refund to done, and notes it for the back office, in one
	// transaction. A refunded order is answered as it is; ErrNoRow when it is in any other state.
	FinishRefund(ctx context.Context, order ID, now Millis) (Order, error)
	// RefundOf reads the refund of an order. ErrNoRow if it has none.
	RefundOf(ctx context.Context, order ID) (Refund, error)
	// Refunds pages through refunds; more reports whether older ones exist.
	Refunds(ctx context.Context, q RefundsQuery) (refunds []Refund, more bool, err error)
	// RefundBacklog counts what waits.
	RefundBacklog(ctx context.Context) (RefundBacklog, error)
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
