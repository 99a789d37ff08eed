package realtime

import (
	"context"

	"stampede/app/admission"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
)

// Chains tell how far the messages of all partitions have come.
type Chains interface {
	ChainEnds(ctx context.Context) ([]shop.ChainEnd, error)
}

// Shop has the functions of the services that ops call. A *shop.Error is sent as it is; any other error becomes
// internal. All are safe for concurrent use.
type Shop struct {
	// Now is the server's clock, close to Redis TIME.
	Now func() shop.Millis
	// Verify checks a token: Unauthorized if it is not valid (any more).
	Verify func(token string) (shop.Identity, error)
	// Revoked reports whether a valid token was revoked, by this node's memory, which is at most a few seconds old.
	Revoked func(who shop.Identity) bool
	// Greet lists the user's reservations that have no row yet.
	Greet func(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	// Watch resolves a slot (0: the current one, unless sales are named) and sales into full snapshots.
	Watch func(ctx context.Context, slot shop.ID, sales []shop.ID) (catalog.WatchView, error)
	// BuyAsync reserves units and calls reply exactly once, at once or from another goroutine; the same (user, sale,
	// key)
	// gives the same order. ctx lasts until then.
	BuyAsync func(ctx context.Context, user shop.ID, req order.BuyRequest, reply func(order.Receipt, error))
	// AskPass returns a pass for a sale or the task before it; SolvePass the pass for a solved task. A pass is valid
	// for the user and address of the question only.
	AskPass   func(ctx context.Context, q admission.PassQuestion) (admission.PassAnswer, error)
	SolvePass func(ctx context.Context, q admission.PassQuestion) (admission.PassAnswer, error)
	// Cancel ends an unpaid order of the user and returns its state.
	Cancel func(ctx context.Context, user, order shop.ID) (shop.OrderState, error)
	// Pay returns where and until when a pending order is paid; repeated calls return the same payment.
	Pay func(ctx context.Context, user, order shop.ID, via payment.PayVia) (payment.Payable, error)
	// AskRefund requests a refund of a paid order and returns its state.
	AskRefund func(ctx context.Context, user, order shop.ID, reason string) (shop.OrderState, error)
	// OrdersOf pages through the user's orders, newest first; more reports whether older ones exist.
	OrdersOf func(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
}

// ChangedOrders reads rows whose messages may have been lost (F5, F6).
type ChangedOrders interface {
	// Clock is the database's clock. ErrTransient: it does not answer.
	Clock(ctx context.Context) (shop.Instant, error)
	// Changed returns for each query at most so many orders, read after the instant. One statement serves many users.
	Changed(ctx context.Context, queries []shop.ChangesQuery, most int) ([]shop.Changes, shop.Instant, error)
}
