package catalog

import (
	"context"
	"errors"
	"time"

	"stampede/app/shop"
)

// Slots lists the slots to show now, or those of a day in the shop's time zone.
func (st *Storefront) Slots(ctx context.Context, day *time.Time) ([]shop.Slot, error) {
	if day != nil {
		return st.Catalogue.SlotsOfDay(ctx, *day, st.Clock.Now())
	}
	return st.Catalogue.Today(ctx, st.Clock.Now())
}

// SalesOfSlot lists the sales of a slot with their counters.
func (st *Storefront) SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.SaleView, error) {
	sales, err := st.Catalogue.SalesOfSlot(ctx, slot)
	if err != nil {
		return nil, err
	}
	return st.Views(ctx, sales)
}

// SalesByPhase lists one page of sales; page starts at 1. It does not warm up sales, because a reader of these pages
// does not watch the sales.
func (st *Storefront) SalesByPhase(
	ctx context.Context, phase shop.Phase, page, size int,
) ([]shop.SaleView, bool, error) {
	now := st.Clock.Now()
	rows, more, err := st.Catalogue.sales.SalesByPhase(ctx, phase, now, page, size)
	if err != nil {
		return nil, false, shop.Unavailable("sales", err)
	}
	sales := shop.Pointers(rows)
	counters, err := st.readCounters(ctx, sales)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, false, shop.Unavailable("live counters", err)
	}
	return st.join(sales, counters, now), more, nil
}

// Products lists one page of the products of a category; category 0: all; page starts at 1.
func (st *Storefront) Products(ctx context.Context, category shop.ID, page, size int) ([]shop.Product, bool, error) {
	products, more, err := st.Catalogue.catalogue.Products(ctx, category, page, size)
	return products, more, shop.Unavailable("products", err)
}

// Product returns one product with description and rules. NotFound: no such product.
func (st *Storefront) Product(ctx context.Context, id shop.ID) (shop.Product, error) {
	product, err := st.Catalogue.catalogue.Product(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Product{}, shop.Fail(shop.NotFound, "no such product")
	}
	return product, shop.Unavailable("the product", err)
}

// Categories lists all categories in their order.
func (st *Storefront) Categories(ctx context.Context) ([]shop.Category, error) {
	categories, err := st.Catalogue.catalogue.Categories(ctx)
	return categories, shop.Unavailable("categories", err)
}
