package admission

import (
	"context"

	"stampede/app/shop"
)

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
