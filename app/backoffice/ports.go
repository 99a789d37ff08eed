package backoffice

import (
	"context"

	"stampede/app/board"
	"stampede/app/payment"
	"stampede/app/shop"
)

// SaleFiguresStore keeps what the processes have counted of each sale, for SaleFiguresLife after the last word.
type SaleFiguresStore interface {
	// SaleFigures answers what all processes have said of a sale.
	SaleFigures(ctx context.Context, sale shop.ID) ([]board.SaleFigures, error)
}

// UserStore is the durable truth about accounts. Errors wrap ErrTransient, ErrPermanent, ErrNoRow or ErrTaken. E-mails
// are given as ParseEmail of package account made them.
type UserStore interface {
	// UserByID reads one account in any state. ErrNoRow: a guest, or nobody.
	UserByID(ctx context.Context, id shop.ID) (shop.User, error)
	// UserByEmail reads the account that has the e-mail, pending or active. ErrNoRow if there is none.
	UserByEmail(ctx context.Context, email string) (shop.User, error)
	// SetRole sets the role of an active account; a change revokes all its devices. ErrNoRow: there is none.
	SetRole(ctx context.Context, id shop.ID, role shop.Role) error
}

// DeviceStore is the durable truth about log ins, and about access tokens that no longer count.
type DeviceStore interface {
	// DevicesOf lists those of a user that are neither revoked nor ended at the instant now, the newest first.
	DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error)
	// RevokeDevices revokes all of a user's but one (0: all), with their access tokens, and answers which.
	RevokeDevices(ctx context.Context, user, except shop.ID) ([]shop.ID, error)
}

// Gateway is the payment provider. All calls but Notified contact it; each ends within the adapter's timeout, and
// an error that wraps ErrTransient means that the outcome is unknown.
type Gateway interface {
	// Query reads a trade. TradeAbsent, and no error, when the gateway has none.
	Query(ctx context.Context, order shop.ID) (payment.Trade, error)
}

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	// Now is Redis TIME, the clock that decides windows and deadlines (I10). Its error is ErrTransient: callers name
	// it.
	Now(ctx context.Context) (shop.Millis, error)
	// Counters reads the numbers of the sales, in the order asked for. A PartitionsAway beside them: of the sales of
	// those partitions only the id is told.
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	// Order reads one row. ErrNoRow if there is none.
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	// OrdersByID reads the rows that exist among the ids.
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	// Sale reads one sale with its product. ErrNoRow if there is none.
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	// PartitionEpoch reads the epoch of a partition and the highest seq that any of its rows has.
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
	// LoadedSales lists the sales of a partition that were loaded and are not retired.
	LoadedSales(ctx context.Context, partition int) ([]shop.Sale, error)
}
