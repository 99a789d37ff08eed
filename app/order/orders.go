package order

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stampede/app/catalog"
	"stampede/app/shop"
)

// Reader reads the orders and reservations of a user. It writes nothing.
type Reader struct {
	Catalogue *catalog.Catalogue
	Stock     Stock
	Queue     Queue
	Store     Store
}

// ReservationsOf lists the user's reservations that have no row yet, each with its place. The reservations of an
// unavailable partition are missing. A buyer who repeats such a buy with its key receives Busy until the partition is
// available.
func (r *Reader) ReservationsOf(ctx context.Context, user shop.ID) ([]shop.Reservation, error) {
	waiting, err := r.Queue.Waiting(ctx, user)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, shop.Unavailable("reservations", fmt.Errorf("user %s: %w", user, err))
	}
	if len(waiting) == 0 {
		return []shop.Reservation{}, nil
	}
	refs := shop.Mapped(
		waiting,
		func(w shop.Reservation) shop.SaleRef { return shop.SaleRef{ID: w.Sale, Partition: w.Entry.Partition} },
	)
	counters, err := r.Stock.Counters(ctx, refs)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, shop.Unavailable("reservations", fmt.Errorf("places: %w", err))
	}
	for i := range waiting {
		waiting[i].Place = shop.PlaceOf(waiting[i].Ticket, counters[i].Done)
	}
	return waiting, nil
}

// Order reads one order of the user, or the reservation that has no row yet, or none until an operator has settled its
// problem. NotFound: the order belongs to another user or does not exist.
func (r *Reader) Order(ctx context.Context, user, id shop.ID) (shop.Order, error) {
	order, err := r.row(ctx, user, id)
	if !errors.Is(err, shop.ErrNoRow) {
		return order, err
	}
	waiting, err := r.Queue.Waiting(ctx, user)
	for _, w := range waiting {
		if w.Order == id {
			return r.reserved(ctx, w), nil
		}
	}
	if err != nil {
		return shop.Order{}, shop.Unavailable("reservations", fmt.Errorf("user %s: %w", user, err))
	}
	// The reservation may have become a row and left the waiting list between the two reads.
	order, err = r.row(ctx, user, id)
	if errors.Is(err, shop.ErrNoRow) {
		return r.checking(ctx, user, id)
	}
	return order, err
}

// checking reads an order of the user that has no row until an operator has settled its problem.
func (r *Reader) checking(ctx context.Context, user, id shop.ID) (shop.Order, error) {
	orders, err := r.Store.Checking(ctx, user)
	if err != nil {
		return shop.Order{}, shop.Unavailable("orders", err)
	}
	for i := range orders {
		if orders[i].ID == id {
			r.name(ctx, &orders[i])
			return orders[i], nil
		}
	}
	return shop.Order{}, shop.Fail(shop.NotFound, "no such order")
}

// Detail is an order with its past.
type Detail struct {
	shop.Order
	Carrier  string      `json:"carrier,omitempty"` // of its parcel
	Timeline []shop.Step `json:"timeline"`
}

// Detail adds the past to an order that Order returned. An order without a payment and with its first hold has no
// past outside its row.
func (r *Reader) Detail(ctx context.Context, o shop.Order) (Detail, error) {
	var trail shop.Trail
	if o.PaidAt > 0 || o.Hold > 1 {
		var err error
		if trail, err = r.Store.Trail(ctx, o.ID, o.User); err != nil {
			return Detail{}, shop.Unavailable("orders", fmt.Errorf("the past of order %s: %w", o.ID, err))
		}
	}
	return Detail{o, trail.Carrier, shop.Timeline(&o, trail)}, nil
}

// row reads the user's order from the database. ErrNoRow: no such row. NotFound: the order belongs to another user.
func (r *Reader) row(ctx context.Context, user, id shop.ID) (shop.Order, error) {
	order, err := r.Store.Order(ctx, id)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return shop.Order{}, err
	case err != nil:
		return shop.Order{}, shop.Unavailable("orders", fmt.Errorf("order %s: %w", id, err))
	case order.User != user:
		return shop.Order{}, shop.Fail(shop.NotFound, "no such order")
	}
	order.PayUntil = order.PaymentEnds()
	return order, nil
}

// reserved converts a reservation to an order in the state reserved.
func (r *Reader) reserved(ctx context.Context, w shop.Reservation) shop.Order {
	o := w.Entry.OrderFields()
	o.State = shop.Reserved
	r.name(ctx, &o)
	return o
}

// name sets the product name of an order without a row.
func (r *Reader) name(ctx context.Context, o *shop.Order) {
	if sale, err := r.Catalogue.Sale(ctx, o.Sale); err == nil {
		o.ProductName = sale.Product.Name
	}
}

// OrdersOf lists one page of the user's orders, newest first. The first page begins with orders that an operator has to
// settle first. A limit outside 1–100 becomes 20.
func (r *Reader) OrdersOf(ctx context.Context, q shop.OrdersQuery) ([]shop.Order, bool, error) {
	if q.Limit < 1 || q.Limit > 100 {
		q.Limit = 20
	}
	orders, more, err := r.Store.OrdersOf(ctx, q)
	for i := range orders {
		orders[i].PayUntil = orders[i].PaymentEnds()
	}
	if err != nil || q.Before != 0 {
		return orders, more, shop.Unavailable("orders", err)
	}
	checking, err := r.Store.Checking(ctx, q.User)
	checking = slices.DeleteFunc(checking, func(o shop.Order) bool { return q.Sale != 0 && o.Sale != q.Sale })
	for i := range checking {
		r.name(ctx, &checking[i])
	}
	return append(checking, orders...), more, shop.Unavailable("orders", err)
}
