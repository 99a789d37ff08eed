package ports

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
)

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
	AskRefund(ctx context.Context, ask payment.RefundAsk) (shop.Order, error)
	// DecideRefund flips a paid or shipped order to refunding, or declines what was asked for. A repeat answers the
	// order as it is. ErrNoRow: the order is in no such state, or there is nothing to decline.
	DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error)
	// ClaimRefunds takes open refunds that are due and counts an attempt. Each comes again after RefundPause, unless it
	// is finished or stuck by then.
	ClaimRefunds(ctx context.Context, now shop.Millis, limit int) ([]payment.Refund, error)
	// NoteRefund keeps what an attempt brought; stuck: the gateway's final no, nothing is tried again.
	NoteRefund(ctx context.Context, order shop.ID, note string, stuck bool) error
	// RetryRefund opens a stuck refund again. ErrNoRow: it is not stuck.
	RetryRefund(ctx context.Context, order shop.ID, now shop.Millis) error
	// FinishRefund flips a refunding order to refunded, its refund to done, and notes it for the back office, in one
	// transaction. A refunded order is answered as it is; ErrNoRow when it is in any other state.
	FinishRefund(ctx context.Context, order shop.ID, now shop.Millis) (shop.Order, error)
	// RefundOf reads the refund of an order. ErrNoRow if it has none.
	RefundOf(ctx context.Context, order shop.ID) (payment.Refund, error)
	// Refunds pages through refunds; more reports whether older ones exist.
	Refunds(ctx context.Context, q payment.RefundsQuery) (refunds []payment.Refund, more bool, err error)
	// RefundBacklog counts what waits.
	RefundBacklog(ctx context.Context) (payment.RefundBacklog, error)
}
