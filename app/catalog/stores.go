package catalog

import (
	"context"

	"stampede/app/shop"
)

// CatalogueStore reads the catalogue version, slots and products, see store.Catalogue.
type CatalogueStore interface {
	Version(ctx context.Context) (int64, error)
	Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	Slot(ctx context.Context, id shop.ID) (shop.Slot, error)
	Products(ctx context.Context, category shop.ID, page, size int) (products []shop.Product, more bool, err error)
	Product(ctx context.Context, id shop.ID) (shop.Product, error)
	Categories(ctx context.Context) ([]shop.Category, error)
}

// SaleStore reads sales and marks them as loaded, see store.Sales.
type SaleStore interface {
	SaleIDs(ctx context.Context) ([]shop.ID, error)
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error)
	SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error)
	SalesByPhase(
		ctx context.Context, phase shop.Phase, now shop.Millis, page, size int,
	) (sales []shop.Sale, more bool, err error)
	MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error
}

// Stock writes sales into Redis and reads their numbers, see streams.Stock. Now is the time of Redis.
type Stock interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Create(ctx context.Context, epoch int64, s shop.SaleState) error
	Arm(ctx context.Context, epoch int64, sale shop.SaleRef) error
	SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error
}
