package ports

import (
	"context"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
)

// PaymentStore is the durable truth about money that comes in. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type PaymentStore interface {
	// OpenTrade notes, once, that the gateway is about to be contacted for a pending order of the user, if its time to
	// pay does not end within margin of now. It answers the row as it is then; ErrNoRow: none, or another user's.
	OpenTrade(ctx context.Context, order, user shop.ID, now shop.Millis, margin time.Duration) (shop.Order, error)
	// Receive enters a paid trade once by its number and, in the same transaction, pays a pending order of that amount.
	// Money of an ended order is noted in its row and is late until ReviveLate or Resolve. It returns the order (none
	// for PaymentForeign) and the outcome; a repeat changes nothing, unless the trade was odd before.
	Receive(ctx context.Context, t payment.Trade, now shop.Millis) (shop.Order, payment.PaymentOutcome, error)
	// ReviveLate makes an order that had ended, and whose money came late, paid under the hold number that was claimed
	// for it, takes its units through the guard and settles its payment, in one transaction. ErrNoRow: it is in no such
	// state with that hold. ErrPermanent: no unit is free. ErrStaleEpoch: the sale is not at that epoch any more.
	ReviveLate(ctx context.Context, claimed shop.Order, epoch int64, now shop.Millis) (shop.Order, error)
	// Resolve gives the late payment of an order its final outcome. One that is resolved stays as it is.
	Resolve(ctx context.Context, order shop.ID, outcome payment.PaymentOutcome) error
	// Unresolved lists late payments that came before the instant given, the oldest first, without the first ones.
	Unresolved(ctx context.Context, before shop.Millis, skip, limit int) ([]payment.Received, error)
	// EndTraded sets pending orders, whose trades must be over, to cancelled or expired and returns their units to the
	// guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending. It returns all rows
	// that exist, in their new states.
	EndTraded(ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis) ([]shop.Order, error)
	// ClaimTrades answers trades that are due and puts their next turn off until the instant given, the longest waiting
	// first. Those that can still be paid precede the others, which get an eighth of the limit in any case.
	ClaimTrades(ctx context.Context, now, until shop.Millis, limit int) ([]payment.OpenedTrade, error)
	// CheckTrades sets, at the instant now, when trades are asked about next; 0: never. Settled ones stay as they are.
	CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error
}
