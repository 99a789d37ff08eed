package realtime

import (
	"context"

	"stampede/app"
)

// Shop is what the ops of a socket ask for. Errors that carry an app.Error are answered in its words; any
// other one is answered as internal. Implementations must be safe for concurrent use.
type Shop interface {
	// Now is the server's clock, close to Redis TIME.
	Now() app.Millis
	// Verify checks a token: Unauthorized when it is not valid (any more).
	Verify(token string) (app.Identity, error)
	// Revoked reports whether a token that was good does not count any more, before its end. It looks into the memory
	// of this node, which is at most a few seconds old.
	Revoked(who app.Identity) bool
	// Greet lists the user's reservations that have no row yet.
	Greet(ctx context.Context, user app.ID) ([]app.Reservation, error)
	// Watch resolves a slot (0: the current one, unless sales are named) and sales into full snapshots.
	Watch(ctx context.Context, slot app.ID, sales []app.ID) (app.WatchView, error)
	// BuyThen reserves units and tells then what came of it, exactly once, at once or from another goroutine; the same
	// (user, sale, key) gives the same order. ctx lasts until then.
	BuyThen(ctx context.Context, user app.ID, req app.BuyRequest, then func(app.Receipt, error))
	// AskPass answers a pass for a sale, or the task that stands before it; SolvePass the pass for a solved task.
	// Passes are for who the question says, and nobody else.
	AskPass(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error)
	SolvePass(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error)
	// Cancel ends an order of the user that is not paid, and answers the state it has then.
	Cancel(ctx context.Context, user, order app.ID) (app.OrderState, error)
	// Pay answers where the buyer pays a pending order, and until when. Asked again, it answers the same payment.
	Pay(ctx context.Context, user, order app.ID, via app.PayVia) (app.Payable, error)
	// AskRefund asks for the money of a paid order back, and answers the state that the order has then.
	AskRefund(ctx context.Context, user, order app.ID, reason string) (app.OrderState, error)
	// OrdersOf pages through the user's orders, newest first; more reports whether older ones exist.
	OrdersOf(ctx context.Context, q app.OrdersQuery) (orders []app.Order, more bool, err error)
}
