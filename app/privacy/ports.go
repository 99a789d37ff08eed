package privacy

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
)

// AddressStore is the durable truth about address books. Errors wrap ErrTransient, ErrPermanent or ErrNoRow. No user
// sees or changes another one's.
type AddressStore interface {
	AddressesOf(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error)
}

// UserStore is the durable truth about accounts. Errors wrap ErrTransient, ErrPermanent, ErrNoRow or ErrTaken. E-mails
// are given as ParseEmail of package account made them.
type UserStore interface {
	UserByID(ctx context.Context, id shop.ID) (shop.User, error)
}

// DeviceStore is the durable truth about log ins, and about access tokens that no longer count.
type DeviceStore interface {
	DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error)
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
}

// RefundStore is the durable truth about refunds. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type RefundStore interface {
	RefundOf(ctx context.Context, order shop.ID) (payment.Refund, error)
}
