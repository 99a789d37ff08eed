package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// ClaimHold raises the hold number of an order in the given state, so that a new hold can be taken under it, and
// returns the row. ErrNoRow: it is not in that state. ErrArchived: it is in the archive.
func (s *Store) ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error) {
	return inTx(ctx, s, "claim a hold for order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrder(ctx, tx, order)
		if err != nil || o.State != in {
			return o, cmp.Or(err, shop.ErrNoRow)
		}
		o.Hold++
		matched, err := exec(ctx, tx, "UPDATE orders SET hold = hold + 1, "+keepChangedAt+" WHERE id = ?", order)
		if err == nil && matched == 0 {
			err = shop.ErrArchived
		}
		return o, err
	})
}

// Revive flips a refused order to pending under its claimed hold number, with a new deadline and the given texts, and
// takes its units through the guard, in one transaction. Read epoch before taking the hold.
//
//   - ErrStaleEpoch: the sale has another epoch.
//   - ErrNoRow: the order is not refused with that hold.
//   - ErrPermanent: no unit is free, or the texts cannot be stored.
func (s *Store) Revive(ctx context.Context, claimed shop.Order, epoch int64, payBy shop.Millis) (shop.Order, error) {
	return inTx(ctx, s, "revive order "+claimed.ID.String(), func(tx bun.Conn) (shop.Order, error) {
		before, err := s.lockOrder(ctx, tx, claimed.ID)
		if err != nil || before.State != shop.Refused || before.Hold != claimed.Hold {
			return before, cmp.Or(err, shop.ErrNoRow)
		}
		out := claimed
		out.State, out.Rev, out.Reason, out.PayBy = before.State, before.Rev, "", payBy
		row, err := newRow(&out)
		if err != nil {
			return out, err
		}
		err = s.flip(ctx, tx, &out, shop.Pending,
			"reason = '', pay_by = ?, idem_key = ?, content_hash = ?, product_name = ?, address = ?",
			row.PayBy, row.Key, row.ContentHash, row.ProductName, row.Address)
		if err != nil {
			return out, err
		}
		return out, s.retakeUnits(ctx, tx, &out, epoch)
	})
}

// ReviveLate changes an ended order whose payment arrived late to paid, under its claimed hold number. In the same
// transaction it takes the units through the guard and settles the payment.
//
//   - ErrNoRow: the order is in another state or has another hold.
//   - ErrPermanent: no unit is free.
//   - ErrStaleEpoch: the sale has another epoch.
func (s *Store) ReviveLate(ctx context.Context, claimed shop.Order, epoch int64, now shop.Millis) (shop.Order, error) {
	return inTx(ctx, s, "revive order "+claimed.ID.String()+" by late money", func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrder(ctx, tx, claimed.ID)
		if err != nil || o.State != claimed.State || o.Hold != claimed.Hold || o.TradeNo == "" {
			return o, cmp.Or(err, shop.ErrNoRow)
		}
		o.Reason, o.CancelledAt = shop.ReasonPaidLate, 0
		if err := s.flip(ctx, tx, &o, shop.Paid, "reason = ?, cancelled_at = 0", o.Reason); err != nil {
			return o, err
		}
		if err := s.retakeUnits(ctx, tx, &o, epoch); err != nil {
			return o, err
		}
		if err := s.resolve(ctx, tx, o.ID, payment.OutcomeRevived); err != nil {
			return o, err
		}
		if _, err := exec(ctx, tx, "UPDATE trades SET check_at = NULL WHERE order_id = ?", o.ID); err != nil {
			return o, err
		}
		return o, s.post(ctx, tx, &o, now)
	})
}

// retakeUnits takes the units of an order that had returned them through the guard. If the guard matches no row, it
// reads the reason from the row, which it locks.
func (s *Store) retakeUnits(ctx context.Context, tx bun.Conn, o *shop.Order, epoch int64) error {
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
		return fmt.Errorf("%w: sale %s is at %d, not at %d", shop.ErrStaleEpoch, o.Sale, at, epoch)
	}
	return fmt.Errorf("%w: take %d units of sale %s", shop.ErrPermanent, o.Qty, o.Sale)
}

// Resolve sets the final outcome of an order's late payment. A resolved one stays as it is.
func (s *Store) Resolve(ctx context.Context, order shop.ID, outcome payment.Outcome) error {
	return s.inTx(ctx, "settle the late payment of order "+order.String(), func(tx bun.Conn) error {
		return s.resolve(ctx, tx, order, outcome)
	})
}

func (s *Store) resolve(ctx context.Context, tx bun.Conn, order shop.ID, outcome payment.Outcome) error {
	_, err := exec(ctx, tx,
		"UPDATE payments SET outcome = ?, unsettled_since = NULL WHERE order_id = ? AND outcome = ?",
		outcome, order, payment.OutcomeLate)
	return err
}

// Unresolved lists late payments received before the given instant, the oldest first, after the first skip ones.
func (s *Store) Unresolved(
	ctx context.Context, before shop.Millis, skip, limit int,
) ([]payment.ReceivedPayment, error) {
	var rows []paymentRow
	err := s.db.NewSelect().Model(&rows).Where("unsettled_since < ?", before).Order("unsettled_since", "trade_no").
		Limit(int64(limit)).Offset(int64(skip)).Scan(ctx)
	return convert(rows, (*paymentRow).received), wrap("list unresolved payments", err)
}
