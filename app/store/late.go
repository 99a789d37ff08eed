package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app"
)

// ReviveLate makes an order that had ended paid by the money that came late. See app.PaymentStore.
func (s *Store) ReviveLate(ctx context.Context, claimed app.Order, epoch int64, now app.Millis) (app.Order, error) {
	out := claimed
	err := s.inTx(ctx, "revive order "+claimed.ID.String()+" by late money", func(tx bun.Conn) error {
		all, err := s.lockOrders(ctx, tx, []app.ID{claimed.ID})
		if err != nil {
			return err
		}
		if len(all) == 0 || all[0].State != claimed.State || all[0].Hold != claimed.Hold || all[0].TradeNo == "" {
			return app.ErrNoRow
		}
		out = all[0]
		err = execMatching(ctx, tx, 1, "flip the locked order",
			"UPDATE orders SET state = ?, reason = ?, cancelled_at = 0, rev = rev + 1, untold_since = ? WHERE id = ? AND state = ?",
			app.Paid, app.ReasonPaidLate, wallClock(), out.ID, out.State)
		if err != nil {
			return err
		}
		out.State, out.Reason, out.CancelledAt, out.Rev, out.Stamped = app.Paid, app.ReasonPaidLate, 0, out.Rev+1, true
		if err := s.takeAgain(ctx, tx, &out, epoch); err != nil {
			return err
		}
		if err := s.resolve(ctx, tx, out.ID, app.PaymentRevived); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "UPDATE trades SET check_at = NULL WHERE order_id = ?", out.ID); err != nil {
			return err
		}
		return s.post(ctx, tx, &out, now)
	})
	if err != nil {
		return app.Order{}, err
	}
	return out, nil
}

// takeAgain makes the guard give the units of an order that had given them back. The guard says no in one word; why is
// read from the row that it has locked.
func (s *Store) takeAgain(ctx context.Context, tx bun.Conn, o *app.Order, epoch int64) error {
	matched, err := s.guard(ctx, tx, epoch, int64(o.Qty), o)
	if err != nil || matched == 1 {
		return err
	}
	var at int64
	err = tx.QueryRowContext(ctx, "SELECT epoch FROM sales WHERE id = ?"+s.d.forUpdate, o.Sale).Scan(&at)
	if err != nil {
		return err
	}
	if at != epoch {
		return fmt.Errorf("%w: sale %s is at %d, not at %d", app.ErrStaleEpoch, o.Sale, at, epoch)
	}
	return fmt.Errorf("%w: take %d units of sale %s", app.ErrPermanent, o.Qty, o.Sale)
}

// Resolve settles the late payment of an order. See app.PaymentStore.
func (s *Store) Resolve(ctx context.Context, order app.ID, outcome app.PaymentOutcome) error {
	return s.inTx(ctx, "settle the late payment of order "+order.String(), func(tx bun.Conn) error {
		return s.resolve(ctx, tx, order, outcome)
	})
}

func (s *Store) resolve(ctx context.Context, tx bun.Conn, order app.ID, outcome app.PaymentOutcome) error {
	_, err := exec(ctx, tx,
		"UPDATE payments SET outcome = ?, unsettled_since = NULL WHERE order_id = ? AND outcome = ?",
		outcome, order, app.PaymentLate)
	return err
}

// Unresolved lists late payments, the oldest first. See app.PaymentStore.
func (s *Store) Unresolved(ctx context.Context, before app.Millis, skip, limit int) ([]app.Received, error) {
	var rows []paymentRow
	err := s.db.NewSelect().Model(&rows).Where("unsettled_since < ?", before).Order("unsettled_since", "trade_no").
		Limit(int64(limit)).Offset(int64(skip)).Scan(ctx)
	if err != nil {
		return nil, wrap("list unresolved payments", err)
	}
	out := make([]app.Received, len(rows))
	for i := range rows {
		out[i] = rows[i].received()
	}
	return out, nil
}
