package admission

import (
	"context"

	"stampede/app/shop"
)

// CatalogueStore reads what is offered.
type CatalogueStore interface {
	// Version grows with every change of slots, sales and products.
	Version(ctx context.Context) (int64, error)
	// SaleIDs lists the ids of all sales, for the Bloom filter.
	SaleIDs(ctx context.Context) ([]shop.ID, error)
	// Slots lists the slots that overlap [from, to) and are not hidden, in the order of their windows.
	Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	// Slot reads one slot. ErrNoRow if there is none.
	Slot(ctx context.Context, id shop.ID) (shop.Slot, error)
	// Sale reads one sale with its product. ErrNoRow if there is none.
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	// Sales reads those of the sales that there are, with their products, in no order.
	Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error)
	// SalesOfSlot lists the sales of a slot with their products, in the order they are shown.
	SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error)
	// SalesByPhase pages through the sales of a phase at the instant now; page starts at 1.
	SalesByPhase(
		ctx context.Context, phase shop.Phase, now shop.Millis, page, size int,
	) (sales []shop.Sale, more bool, err error)
	// Products pages through the products; category 0 means all.
	Products(ctx context.Context, category shop.ID, page, size int) (products []shop.Product, more bool, err error)
	// Product reads one product with description and rules. ErrNoRow if there is none.
	Product(ctx context.Context, id shop.ID) (shop.Product, error)
	// Categories lists all categories in their order.
	Categories(ctx context.Context) ([]shop.Category, error)
}
