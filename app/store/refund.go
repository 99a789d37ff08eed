package store

import (
	"context"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// BeginRefund flips an order to refunding and enters its refund. See app.RefundBook.
func (s *Store) BeginRefund(ctx context.Context, order app.ID, from []app.OrderState, request, reason string, now app.Millis) (app.Order, error) {
	var out app.Order
	err := s.inTx(ctx, "begin the refund of order "+order.String(), func(tx bun.Conn) (err error) {
		out, err = s.beginRefund(ctx, tx, refundRow{Order: order, Request: request, Reason: reason, AskedAt: now, DecidedAt: now}, from)
		return err
	})
	return out, err
}

// beginRefund enters the refund given, whose order gets its reason, or opens the one that was asked for before and
// keeps who asked, when and why.
func (s *Store) beginRefund(ctx context.Context, tx bun.Conn, r refundRow, from []app.OrderState) (app.Order, error) {
	all, err := s.lockOrders(ctx, tx, []app.ID{r.Order})
	if err != nil {
		return app.Order{}, err
	}
	if len(all) == 0 {
		return app.Order{}, app.ErrNoRow
	}
	o := all[0]
	before, err := s.lockRefund(ctx, tx, o.ID)
	if err != nil && !errors.Is(err, app.ErrNoRow) {
		return o, err
	}
	known := err == nil
	if known && before.Request == r.Request && (o.State == app.Refunding || o.State == app.Refunded) {
		return o, nil
	}
	if !slices.Contains(from, o.State) {
		return o, app.ErrNoRow
	}
	o.Reason = clip(r.Reason, maxReason)
	if err := s.turn(ctx, tx, &o, app.Refunding); err != nil {
		return o, err
	}
	r.State, r.AmountFen, r.NextAt = app.RefundOpen, o.AmountFen, &r.DecidedAt
	if known {
		r.Reason, r.AskedBy, r.AskedAt = before.Reason, before.AskedBy, before.AskedAt
		_, err = tx.NewUpdate().Model(&r).WherePK().Exec(ctx)
	} else {
		r.Reason = o.Reason
		_, err = tx.NewInsert().Model(&r).Returning("NULL").Exec(ctx)
	}
	return o, err
}

// turn flips an order whose row is locked to another state of the same units, or to the same with another reason: the
// guard counts the units as before. Its buyer is to be told.
func (s *Store) turn(ctx context.Context, tx bun.Conn, o *app.Order, to app.OrderState) error {
	err := execMatching(ctx, tx, 1, "flip the locked order",
		"UPDATE orders SET state = ?, reason = ?, rev = rev + 1, untold_since = ? WHERE id = ? AND state = ?",
		to, o.Reason, wallClock(), o.ID, o.State)
	o.State, o.Rev = to, o.Rev+1
	return err
}

// lockRefund reads the refund of an order and keeps it from changing until the transaction ends. ErrNoRow: it has none.
func (s *Store) lockRefund(ctx context.Context, tx bun.Conn, order app.ID) (refundRow, error) {
	var row refundRow
	q := tx.NewSelect().Model(&row).Where("order_id = ?", order)
	if s.d.forUpdate != "" {
		q = q.For("UPDATE")
	}
	return row, wrap("read its refund", q.Scan(ctx))
}
