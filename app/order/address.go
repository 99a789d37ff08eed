package order

import (
	"context"
	"errors"
	"time"

	"stampede/app/shop"
)

// Addresses sets the delivery address of orders:
//
//	COMMIT of the row with the address (and a posting, if it is paid) → event to all connections of the buyer
type Addresses struct {
	Redis     Redis
	Store     Store
	Effects   *Effects
	Reader    *Reader
	PayWindow time.Duration
}

// SetAddress sets the delivery address of an order of the user until it is shipped. A reservation without a row becomes
// a pending order at once. A repeat changes nothing. WrongState: the order is shipped or has ended. NotFound: the order
// belongs to another user or does not exist.
func (a *Addresses) SetAddress(
	ctx context.Context, user, id shop.ID, address shop.Address,
) (shop.OrderState, error) {
	if err := address.Clean(); err != nil {
		return "", err
	}
	now, err := a.Redis.Now(ctx)
	if err != nil {
		return "", shop.UnknownOutcome("read Redis time", err)
	}
	row, err := a.Reader.change(ctx, user, id, change{
		row: func() (shop.Order, error) { return a.Store.SetAddress(ctx, id, user, address, now) },
		reservation: func(o *shop.Order) {
			o.State, o.Rev, o.PayBy, o.Address = shop.Pending, shop.FirstRev, now.Add(a.PayWindow), &address
		},
	})
	if err != nil {
		return "", shop.UnknownOutcome("set the address of order "+id.String(), err)
	}
	if row.Address == nil || *row.Address != address {
		return "", shop.Fail(shop.WrongState, "the address of an order that is "+string(row.State)+" cannot be changed")
	}
	if err := a.Effects.Do(ctx, now, &row); err != nil {
		return "", shop.UnknownOutcome("finish setting the address of order "+id.String(), err)
	}
	return row.State, nil
}

// change is an operation of a buyer on an order, which may still be a reservation.
type change struct {
	row         func() (shop.Order, error) // changes the row; ErrNoRow: the order of the user has none
	reservation func(o *shop.Order)        // completes the first row of a reservation
}

var errBecameRow = errors.New("the reservation became a row")

// change applies a change to an order of the user and returns its row. If the order is a reservation, it inserts the
// first row. NotFound: no such order of the user.
func (r *Reader) change(ctx context.Context, user, id shop.ID, c change) (shop.Order, error) {
	// A reservation can become a row between two reads, but only once.
	for range 3 {
		row, err := c.row()
		if errors.Is(err, shop.ErrNoRow) {
			row, err = r.insertFirst(ctx, user, id, c.reservation)
		}
		if !errors.Is(err, errBecameRow) {
			return row, err
		}
	}
	return shop.Order{}, shop.FailBusy("another operation is changing the order; try again", shop.BusyRetry)
}

// insertFirst inserts the first row of a reservation. The first row wins: if the consumer was faster, it returns
// errBecameRow. The insert uses the epoch of the reservation, so that a reservation that Redis has lost gets no row
// during or after a recovery.
func (r *Reader) insertFirst(
	ctx context.Context, user, id shop.ID, complete func(o *shop.Order),
) (shop.Order, error) {
	waiting, waitingErr := r.Redis.Waiting(ctx, user)
	for _, w := range waiting {
		if w.Order != id {
			continue
		}
		row := r.reserved(ctx, w)
		complete(&row)
		inserted, err := r.Store.Insert(ctx, w.Entry.Epoch, []shop.NewOrder{row})
		if err != nil {
			return shop.Order{}, err
		}
		if !inserted[0].Fresh {
			return shop.Order{}, errBecameRow
		}
		return inserted[0].Order, nil
	}
	// The order is not waiting: it never was, or it just became a row. An unreadable row proves neither.
	_, err := r.row(ctx, user, id)
	switch {
	case err == nil:
		return shop.Order{}, errBecameRow
	case errors.Is(err, shop.ErrNoRow) && waitingErr != nil:
		return shop.Order{}, waitingErr
	case errors.Is(err, shop.ErrNoRow):
		return shop.Order{}, shop.Fail(shop.NotFound, "no such order")
	}
	return shop.Order{}, err
}
