package backoffice

import (
	"context"

	"stampede/app/board"
	"stampede/app/payment"
	"stampede/app/shop"
)

// SaleFiguresStore keeps what the processes have counted of each sale, for SaleFiguresLife after the last word.
type SaleFiguresStore interface {
	SaleFigures(ctx context.Context, sale shop.ID) ([]board.SaleFigures, error)
}

// UserStore is the durable truth about accounts. Errors wrap ErrTransient, ErrPermanent, ErrNoRow or ErrTaken. E-mails
// are given as ParseEmail of package account made them.
type UserStore interface {
	UserByID(ctx context.Context, id shop.ID) (shop.User, error)
	UserByEmail(ctx context.Context, email string) (shop.User, error)
	SetRole(ctx context.Context, id shop.ID, role shop.Role) error
}

// DeviceStore is the durable truth about log ins, and about access tokens that no longer count.
type DeviceStore interface {
	DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error)
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
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
	LoadedSales(ctx context.Context, partition int) ([]shop.Sale, error)
}
