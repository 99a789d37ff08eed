package app

import "context"

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

// RefundNumber is the number under which the gateway knows the refund of an order. It depends on nothing but the order,
// so that no crash and no second node can make two refunds of one.
func RefundNumber(order ID) string { return "R" + order.String() }

// Reasons in the row of an order that its buyer reads, about its refund.
const (
	ReasonRefundAsked    = "refund_asked"    // the buyer wants the money back, an operator decides
	ReasonRefundDeclined = "refund_declined" // an operator said no
	ReasonRefundBuyer    = "refund_by_buyer" // the buyer gets the money back, having asked for it
	ReasonRefundShop     = "refund_by_shop"  // an operator gives the money back
)

// RefundBook is the durable truth about refunds. Errors wrap ErrMoment, ErrData or ErrNoRow.
type RefundBook interface {
	// BeginRefund flips an order that is in one of the states given to refunding, with the reason that its buyer reads,
	// and enters its refund under the request number, in one transaction. The same request again answers the order as
	// it is. ErrNoRow: there is no such order, or it is in no such state.
	//
	// A paid or shipped order keeps its units. Late money, of an order that had ended before, holds none.
	BeginRefund(ctx context.Context, order ID, from []OrderState, request, reason string, now Millis) (Order, error)
}
