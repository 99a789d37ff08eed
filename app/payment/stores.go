package payment

import (
	"context"
	"net/url"
	"time"

	"stampede/app/shop"
)

// Gateway is the payment provider. All methods except VerifyNotification and most payments of Pay call the provider,
// each within the timeout of the adapter. An error that wraps ErrTransient means that the outcome is unknown.
type Gateway interface {
	Lister
	// Pay returns the address where the buyer pays. ViaPage, ViaWap and ViaApp only sign; ViaQR calls the gateway.
	Pay(ctx context.Context, r PayRequest) (Payment, error)
	// Query reads a trade. If the gateway has no trade, it returns TradeAbsent and no error.
	Query(ctx context.Context, order shop.ID) (Trade, error)
	// Close closes an unpaid trade and returns its state. ErrGatewayRefused: query the state.
	Close(ctx context.Context, order shop.ID) (Trade, error)
	// Refund refunds money. nil: the money is refunded, now or earlier under the same request number.
	Refund(ctx context.Context, r RefundRequest) error
	// Refunded reports whether a refund was done.
	Refunded(ctx context.Context, r RefundRequest) (bool, error)
	// VerifyNotification verifies signature, app and seller of a notification and returns its trade, or ErrForged. It
	// makes no outgoing call. The caller must check order, amount and state.
	VerifyNotification(form url.Values) (Trade, error)
}

// Stock holds and returns the units of sales in Redis, see streams.Stock. Now is the time of Redis.
type Stock interface {
	Now(ctx context.Context) (shop.Millis, error)
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
}

// Trades keeps trades and received payments, see store.Payments. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch
// or ErrNoRow.
type Trades interface {
	OpenTrade(ctx context.Context, order, user shop.ID, now shop.Millis, margin time.Duration) (shop.Order, error)
	Receive(ctx context.Context, t Trade, now shop.Millis) (shop.Order, Outcome, error)
	ReviveLate(ctx context.Context, claimed shop.Order, epoch int64, now shop.Millis) (shop.Order, error)
	Resolve(ctx context.Context, order shop.ID, outcome Outcome) error
	Unresolved(ctx context.Context, before shop.Millis, skip, limit int) ([]ReceivedPayment, error)
	EndTraded(ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis) ([]shop.Order, error)
	ClaimTrades(ctx context.Context, now, until shop.Millis, limit int) ([]OpenedTrade, error)
	CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error
	OrdersOfDay(ctx context.Context, from, to shop.Millis, after shop.ID, limit int) ([]shop.ID, error)
	PaymentsOf(ctx context.Context, orders []shop.ID) ([]ReceivedPayment, error)
}

// Refunds keeps refunds, see store.Refunds.
type Refunds interface {
	BeginRefund(
		ctx context.Context, order shop.ID, from []shop.OrderState, reason string, now shop.Millis,
	) (shop.Order, error)
	RequestRefund(ctx context.Context, request BuyerRefundRequest) (shop.Order, error)
	ClaimRefunds(ctx context.Context, now, decidedBy shop.Millis, limit int) ([]Refund, error)
	RecordRefundAttempt(ctx context.Context, order shop.ID, note string, stuck bool) error
	FinishRefund(ctx context.Context, order shop.ID, now shop.Millis) (shop.Order, error)
	RefundBacklog(ctx context.Context) (RefundBacklog, error)
}

// LostOrders writes what only the gateway still has, see store.LostOrders. A repeat of a call changes nothing.
type LostOrders interface {
	// InsertPaid writes an order that has ended, for a payment without an order.
	InsertPaid(ctx context.Context, o shop.Order, epoch int64) error
	// IsPruned reports whether old orders of the sale were deleted.
	IsPruned(ctx context.Context, sale shop.ID) (bool, error)
	// BookRefund enters a refund that the gateway has made. ErrNoRow: no such order.
	BookRefund(ctx context.Context, r MadeRefund) (shop.Order, error)
	// AnomalyRefunded records that the gateway has refunded an anomaly.
	AnomalyRefunded(ctx context.Context, tradeNo string) error
	// RetryAnomaly schedules the next attempt to refund an anomaly.
	RetryAnomaly(ctx context.Context, tradeNo string, at shop.Millis) error
}

// Orders reads orders and claims holds, see store.Orders.
type Orders interface {
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
	Checking(ctx context.Context, user shop.ID) ([]shop.Order, error)
	ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error)
}
