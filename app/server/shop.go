package server

import (
	"context"
	"errors"
	"time"

	"stampede/app"
	"stampede/app/account"
	"stampede/app/api"
	"stampede/realtime"
)

// shop shows the flows to routes and sockets, which both see the same.
type shop struct {
	*app.Storefront
	checkout *app.Checkout
	expirer  *app.Expirer
	cashier  cashier // nil: nothing can be paid
	desk     *app.RefundDesk
	issuer   *account.Issuer
	book     app.CatalogueStore
}

var (
	_ api.Shop      = (*shop)(nil)
	_ realtime.Shop = (*shop)(nil)
)

// Authenticate reads a token for a socket.
func (s *shop) Authenticate(token string) (realtime.Identity, error) {
	who, err := s.issuer.Verify(token)
	if err != nil {
		return realtime.Identity{}, err
	}
	return realtime.Identity{User: who.User, Name: who.Name, Role: string(who.Role), Expires: who.Expires}, nil
}

// verify reads a token for a route.
func (s *shop) verify(token string) (app.ID, error) {
	who, err := s.issuer.Verify(token)
	return who.User, err
}

// BuyThen is flow 1 for sockets, which do not wait.
func (s *shop) BuyThen(ctx context.Context, user app.ID, req app.BuyRequest, then func(app.Receipt, error)) {
	s.checkout.BuyThen(ctx, user, req, then)
}

// Buy is flow 1.
func (s *shop) Buy(ctx context.Context, user app.ID, req app.BuyRequest) (app.Receipt, error) {
	return s.checkout.Buy(ctx, user, req)
}

// Cancel ends an unpaid order or a reservation.
func (s *shop) Cancel(ctx context.Context, user, order app.ID) (app.OrderState, error) {
	return s.expirer.Cancel(ctx, user, order)
}

// Orders pages through a user's orders.
func (s *shop) Orders(ctx context.Context, q app.OrdersQuery) ([]app.Order, bool, error) {
	return s.OrdersOf(ctx, q)
}

// Slots lists the slots to be shown now, or those of a day.
func (s *shop) Slots(ctx context.Context, day *time.Time) ([]app.Slot, error) {
	if day != nil {
		return s.Catalogue.SlotsOfDay(ctx, *day, s.Now())
	}
	return s.Catalogue.Today(ctx, s.Now())
}

// SalesOfSlot lists the sales of a slot with their numbers.
func (s *shop) SalesOfSlot(ctx context.Context, slot app.ID) ([]app.SaleView, error) {
	sales, err := s.Catalogue.SalesOfSlot(ctx, slot)
	if err != nil {
		return nil, err
	}
	return s.Views(ctx, sales)
}

// SalesByPhase pages through sales. It warms nothing up: whoever leafs through the future does not watch it.
func (s *shop) SalesByPhase(ctx context.Context, phase app.Phase, page, size int) ([]app.SaleView, bool, error) {
	now := s.Now()
	sales, more, err := s.book.SalesByPhase(ctx, phase, now, page, size)
	if err != nil {
		return nil, false, app.Unreadable("sales", err)
	}
	refs := make([]app.SaleRef, len(sales))
	for i := range sales {
		refs[i] = sales[i].Ref()
	}
	counters, err := s.Inventory.Counters(ctx, refs)
	if err != nil {
		return nil, false, app.Unreadable("live numbers", err)
	}
	views := make([]app.SaleView, len(sales))
	for i := range sales {
		views[i] = app.ViewOf(&sales[i], s.Ticker.Dress(counters[i]), now)
	}
	return views, more, nil
}

// Sale is one sale with description and rules.
func (s *shop) Sale(ctx context.Context, id app.ID) (app.SaleView, error) { return s.Detail(ctx, id) }

// Products pages through the products of a category, 0 for all.
func (s *shop) Products(ctx context.Context, category app.ID, page, size int) ([]app.Product, bool, error) {
	products, more, err := s.book.Products(ctx, category, page, size)
	return products, more, app.Unreadable("products", err)
}

// Product is one product with description and rules.
func (s *shop) Product(ctx context.Context, id app.ID) (app.Product, error) {
	product, err := s.book.Product(ctx, id)
	if errors.Is(err, app.ErrNoRow) {
		return app.Product{}, app.Fail(app.NotFound, "no such product")
	}
	return product, app.Unreadable("the product", err)
}

// Categories lists all categories.
func (s *shop) Categories(ctx context.Context) ([]app.Category, error) {
	categories, err := s.book.Categories(ctx)
	return categories, app.Unreadable("categories", err)
}
