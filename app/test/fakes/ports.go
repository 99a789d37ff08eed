package fakes

import (
	"context"

	"stampede/app/shop"
)

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every write is checked against the partition's
// epoch and fails with ErrStaleEpoch if Redis has another epoch.
type Inventory interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Create(ctx context.Context, epoch int64, s shop.SaleState) error
	Arm(ctx context.Context, epoch int64, sale shop.SaleRef) error
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	Sell(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
	Waiting(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	Buyers(ctx context.Context, sale shop.SaleRef, since shop.BuyersMark) (shop.Buyers, error)
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
	Finish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry) error
	Delivery(ctx context.Context, partition int) (shop.Delivery, error)
	SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error
}

// OrderStore is the source of truth for orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error)
	Expire(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error)
	SetAddress(ctx context.Context, order, user shop.ID, address shop.Address, now shop.Millis) (shop.Order, error)
	ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error)
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
	Trail(ctx context.Context, order, user shop.ID) (shop.Trail, error)
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
	MarkPublished(ctx context.Context, published []*shop.Order) error
	Touch(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}

// CatalogueStore reads slots, sales, products and categories.
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
	MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
}
