package backoffice

import (
	"context"

	"stampede/app/shop"
)

// CatalogueEditor changes what is offered. Each call raises the catalogue's version.
type CatalogueEditor interface {
	AddCategories(ctx context.Context, categories []shop.Category) error
	AddProducts(ctx context.Context, products []shop.Product) error
	// AddSlots adds slots that overlap no other one; a slot with the same window is left as it is.
	AddSlots(ctx context.Context, slots []shop.Slot) error
	// AddSales adds sales; their partition, limit, cap and window must be set (a zero window is the slot's).
	AddSales(ctx context.Context, sales []shop.Sale) error
}
