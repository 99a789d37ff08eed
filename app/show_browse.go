package app

import (
	"context"
	"errors"
	"time"
)

// Slots lists the slots to be shown now, or those of a day of the shop's calendar.
func (f *Storefront) Slots(ctx context.Context, day *time.Time) ([]Slot, error) {
	if day != nil {
		return f.Catalogue.SlotsOfDay(ctx, *day, f.Now())
	}
	return f.Catalogue.Today(ctx, f.Now())
}

// SalesOfSlot lists the sales of a slot with their numbers.
func (f *Storefront) SalesOfSlot(ctx context.Context, slot ID) ([]SaleView, error) {
	sales, err := f.Catalogue.SalesOfSlot(ctx, slot)
	if err != nil {
		return nil, err
	}
	return f.Views(ctx, sales)
}

// SalesByPhase pages through sales; page starts at 1. It warms nothing up: whoever leafs through the future does not
// watch it.
func (f *Storefront) SalesByPhase(ctx context.Context, phase Phase, page, size int) ([]SaleView, bool, error) {
	now := f.Now()
	rows, more, err := f.Catalogue.source.SalesByPhase(ctx, phase, now, page, size)
	if err != nil {
		return nil, false, Unreadable("sales", err)
	}
	sales := pointers(rows)
	counters, err := f.someCounters(ctx, sales)
	if err != nil && AwayOf(err) == nil {
		return nil, false, Unreadable("live numbers", err)
	}
	return f.join(sales, counters, now), more, nil
}

// Products pages through the products of a category, 0 for all; page starts at 1.
func (f *Storefront) Products(ctx context.Context, category ID, page, size int) ([]Product, bool, error) {
	products, more, err := f.Catalogue.source.Products(ctx, category, page, size)
	return products, more, Unreadable("products", err)
}

// Product is one product with description and rules. NotFound when there is none.
func (f *Storefront) Product(ctx context.Context, id ID) (Product, error) {
	product, err := f.Catalogue.source.Product(ctx, id)
	if errors.Is(err, ErrNoRow) {
		return Product{}, Fail(NotFound, "no such product")
	}
	return product, Unreadable("the product", err)
}

// Categories lists all categories in their order.
func (f *Storefront) Categories(ctx context.Context) ([]Category, error) {
	categories, err := f.Catalogue.source.Categories(ctx)
	return categories, Unreadable("categories", err)
}
