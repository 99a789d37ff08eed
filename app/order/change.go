package order

import (
	"context"
	"errors"

	"stampede/app/shop"
)

// change is an operation of a buyer on an order, which may still be a reservation.
type change struct {
	row         func() (shop.Order, error) // changes the row; ErrNoRow: the order of the user has none
	reservation func(o *shop.Order)        // completes the first row of a reservation
}

var errBecameRow = errors.New("the reservation became a row")

// changeOrder applies a change to an order of the user and returns its row. If the order is a reservation, it inserts
// the first row. NotFound: no such order of the user. WrongState: an operator has to settle its problem first.
func changeOrder(ctx context.Context, r *Reader, user, id shop.ID, c change) (shop.Order, error) {
	// A reservation can get its row between two reads. Then the next round finds the row.
	for range 3 {
		row, err := c.row()
		if errors.Is(err, shop.ErrNoRow) {
			row, err = insertFirst(ctx, r, user, id, c.reservation)
		}
		if !errors.Is(err, errBecameRow) {
			return row, err
		}
	}
	return shop.Order{}, shop.FailBusy("another operation is changing the order; try again", shop.BusyRetry)
}

// insertFirst inserts the first row of a reservation. If the consumer has inserted the row first, it returns
// errBecameRow, and the caller changes that row. The insert uses the epoch of the reservation, so that a reservation
// that Redis has lost gets no row during or after a recovery.
func insertFirst(
	ctx context.Context, r *Reader, user, id shop.ID, complete func(o *shop.Order),
) (shop.Order, error) {
	waiting, waitingErr := r.Queue.Waiting(ctx, user)
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
	// The order is not waiting: it does not exist, or it just got its row. If the row cannot be read, both are
	// possible.
	_, err := r.row(ctx, user, id)
	switch {
	case err == nil:
		return shop.Order{}, errBecameRow
	case errors.Is(err, shop.ErrNoRow) && waitingErr != nil:
		return shop.Order{}, waitingErr
	case errors.Is(err, shop.ErrNoRow):
		if _, err = r.checking(ctx, user, id); err == nil {
			err = shop.FailChecking()
		}
	}
	return shop.Order{}, err
}
