package payment

import (
	"context"
	"net/url"
	"time"

	"stampede/app/shop"
)

// Gateway is the payment provider. All calls but Notified contact it; each ends within the adapter's timeout, and
// an error that wraps ErrTransient means that the outcome is unknown.
type Gateway interface {
	// Pay answers where the buyer pays. Ways that need no call of ours (page, wap, app) only sign; QR asks the gateway.
	Pay(ctx context.Context, r PayRequest) (Payment, error)
	// Query reads a trade. TradeAbsent, and no error, when the gateway has none.
	Query(ctx context.Context, order shop.ID) (Trade, error)
	// Close ends an unpaid trade and answers it as it is then: closed, absent, or paid because the buyer was faster.
	Close(ctx context.Context, order shop.ID) (Trade, error)
	// Refund gives money back. nil: the gateway has done it, now or under the same request before.
	Refund(ctx context.Context, r RefundRequest) error
	// Refunded asks whether a refund was done.
	Refunded(ctx context.Context, r RefundRequest) (bool, error)
	// Notified verifies signature, app and seller of a notification and returns its trade, or ErrForged. Order, amount
	// and state are the flow's to check. It makes no outgoing call.
	Notified(form url.Values) (Trade, error)
}

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	// Now is Redis TIME, the clock that decides windows and deadlines (I10). Its error is ErrTransient: callers name
	// it.
	Now(ctx context.Context) (shop.Millis, error)
	// Return gives units back, all in the fewest calls; a second return of the same (order, hold) does
	// nothing. The result tells which ones did something. A PartitionsAway: those of its partitions may be as before.
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	// Hold takes units for an existing order (see HoldRequest). Taking the same (order, hold) twice changes nothing.
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
	// Waiting lists the reservations of the user that are not settled yet, over all partitions. A PartitionsAway beside
	// them: there may be more in those partitions.
	Waiting(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
}

// PaymentStore is the durable truth about money that comes in. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type PaymentStore interface {
	// OpenTrade notes, once, that the gateway is about to be contacted for a pending order of the user, if its time to
	// pay does not end within margin of now. It answers the row as it is then; ErrNoRow: none, or another user's.
	OpenTrade(ctx context.Context, order, user shop.ID, now shop.Millis, margin time.Duration) (shop.Order, error)
	// Receive enters a paid trade once by its number and, in the same transaction, pays a pending order of that amount.
	// Money of an ended order is noted in its row and is late until ReviveLate or Resolve. It returns the order (none
	// for PaymentForeign) and the outcome; a repeat changes nothing, unless the trade was odd before.
	Receive(ctx context.Context, t Trade, now shop.Millis) (shop.Order, PaymentOutcome, error)
	// ReviveLate makes an order that had ended, and whose money came late, paid under the hold number that was claimed
	// for it, takes its units through the guard and settles its payment, in one transaction. ErrNoRow: it is in no such
	// state with that hold. ErrPermanent: no unit is free. ErrStaleEpoch: the sale is not at that epoch any more.
	ReviveLate(ctx context.Context, claimed shop.Order, epoch int64, now shop.Millis) (shop.Order, error)
	// Resolve gives the late payment of an order its final outcome. One that is resolved stays as it is.
	Resolve(ctx context.Context, order shop.ID, outcome PaymentOutcome) error
	// Unresolved lists late payments that came before the instant given, the oldest first, without the first ones.
	Unresolved(ctx context.Context, before shop.Millis, skip, limit int) ([]Received, error)
	// EndTraded sets pending orders, whose trades must be over, to cancelled or expired and returns their units to the
	// guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending. It returns all rows
	// that exist, in their new states.
	EndTraded(ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis) ([]shop.Order, error)
	// ClaimTrades answers trades that are due and puts their next turn off until the instant given, the longest waiting
	// first. Those that can still be paid precede the others, which get an eighth of the limit in any case.
	ClaimTrades(ctx context.Context, now, until shop.Millis, limit int) ([]OpenedTrade, error)
	// CheckTrades sets, at the instant now, when trades are asked about next; 0: never. Settled ones stay as they are.
	CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	// ClaimHold raises the hold number of an order that is in the state given, so that a new hold can be
	// taken under it, and answers the row. ErrNoRow: it is not in that state. ErrArchived: it is in the archive.
	ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error)
	// Order reads one row. ErrNoRow if there is none.
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	// OrdersByID reads the rows that exist among the ids.
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	// Sale reads one sale with its product. ErrNoRow if there is none.
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
}

// RefundStore is the durable truth about refunds. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type RefundStore interface {
	// BeginRefund flips an order in one of the given states to refunding and enters its refund under the request
	// number, in one transaction. A repeat returns the order. ErrNoRow: no such order in such a state. A paid or
	// shipped order keeps its units; late money holds none.
	BeginRefund(
		ctx context.Context, order shop.ID, from []shop.OrderState, request, reason string, now shop.Millis,
	) (shop.Order, error)
	// AskRefund enters what the buyer of a paid or shipped order wants, and tells so in the order's reason. It answers
	// the row as it is afterwards, changed or not; ErrNoRow if there is none or it is another user's.
	AskRefund(ctx context.Context, ask RefundAsk) (shop.Order, error)
	// DecideRefund flips a paid or shipped order to refunding, or declines what was asked for. A repeat answers the
	// order as it is. ErrNoRow: the order is in no such state, or there is nothing to decline.
	DecideRefund(ctx context.Context, d RefundDecision) (shop.Order, error)
	// ClaimRefunds takes open refunds that are due and counts an attempt. Each comes again after RefundPause, unless it
	// is finished or stuck by then.
	ClaimRefunds(ctx context.Context, now shop.Millis, limit int) ([]Refund, error)
	// NoteRefund keeps what an attempt brought; stuck: the gateway's final no, nothing is tried again.
	NoteRefund(ctx context.Context, order shop.ID, note string, stuck bool) error
	// RetryRefund opens a stuck refund again. ErrNoRow: it is not stuck.
	RetryRefund(ctx context.Context, order shop.ID, now shop.Millis) error
	// FinishRefund flips a refunding order to refunded, its refund to done, and notes it for the back office, in one
	// transaction. A refunded order is answered as it is; ErrNoRow when it is in any other state.
	FinishRefund(ctx context.Context, order shop.ID, now shop.Millis) (shop.Order, error)
	// RefundOf reads the refund of an order. ErrNoRow if it has none.
	RefundOf(ctx context.Context, order shop.ID) (Refund, error)
	// Refunds pages through refunds; more reports whether older ones exist.
	Refunds(ctx context.Context, q RefundsQuery) (refunds []Refund, more bool, err error)
	// RefundBacklog counts what waits.
	RefundBacklog(ctx context.Context) (RefundBacklog, error)
}
