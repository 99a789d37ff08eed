package privacy

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Store is what this package needs of the database, see store.Store. Errors wrap ErrTransient, ErrPermanent or
// ErrNoRow.
type Store interface {
	UserByID(ctx context.Context, id shop.ID) (shop.User, error)
	DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error)
	AddressesOf(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error)
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
	RefundOf(ctx context.Context, order shop.ID) (payment.Refund, error)
	Erase(ctx context.Context, user shop.ID, proven *shop.User, now, guestUntil shop.Millis) error
	ClaimErasures(ctx context.Context, now shop.Millis, limit int) ([]Erasure, error)
	BlankAddresses(ctx context.Context, user shop.ID) (blanked, left int64, err error)
	PlanErasure(ctx context.Context, user shop.ID, next shop.Millis) error
}
