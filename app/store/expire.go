package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Expire sets pending orders that are due at the instant now (pay_by ≤ now, no payment possible) to expired and returns
// their units to the guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending.
// Expire returns all existing rows, in their new states.
func (s Orders) Expire(ctx context.Context, ids []shop.ID, now shop.Millis) ([]shop.Order, error) {
	select {
	case s.expiring <- struct{}{}:
		defer func() { <-s.expiring }()
	case <-ctx.Done():
		return nil, wrap("expire orders", ctx.Err())
	}
	return s.endDue(ctx, ids, ending{to: shop.Expired, at: now}, func(o *shop.Order) bool {
		return o.State == shop.Pending && o.PayBy <= now && !o.MayBePaid()
	})
}

// ending describes how pending orders end.
type ending struct {
	to     shop.OrderState
	reason string // for people; may be empty
	at     shop.Millis
}

// endDue ends the due orders among ids, up to idsAtOnce in a transaction, which locks the sale's row for some
// milliseconds. After an error, earlier transactions stay committed; a repeat is safe. Orders of a sale whose row is
// locked are returned unchanged.
func (s Orders) endDue(
	ctx context.Context, ids []shop.ID, target ending, due func(o *shop.Order) bool,
) ([]shop.Order, error) {
	out := make([]shop.Order, 0, len(ids))
	lockedSales := make(map[shop.ID]bool)
	for chunk := range sortedChunks(ids) {
		part, err := s.endBatch(ctx, chunk, lockedSales, func(tx bun.Conn, ids []shop.ID) ([]shop.Order, error) {
			all, err := s.lockOrders(ctx, tx, ids)
			if err != nil {
				return nil, err
			}
			var dueOrders []*shop.Order
			for i := range all {
				if due(&all[i]) {
					dueOrders = append(dueOrders, &all[i])
				}
			}
			return all, s.end(ctx, tx, dueOrders, target)
		})
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// endBatch ends the orders in one transaction. If the row of a sale is locked, it adds the sale to lockedSales and
// repeats the transaction without the orders of this sale.
func (s Orders) endBatch(
	ctx context.Context, ids []shop.ID, lockedSales map[shop.ID]bool, end func(bun.Conn, []shop.ID) ([]shop.Order,
		error),
) ([]shop.Order, error) {
	var waiting []shop.Order // unchanged orders of locked sales
	for {
		if len(lockedSales) > 0 {
			all, err := s.OrdersByID(ctx, ids)
			if err != nil {
				return nil, err
			}
			ids = ids[:0:0]
			for i := range all {
				if lockedSales[all[i].Sale] {
					waiting = append(waiting, all[i])
				} else {
					ids = append(ids, all[i].ID)
				}
			}
		}
		if len(ids) == 0 {
			return waiting, nil
		}
		ended, err := inTx(ctx, s.session, "end orders", func(tx bun.Conn) ([]shop.Order, error) { return end(tx, ids) })
		var stuck *shop.StuckSale
		if err == nil || !errors.As(err, &stuck) {
			return append(waiting, ended...), err
		}
		lockedSales[stuck.Sale] = true
	}
}

// Cancel changes a pending order of the user that cannot have been paid to cancelled, and returns its units to the
// guard. It returns the resulting row, changed or not. ErrNoRow: no such order of this user.
func (s Orders) Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error) {
	return inTx(ctx, s.session, "cancel order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrderOf(ctx, tx, order, user)
		if err == nil && o.State == shop.Pending && !o.MayBePaid() {
			err = s.end(ctx, tx, []*shop.Order{&o}, ending{to: shop.Cancelled, at: now})
		}
		return o, err
	})
}

// lockOrders reads the existing rows, in the order of their ids, and locks them until the transaction ends.
// ErrTransient: they must not change now, see mayChange.
func (s Orders) lockOrders(ctx context.Context, tx bun.Conn, ids []shop.ID) ([]shop.Order, error) {
	var rows []orderRow
	q := tx.NewSelect().Model(&rows).Where("id IN (?)", bun.List(ids)).Order("id")
	if err := s.locking(q).Scan(ctx); err != nil {
		return nil, err
	}
	all, err := orders(rows)
	if err != nil {
		return nil, err
	}
	return all, s.mayChange(ctx, tx, all)
}

// lockOrder is lockOrders for one row. ErrNoRow: no such order.
func (s Orders) lockOrder(ctx context.Context, tx bun.Conn, id shop.ID) (shop.Order, error) {
	all, err := s.lockOrders(ctx, tx, []shop.ID{id})
	return firstRow("lock order "+id.String(), all, err)
}

// lockOrderOf is lockOrder for an order of the user. ErrNoRow: no such order of this user.
func (s Orders) lockOrderOf(ctx context.Context, tx bun.Conn, id, user shop.ID) (shop.Order, error) {
	o, err := s.lockOrder(ctx, tx, id)
	if err == nil && o.User != user {
		return shop.Order{}, shop.ErrNoRow
	}
	return o, err
}

// changeState changes the state of an order whose row is locked, or only its reason. set is SQL with the assignments of
// further columns, values are its arguments. The order becomes unpublished.
func (s Orders) changeState(
	ctx context.Context, tx bun.Conn, o *shop.Order, to shop.OrderState, set string, values ...any,
) error {
	args := append(append([]any{to}, values...), wallClock(), o.ID, o.State)
	err := execMatching(ctx, tx, 1, "change the state of the locked order",
		"UPDATE orders SET state = ?, "+set+", rev = "+s.nextRev()+", unpublished_since = ? WHERE id = ? AND state = ?",
		args...)
	o.State, o.Rev, o.Touched = to, s.nextRevOf(o), true
	return err
}

// end changes the state of locked pending orders to the values in `target`, and returns their units to the guards of
// their sales (I5).
func (s Orders) end(ctx context.Context, tx bun.Conn, due []*shop.Order, target ending) error {
	if len(due) == 0 {
		return nil
	}
	ids := make([]shop.ID, len(due))
	units := make(map[shop.ID]int64, 4)
	for i, o := range due {
		ids[i] = o.ID
		units[o.Sale] += int64(o.Qty)
		o.State, o.Reason, o.CancelledAt, o.Rev, o.Touched = target.to, target.reason, target.at, s.nextRevOf(o), true
	}
	err := execMatching(ctx, tx, len(ids), "change the state of locked orders",
		"UPDATE orders SET state = ?, reason = ?, rev = "+s.nextRev()+", cancelled_at = ?, unpublished_since = ?"+
			" WHERE id IN (?) AND state = ?", target.to, target.reason, target.at, wallClock(), bun.List(ids), shop.Pending)
	if err != nil {
		return err
	}
	for _, sale := range slices.Sorted(maps.Keys(units)) {
		n := units[sale]
		err := execMatching(ctx, tx, 1, fmt.Sprintf("return %d units of sale %s", n, sale),
			"UPDATE sales SET taken = taken - ? WHERE id = ? AND taken >= ?", n, sale, n)
		if err != nil {
			return withLockedSale(err, sale)
		}
	}
	return nil
}
