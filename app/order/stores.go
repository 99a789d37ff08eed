package order

import (
	"context"

	"stampede/app/shop"
)

// Stock is the stock of the sales in Redis, with their holds. Now is the time of Redis. Every write carries the
// partition's epoch and fails with ErrStaleEpoch if Redis has another epoch.
type Stock interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	Sell(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Buyers(ctx context.Context, sale shop.SaleRef, since shop.BuyersMark) (shop.Buyers, error)
}

// Queue has the reservations that wait for their rows, and the deadlines of orders.
type Queue interface {
	Waiting(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
	Finish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry) error
	Delivery(ctx context.Context, partition int) (shop.Delivery, error)
}

// Store is the durable state of orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or ErrNoRow.
type Store interface {
	Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error)
	Expire(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error)
	SetAddress(ctx context.Context, order, user shop.ID, address shop.Address, now shop.Millis) (shop.Order, error)
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	Checking(ctx context.Context, user shop.ID) ([]shop.Order, error)
	Trail(ctx context.Context, order, user shop.ID) (shop.Trail, error)
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
	MarkPublished(ctx context.Context, marked []*shop.Order) error
	Touch(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}
