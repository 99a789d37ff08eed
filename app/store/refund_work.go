package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app"
)

// ClaimRefunds takes open refunds that are due. See app.RefundStore.
func (s *Store) ClaimRefunds(ctx context.Context, now app.Millis, limit int) ([]app.Refund, error) {
	due := func(db bun.IDB, rows *[]refundRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Order("next_at", "order_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s, "claim refunds", due, func(tx bun.Conn, rows []refundRow) error {
		for i := range rows {
			r := &rows[i]
			r.Attempts++
			r.NextAt = new(now.Add(app.RefundPause(r.Attempts)))
			err := execMatching(ctx, tx, 1, "count an attempt",
				"UPDATE refunds SET attempts = ?, next_at = ? WHERE order_id = ?", r.Attempts, *r.NextAt, r.Order)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return convert(rows, (*refundRow).refund), err
}

// NoteRefund keeps what an attempt brought. See app.RefundStore.
func (s *Store) NoteRefund(ctx context.Context, order app.ID, note string, stuck bool) error {
	return s.inTx(ctx, "note an attempt to refund order "+order.String(), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE refunds SET note = ? WHERE order_id = ? AND state = ?", clip(note, maxReason),
			order, app.RefundOpen)
		if err == nil && stuck {
			_, err = exec(ctx, tx, "UPDATE refunds SET state = ?, next_at = NULL WHERE order_id = ? AND state = ?",
				app.RefundStuck, order, app.RefundOpen)
		}
		return err
	})
}

// RetryRefund opens a stuck refund again. See app.RefundStore.
func (s *Store) RetryRefund(ctx context.Context, order app.ID, now app.Millis) error {
	return s.changeRow(ctx, "try the refund of order "+order.String()+" again",
		"UPDATE refunds SET state = ?, next_at = ? WHERE order_id = ? AND state = ?", app.RefundOpen, now, order,
		app.RefundStuck)
}

// FinishRefund flips a refunding order to refunded. Its units stay with the guard: they are withdrawn, which the sum of
// the refunded rows says (see SaleTotals). See app.RefundStore.
func (s *Store) FinishRefund(ctx context.Context, order app.ID, now app.Millis) (app.Order, error) {
	return inTx(ctx, s, "finish the refund of order "+order.String(), func(tx bun.Conn) (app.Order, error) {
		o, err := s.lockOrder(ctx, tx, order)
		switch {
		case err != nil || o.State == app.Refunded:
			return o, err
		case o.State != app.Refunding:
			return o, app.ErrNoRow
		}
		if err := s.turn(ctx, tx, &o, app.Refunded); err != nil {
			return o, err
		}
		err = execMatching(ctx, tx, 1, "close its refund",
			"UPDATE refunds SET state = ?, done_at = ?, next_at = NULL, note = '' WHERE order_id = ?", app.RefundDone,
			now, order)
		if err != nil {
			return o, err
		}
		return o, s.post(ctx, tx, &o, now)
	})
}

// RefundOf reads the refund of an order. ErrNoRow if it has none.
func (s *Store) RefundOf(ctx context.Context, order app.ID) (app.Refund, error) {
	var row refundRow
	err := s.db.NewSelect().Model(&row).Where("order_id = ?", order).Scan(ctx)
	return row.refund(), wrap("read the refund of order "+order.String(), err)
}

// Refunds pages through refunds, newest orders first.
func (s *Store) Refunds(ctx context.Context, q app.RefundsQuery) (page []app.Refund, more bool, err error) {
	var rows []refundRow
	sel := s.db.NewSelect().Model(&rows).Order("order_id DESC").Limit(int64(q.Limit) + 1)
	err = whereSet(whereSet(sel, "state = ?", q.State), "order_id < ?", q.Before).Scan(ctx)
	page, more = cut(convert(rows, (*refundRow).refund), q.Limit)
	return page, more, wrap("read refunds", err)
}

// RefundBacklog counts what waits.
func (s *Store) RefundBacklog(ctx context.Context) (app.RefundBacklog, error) {
	var b app.RefundBacklog
	for state, n := range map[app.RefundState]*int64{
		app.RefundAsked: &b.Asked, app.RefundOpen: &b.Open, app.RefundStuck: &b.Stuck,
	} {
		oldest := app.Millis(0)
		err := s.db.NewRaw("SELECT COUNT(*), COALESCE(MIN(decided_at), 0) FROM refunds WHERE state = ?", state).Scan(ctx, n, &oldest)
		if err != nil {
			return b, wrap(fmt.Sprintf("count refunds that are %s", state), err)
		}
		if state == app.RefundOpen {
			b.Oldest = oldest
		}
	}
	return b, nil
}
