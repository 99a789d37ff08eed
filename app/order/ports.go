package order

import (
	"context"

	"stampede/app/shop"
)

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	Sell(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Waiting(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	Buyers(ctx context.Context, sale shop.SaleRef, since shop.BuyersMark) (shop.Buyers, error)
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
	Finish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry) error
	Delivery(ctx context.Context, partition int) (shop.Delivery, error)
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error)
	Expire(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error)
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
	MarkTold(ctx context.Context, told []*shop.Order) error
	Restamp(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	SetToldUntil(ctx context.Context, partition int, at shop.Millis) error
}

// CatalogueStore reads what is offered.
type CatalogueStore interface {
	Version(ctx context.Context) (int64, error)
	SaleIDs(ctx context.Context) ([]shop.ID, error)
	Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	Slot(ctx context.Context, id shop.ID) (shop.Slot, error)
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error)
	SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error)
	SalesByPhase(
		ctx context.Context, phase shop.Phase, now shop.Millis, page, size int,
	) (sales []shop.Sale, more bool, err error)
	Products(ctx context.Context, category shop.ID, page, size int) (products []shop.Product, more bool, err error)
	Product(ctx context.Context, id shop.ID) (shop.Product, error)
	Categories(ctx context.Context) ([]shop.Category, error)
}
