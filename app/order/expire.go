package order

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stampede/app/shop"
)

// PaymentCloser ends orders whose payment was opened. The reply of the gateway decides whether an order ends.
type PaymentCloser interface {
	// NotClosing returns the orders of a list that are not being ended now.
	NotClosing(orders []shop.ID) []shop.ID
	// Offer accepts rows. It queues the orders that are due at the instant `now` and can end only after a reply of the
	// gateway. It never blocks.
	Offer(rows []shop.Order, now shop.Millis)
	// Cancel ends an order for its buyer and returns the order: cancelled, or paid if the payment came first.
	Cancel(ctx context.Context, o shop.Order) (shop.Order, error)
}

// Expirer is flow 4: an order expires, or its buyer cancels it, and its units are sold again.
//
//	COMMIT of the terminal row → units go back → event → (sweeper) out of the delay queue
//
// The database alone decides whether the order ended (I1). The deadline stays in the queue until all steps are done, so
// that the next sweep completes them. For an order whose payment was opened, the trade is closed at the gateway first.
// PaymentCloser does this in parallel to the sweep, because the gateway may be slow.
type Expirer struct {
	Stock   Stock
	Store   Store
	Effects *Effects
	Reader  *Reader
	Closer  PaymentCloser // nil: the shop takes no payments

	units unitGate
}

// Due handles orders whose deadline has passed. It returns the orders that leave the delay queue.
func (e *Expirer) Due(ctx context.Context, _ int, orders []shop.ID) ([]shop.ID, error) {
	now, err := e.Stock.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	if e.Closer != nil {
		orders = e.Closer.NotClosing(orders)
	}
	rows, err := e.expire(ctx, orders, now)
	if err != nil {
		return nil, err
	}
	e.units.wait(ctx)
	if err := e.Effects.Publish(ctx, now, shop.Pointers(rows)); err != nil {
		return nil, err
	}
	found := shop.ByID(rows)
	return slices.DeleteFunc(slices.Clone(orders), func(id shop.ID) bool {
		o := found[id]
		return o != nil && o.State == shop.Pending
	}), nil
}

// expire ends the unpaid orders and returns the units of all ended orders. For orders that were paid in time it
// completes interrupted effects.
func (e *Expirer) expire(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error) {
	e.units.begin()
	defer e.units.end()
	rows, err := e.Store.Expire(ctx, orders, now)
	if err != nil {
		return nil, fmt.Errorf("expire %d orders: %w", len(orders), err)
	}
	if e.Closer != nil {
		e.Closer.Offer(rows, now)
	}
	if err := e.Effects.Units(ctx, shop.Pointers(rows)); err != nil {
		return nil, err
	}
	return rows, nil
}

// Cancel ends an unpaid order of the user, or a reservation that has no row yet. It is idempotent. OrderExpired: the
// order has expired. WrongState: the order is in another state, for example paid. NotFound: the order belongs to
// another user or does not exist.
func (e *Expirer) Cancel(ctx context.Context, user, id shop.ID) (shop.OrderState, error) {
	now, err := e.Stock.Now(ctx)
	if err != nil {
		return "", shop.Unavailable("Redis time", err)
	}
	row, err := changeOrder(ctx, e.Reader, user, id, change{
		row: func() (shop.Order, error) { return e.Store.Cancel(ctx, id, user, now) },
		reservation: func(o *shop.Order) {
			o.State, o.Rev, o.CancelledAt = shop.Cancelled, shop.FirstRev, now
		},
	})
	if err != nil {
		return "", shop.UnknownOutcome("cancel order "+id.String(), err)
	}
	if row.State == shop.Pending {
		if e.Closer == nil {
			return "", shop.FailBusy("the order has an open payment, and this node has no payment gateway; try again",
				4*shop.BusyRetry)
		}
		row, err = e.Closer.Cancel(ctx, row)
		if err != nil {
			return "", err
		}
		return cancelResult(row)
	}
	if err := e.Effects.Do(ctx, now, &row); err != nil {
		return "", shop.UnknownOutcome("finish cancelling order "+id.String(), err)
	}
	return cancelResult(row)
}

func cancelResult(o shop.Order) (shop.OrderState, error) {
	switch o.State {
	case shop.Cancelled:
		return shop.Cancelled, nil
	case shop.Expired:
		return "", shop.Fail(shop.OrderExpired, "the order has expired")
	default:
		return "", shop.Fail(shop.WrongState, "an order that is "+string(o.State)+" cannot be cancelled")
	}
}
