package order

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stampede/app/shop"
)

// Effects are the steps after a COMMIT, derived from the rows alone:
//
//	new rows   return the units of refused orders → one step: deadlines, message, acknowledgement (Finish)
//	others     return, sell or withdraw the units → deadline → message → mark as published
//
// Each step has a key, so that a repeat changes nothing: (order, hold) for units (I3), the order for a deadline, and
// (order, rev) for a message. A step that did not finish is repeated (F3). The worker finds a new row by its pending
// entry. Background jobs find a later state by its unpublished row, its hold or its deadline.
type Effects struct {
	Stock        Stock
	Queue        Queue
	Notifier     Notifier
	Store        Store
	PublishMarks *PublishMarks
}

// Notifier publishes changes to the nodes that have the client connections.
type Notifier interface {
	Publish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order) error
}

// Do performs the effects of committed rows. asOf is the Redis time before the transaction that changed the rows. Do
// skips published rows that the caller did not change.
func (e *Effects) Do(ctx context.Context, asOf shop.Millis, rows ...*shop.Order) error {
	rows = slices.DeleteFunc(rows, func(o *shop.Order) bool { return !o.Touched && o.PublishedRev >= o.Rev })
	if err := e.Units(ctx, rows); err != nil {
		return err
	}
	if err := e.Schedule(ctx, rows); err != nil {
		return err
	}
	return e.Publish(ctx, asOf, rows)
}

// Finish performs the effects of new rows of a partition and acknowledges their entries. Rows that already existed get
// a new change timestamp before they are published: the node that wrote them may have crashed long ago, before it
// published them (F2).
func (e *Effects) Finish(
	ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry,
) error {
	if err := e.returnUnits(ctx, rows); err != nil {
		return err
	}
	rows, err := e.ensureTouched(ctx, rows)
	if err != nil {
		return err
	}
	err = e.publishFresh(ctx, asOf, rows, func(asOf shop.Millis, rows []*shop.Order) error {
		return e.Queue.Finish(ctx, partition, asOf, rows, entries)
	})
	if err != nil {
		return fmt.Errorf("finish %d entries: %w", len(entries), err)
	}
	e.PublishMarks.Add(laterStates(rows))
	return nil
}

// publishFresh publishes rows. If their change timestamps are too old, for example after a database stall, it renews
// the timestamps and publishes the current rows, once (F2).
func (e *Effects) publishFresh(
	ctx context.Context, asOf shop.Millis, rows []*shop.Order, publish func(asOf shop.Millis, rows []*shop.Order) error,
) error {
	err := publish(asOf, rows)
	if !errors.Is(err, shop.ErrTooLate) {
		return err
	}
	if asOf, err = e.Stock.Now(ctx); err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	if rows, err = e.touch(ctx, rows); err != nil {
		return err
	}
	return publish(asOf, rows)
}

// laterStates returns the rows in an unpublished state after the first state. The publication of such a state must be
// recorded in its row.
func laterStates(rows []*shop.Order) []*shop.Order {
	return shop.Where(rows, func(o *shop.Order) bool { return o.PublishedRev < o.Rev })
}

// Units moves units in Redis according to the rows: back to the stock, from held to sold, or out of the sale. A failed
// move does not stop the other moves, which may be in other partitions. The same applies to Schedule and Publish.
func (e *Effects) Units(ctx context.Context, rows []*shop.Order) error {
	sold := soldHolds(rows, func(o *shop.Order) bool { return o.State.Sold() && o.HoldsUnits() })
	// An order whose late money was refunded never held units.
	refunded := soldHolds(rows, func(o *shop.Order) bool { return o.State == shop.Refunded && o.HoldsUnits() })
	return errors.Join(e.returnUnits(ctx, rows), moveUnits(ctx, e.Stock.Sell, sold),
		moveUnits(ctx, e.Stock.Withdraw, refunded))
}

// moveUnits moves units of orders with one Redis call. It does nothing for an empty list.
func moveUnits[T any](ctx context.Context, move func(context.Context, []T) ([]bool, error), units []T) error {
	if len(units) == 0 {
		return nil
	}
	if _, err := move(ctx, units); err != nil {
		return fmt.Errorf("move units of %d orders: %w", len(units), errors.Join(shop.ErrTransient, err))
	}
	return nil
}

// returnUnits returns the units of every ended order that does not keep its units. It skips orders that late money may
// revive; the late-payment flow (app/payment) handles their holds.
func (e *Effects) returnUnits(ctx context.Context, rows []*shop.Order) error {
	var returns []shop.Return
	for _, o := range rows {
		if !o.HoldsUnits() && !o.RevivalPending() {
			burn := o.State == shop.Refused && (o.Reason == shop.ReasonGuard || o.Reason == shop.ReasonNoSale)
			returns = append(returns, shop.Return{Sale: o.Ref(), Order: o.ID, Hold: o.Hold, User: o.User, Burn: burn})
		}
	}
	return moveUnits(ctx, e.Stock.Return, returns)
}

// soldHolds returns the holds of the selected rows.
func soldHolds(rows []*shop.Order, selects func(*shop.Order) bool) []shop.SoldHold {
	return shop.Mapped(
		shop.Where(rows, selects),
		func(o *shop.Order) shop.SoldHold { return shop.SoldHold{Sale: o.Ref(), Order: o.ID, Hold: o.Hold} },
	)
}

// Schedule stores the deadlines of pending rows.
func (e *Effects) Schedule(ctx context.Context, rows []*shop.Order) error {
	pending := shop.Where(rows, func(o *shop.Order) bool { return o.State == shop.Pending })
	var failed []error
	for partition, group := range shop.ByPartition(pending) {
		deadlines := shop.Mapped(
			group, func(o *shop.Order) shop.Deadline { return shop.Deadline{Order: o.ID, PayBy: o.PayBy} },
		)
		if err := e.Queue.Schedule(ctx, partition, deadlines); err != nil {
			failed = append(failed, fmt.Errorf("schedule %d deadlines: %w", len(group), errors.Join(shop.ErrTransient, err)))
		}
	}
	return errors.Join(failed...)
}

// Publish publishes the unpublished states of rows and marks them as published.
func (e *Effects) Publish(ctx context.Context, asOf shop.Millis, rows []*shop.Order) error {
	unpublished, err := e.ensureTouched(ctx, laterStates(rows))
	if err != nil {
		return err
	}
	var failed []error
	for partition, group := range shop.ByPartition(unpublished) {
		err := e.publishFresh(ctx, asOf, group, func(asOf shop.Millis, rows []*shop.Order) error {
			return e.Notifier.Publish(ctx, partition, asOf, rows)
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("publish %d orders: %w", len(group), errors.Join(shop.ErrTransient, err)))
			continue
		}
		e.PublishMarks.Add(group)
	}
	return errors.Join(failed...)
}

// ensureTouched renews the change timestamps of rows that the transaction of the caller did not change. The caller read
// asOf earlier, so asOf is valid for the new timestamps, too.
func (e *Effects) ensureTouched(ctx context.Context, rows []*shop.Order) ([]*shop.Order, error) {
	old := shop.Where(rows, func(o *shop.Order) bool { return !o.Touched })
	if len(old) == 0 {
		return rows, nil
	}
	fresh, err := e.touch(ctx, old)
	return append(fresh, shop.Where(rows, func(o *shop.Order) bool { return o.Touched })...), err
}

// touch sets the change timestamps of the rows to now and returns the current rows.
func (e *Effects) touch(ctx context.Context, rows []*shop.Order) ([]*shop.Order, error) {
	ids := shop.Mapped(rows, func(o *shop.Order) shop.ID { return o.ID })
	fresh, err := e.Store.Touch(ctx, ids)
	return shop.Pointers(fresh), err
}
