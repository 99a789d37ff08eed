package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// ClaimRefunds takes open refunds that are due and counts an attempt. Each comes again after RefundPause, unless it is
// finished or stuck by then.
func (s *Store) ClaimRefunds(ctx context.Context, now shop.Millis, limit int) ([]payment.Refund, error) {
	due := func(db bun.IDB, rows *[]refundRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Order("next_at", "order_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s, "claim refunds", due, func(tx bun.Conn, rows []refundRow) error {
		for i := range rows {
			r := &rows[i]
			r.Attempts++
			r.NextAt = new(now.Add(payment.RefundPause(r.Attempts)))
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

// NoteRefund keeps what an attempt brought; stuck: the gateway's final no, nothing is tried again.
func (s *Store) NoteRefund(ctx context.Context, order shop.ID, note string, stuck bool) error {
	return s.inTx(ctx, "note an attempt to refund order "+order.String(), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE refunds SET note = ? WHERE order_id = ? AND state = ?", clip(note, maxReason),
			order, payment.RefundOpen)
		if err == nil && stuck {
			_, err = exec(ctx, tx, "UPDATE refunds SET state = ?, next_at = NULL WHERE order_id = ? AND state = ?",
				payment.RefundStuck, order, payment.RefundOpen)
		}
		return err
	})
}

// RetryRefund opens a stuck refund again. ErrNoRow: it is not stuck.
func (s *Store) RetryRefund(ctx context.Context, order shop.ID, now shop.Millis) error {
	return s.changeRow(ctx, "try the refund of order "+order.String()+" again",
		"UPDATE refunds SET state = ?, next_at = ? WHERE order_id = ? AND state = ?", payment.RefundOpen, now, order,
		payment.RefundStuck)
}

// FinishRefund flips a refunding order to refunded, its refund to done, and notes it for the back office, in one
// transaction. A refunded order is answered as it is; ErrNoRow when it is in any other state. Its units stay with the
// guard: they are withdrawn, which the sum of the refunded rows says (see SaleTotals).
func (s *Store) FinishRefund(ctx context.Context, order shop.ID, now shop.Millis) (shop.Order, error) {
	return inTx(ctx, s, "finish the refund of order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrder(ctx, tx, order)
		switch {
		case err != nil || o.State == shop.Refunded:
			return o, err
		case o.State != shop.Refunding:
			return o, shop.ErrNoRow
		}
		if err := s.turn(ctx, tx, &o, shop.Refunded); err != nil {
			return o, err
		}
		err = execMatching(ctx, tx, 1, "close its refund",
			"UPDATE refunds SET state = ?, done_at = ?, next_at = NULL, note = '' WHERE order_id = ?", payment.RefundDone,
			now, order)
		if err != nil {
			return o, err
		}
		return o, s.post(ctx, tx, &o, now)
	})
}

// RefundOf reads the refund of an order. ErrNoRow if it has none.
func (s *Store) RefundOf(ctx context.Context, order shop.ID) (payment.Refund, error) {
	var row refundRow
	err := s.db.NewSelect().Model(&row).Where("order_id = ?", order).Scan(ctx)
	return row.refund(), wrap("read the refund of order "+order.String(), err)
}

// Refunds pages through refunds; more reports whether older ones exist.
func (s *Store) Refunds(ctx context.Context, q payment.RefundsQuery) (page []payment.Refund, more bool, err error) {
	var rows []refundRow
	sel := s.db.NewSelect().Model(&rows).Order("order_id DESC").Limit(int64(q.Limit) + 1)
	err = whereSet(whereSet(sel, "state = ?", q.State), "order_id < ?", q.Before).Scan(ctx)
	page, more = cut(convert(rows, (*refundRow).refund), q.Limit)
	return page, more, wrap("read refunds", err)
}

// RefundBacklog counts what waits.
func (s *Store) RefundBacklog(ctx context.Context) (payment.RefundBacklog, error) {
	var b payment.RefundBacklog
	for state, n := range map[payment.RefundState]*int64{
		payment.RefundAsked: &b.Asked, payment.RefundOpen: &b.Open, payment.RefundStuck: &b.Stuck,
	} {
		oldest := shop.Millis(0)
		err := s.db.NewRaw("SELECT COUNT(*), COALESCE(MIN(decided_at), 0) FROM refunds WHERE state = ?", state).Scan(ctx, n, &oldest)
		if err != nil {
			return b, wrap(fmt.Sprintf("count refunds that are %s", state), err)
		}
		if state == payment.RefundOpen {
			b.Oldest = oldest
		}
	}
	return b, nil
}
