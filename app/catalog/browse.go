package catalog

import (
	"context"
	"errors"
	"time"

	"stampede/app/shop"
)

// Slots lists the slots to show now, or those of a day in the shop's time zone.
func (f *Storefront) Slots(ctx context.Context, day *time.Time) ([]shop.Slot, error) {
	if day != nil {
		return f.Catalogue.SlotsOfDay(ctx, *day, f.Clock.Now())
	}
	return f.Catalogue.Today(ctx, f.Clock.Now())
}

// SalesOfSlot lists the sales of a slot with their counters.
func (f *Storefront) SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.SaleView, error) {
	sales, err := f.Catalogue.SalesOfSlot(ctx, slot)
	if err != nil {
		return nil, err
	}
	return f.Views(ctx, sales)
}

// SalesByPhase lists one page of sales; page starts at 1. It does not warm up sales, because a reader of these pages
// does not watch the sales.
func (f *Storefront) SalesByPhase(
	ctx context.Context, phase shop.Phase, page, size int,
) ([]shop.SaleView, bool, error) {
	now := f.Clock.Now()
	rows, more, err := f.Catalogue.sales.SalesByPhase(ctx, phase, now, page, size)
	if err != nil {
		return nil, false, shop.Unavailable("sales", err)
	}
	sales := shop.Pointers(rows)
	counters, err := f.readCounters(ctx, sales)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, false, shop.Unavailable("live counters", err)
	}
	return f.join(sales, counters, now), more, nil
}

// Products lists one page of the products of a category; category 0: all; page starts at 1.
func (f *Storefront) Products(ctx context.Context, category shop.ID, page, size int) ([]shop.Product, bool, error) {
	products, more, err := f.Catalogue.catalogue.Products(ctx, category, page, size)
	return products, more, shop.Unavailable("products", err)
}

// Product returns one product with description and rules. NotFound: no such product.
func (f *Storefront) Product(ctx context.Context, id shop.ID) (shop.Product, error) {
	product, err := f.Catalogue.catalogue.Product(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Product{}, shop.Fail(shop.NotFound, "no such product")
	}
	return product, shop.Unavailable("the product", err)
}

// Categories lists all categories in their order.
func (f *Storefront) Categories(ctx context.Context) ([]shop.Category, error) {
	categories, err := f.Catalogue.catalogue.Categories(ctx)
	return categories, shop.Unavailable("categories", err)
}
