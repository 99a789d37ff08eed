package realtime

import (
	"context"

	"stampede/app/admission"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
)

// Shop has the service functions that ops call. A *shop.Error is sent to the client unchanged; any other error becomes
// Internal. All functions are safe for concurrent use.
type Shop struct {
	// Now is the server's clock, close to Redis TIME.
	Now func() shop.Millis
	// Verify checks a token. Unauthorized: the token is invalid or expired.
	Verify func(token string) (shop.Identity, error)
	// Revoked reports whether a valid token was revoked. It uses data in this node's memory that is at most a few
	// seconds old.
	Revoked func(who shop.Identity) bool
	// PendingReservations lists the user's reservations that have no row yet.
	PendingReservations func(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	// Watch returns full snapshots of a slot and of single sales. Slot 0 without sales is the current slot. Slot 0 with
	// sales is no slot.
	Watch func(ctx context.Context, slot shop.ID, sales []shop.ID) (catalog.WatchView, error)
	// BuyAsync reserves units. It calls reply exactly once, before it returns or later from another goroutine. The same
	// (user, sale, key) gives the same order. ctx stays valid until reply is called.
	BuyAsync func(ctx context.Context, user shop.ID, req order.BuyRequest, reply func(order.Receipt, error))
	// RequestPass returns a pass for a sale, or the task to solve first. SolvePass returns the pass for a solved task.
	// A pass is valid only for the user and address of its request.
	RequestPass func(ctx context.Context, q admission.PassRequest) (admission.PassResult, error)
	SolvePass   func(ctx context.Context, q admission.PassRequest) (admission.PassResult, error)
	// Cancel ends an unpaid order of the user and returns its state.
	Cancel func(ctx context.Context, user, order shop.ID) (shop.OrderState, error)
	// Pay returns the payment page of a pending order and its deadline. Repeated calls return the same payment.
	Pay func(ctx context.Context, user, order shop.ID, via payment.PayVia) (payment.Payable, error)
	// SetAddress sets the delivery address of an order that is not shipped yet, and returns its state. BadRequest: the
	// address is nil or invalid.
	SetAddress func(ctx context.Context, user, order shop.ID, address *shop.Address) (shop.OrderState, error)
	// RequestRefund requests a refund of a paid order and returns its state.
	RequestRefund func(ctx context.Context, user, order shop.ID, reason string) (shop.OrderState, error)
	// OrdersOf pages through the user's orders, newest first; more reports whether older ones exist.
	OrdersOf func(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
}

// ChangedOrders reads rows when their messages may be lost (F5, F6).
type ChangedOrders interface {
	// Clock returns the time of the database. ErrTransient: the database is unreachable.
	Clock(ctx context.Context) (shop.Instant, error)
	// Changed returns at most limit orders per query, and an instant of the database's clock that was read before the
	// rows. One statement reads the rows of many users.
	Changed(ctx context.Context, queries []shop.ChangesQuery, limit int) ([]shop.Changes, shop.Instant, error)
}
