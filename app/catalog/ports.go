package catalog

import (
	"context"

	"stampede/app/shop"
)

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Create(ctx context.Context, epoch int64, s shop.SaleState) error
	Arm(ctx context.Context, epoch int64, sale shop.SaleRef) error
	SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
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
