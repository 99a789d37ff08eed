package ports

import (
	"context"
	"net/url"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Gateway is the payment provider. All calls but Notified contact it; each ends within the adapter's timeout, and
// an error that wraps ErrTransient means that the outcome is unknown.
type Gateway interface {
	// Pay answers where the buyer pays. Ways that need no call of ours (page, wap, app) only sign; QR asks the gateway.
	Pay(ctx context.Context, r payment.PayRequest) (payment.Payment, error)
	// Query reads a trade. TradeAbsent, and no error, when the gateway has none.
	Query(ctx context.Context, order shop.ID) (payment.Trade, error)
	// Close ends an unpaid trade and answers it as it is then: closed, absent, or paid because the buyer was faster.
	Close(ctx context.Context, order shop.ID) (payment.Trade, error)
	// Refund gives money back. nil: the gateway has done it, now or under the same request before.
	Refund(ctx context.Context, r payment.RefundRequest) error
	// Refunded asks whether a refund was done.
	Refunded(ctx context.Context, r payment.RefundRequest) (bool, error)
	// Notified verifies signature, app and seller of a notification and returns its trade, or ErrForged. Order, amount
	// and state are the flow's to check. It makes no outgoing call.
	Notified(form url.Values) (payment.Trade, error)
}
