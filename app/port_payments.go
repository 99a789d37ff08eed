package app

import (
	"context"
	"slices"
	"time"
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
	Order     ID             `json:"order"` // as the gateway names it
	AmountFen int64          `json:"amount_fen"`
	PaidAt    Millis         `json:"paid_at"` // by the gateway's clock
	SeenAt    Millis         `json:"seen_at"`
	Outcome   PaymentOutcome `json:"outcome"`
}

// OpenedTrade is an order for which the gateway may have been contacted.
type OpenedTrade struct {
	Order     ID
	OpenedAt  Millis
	ExpiresAt Millis // after it the gateway takes no money for this trade
	DueAt     Millis // when it was to be asked about
}

// PaymentStore is the durable truth about money that comes in. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type PaymentStore interface {
	// OpenTrade notes, once, that the gateway is about to be contacted for a pending order of the user, if its time to
	// pay does not end within margin of now. It answers the row as it is then; ErrNoRow: none, or another user's.
	OpenTrade(ctx context.Context, order, user ID, now Millis, margin time.Duration) (Order, error)
	// Receive enters a paid trade once by its number and, in the same transaction, pays a pending order of that amount.
	// Money of an ended order is noted in its row and is late until ReviveLate or Resolve. It returns the order (none
	// for PaymentForeign) and the outcome; a repeat changes nothing, unless the trade was odd before.
	Receive(ctx context.Context, t Trade, now Millis) (Order, PaymentOutcome, error)
	// ReviveLate makes an order that had ended, and whose money came late, paid under the hold number that was claimed
	// for it, takes its units through the guard and settles its payment, in one transaction. ErrNoRow: it is in no such
	// state with that hold. ErrPermanent: no unit is free. ErrStaleEpoch: the sale is not at that epoch any more.
	ReviveLate(ctx context.Context, claimed Order, epoch int64, now Millis) (Order, error)
	// Resolve gives the late payment of an order its final outcome. One that is resolved stays as it is.
	Resolve(ctx context.Context, order ID, outcome PaymentOutcome) error
	// Unresolved lists late payments that came before the instant given, the oldest first, without the first ones.
	Unresolved(ctx context.Context, before Millis, skip, limit int) ([]Received, error)
	// EndTraded sets pending orders, whose trades must be over, to cancelled or expired and returns their units to the
	// guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending. It returns all rows
	// that exist, in their new states.
	EndTraded(ctx context.Context, orders []ID, to OrderState, now Millis) ([]Order, error)
	// ClaimTrades answers trades that are due and puts their next turn off until the instant given, the longest waiting
	// first. Those that can still be paid precede the others, which get an eighth of the limit in any case.
	ClaimTrades(ctx context.Context, now, until Millis, limit int) ([]OpenedTrade, error)
	// CheckTrades sets, at the instant now, when trades are asked about next; 0: never. Settled ones stay as they are.
	CheckTrades(ctx context.Context, now Millis, next map[ID]Millis) error
}
