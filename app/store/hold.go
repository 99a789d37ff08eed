package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// ClaimHold raises the hold number of an order in the given state, and returns the row. The caller can take a new hold
// under the new number. ErrNoRow: the order is not in this state.
func (s Orders) ClaimHold(ctx context.Context, order shop.ID, state shop.OrderState) (shop.Order, error) {
	return inTx(ctx, s.session, "claim a hold for order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrder(ctx, tx, order)
		if err != nil || o.State != state {
			return o, cmp.Or(err, shop.ErrNoRow)
		}
		o.Hold++
		return o, execMatching(ctx, tx, 1, "raise the hold of a locked order",
			"UPDATE orders SET hold = hold + 1, "+keepChangedAt+" WHERE id = ?", order)
	})
}

// Revive changes a refused order to pending under its claimed hold number, at the Redis time `now`, with a new
// deadline and the texts of `claimed`. In the same transaction it takes the units through the guard. The caller must
// read epoch before it takes the hold.
//
//   - ErrStaleEpoch: the sale has another epoch.
//   - ErrNoRow: the order is not refused, or has another hold.
//   - ErrPermanent: no unit is free, or the texts cannot be stored.
func (s Orders) Revive(
	ctx context.Context, claimed shop.Order, epoch int64, now, payBy shop.Millis,
) (shop.Order, error) {
	return inTx(ctx, s.session, "revive order "+claimed.ID.String(), func(tx bun.Conn) (shop.Order, error) {
		before, err := s.lockOrder(ctx, tx, claimed.ID)
		if err != nil || before.State != shop.Refused || before.Hold != claimed.Hold {
			return before, cmp.Or(err, shop.ErrNoRow)
		}
		out := claimed
		out.State, out.Rev, out.Reason, out.PayBy = before.State, before.Rev, "", payBy
		if err := s.keepSteps(ctx, tx, out.ID, shop.Step{State: shop.Pending, At: now}); err != nil {
			return out, err
		}
		row, err := newRow(&out)
		if err != nil {
			return out, err
		}
		err = s.changeState(ctx, tx, &out, shop.Pending,
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
func (s Payments) ReviveLate(
	ctx context.Context, claimed shop.Order, epoch int64, now shop.Millis,
) (shop.Order, error) {
	return inTx(ctx, s.session, "revive order "+claimed.ID.String()+" by a late payment", func(tx bun.Conn) (shop.Order, error) {
		o, err := s.Orders().lockOrder(ctx, tx, claimed.ID)
		if err != nil || o.State != claimed.State || o.Hold != claimed.Hold || o.TradeNo == "" {
			return o, cmp.Or(err, shop.ErrNoRow)
		}
		err = s.Orders().keepSteps(ctx, tx, o.ID,
			shop.Step{State: o.State, At: o.CancelledAt}, shop.Step{State: shop.Paid, At: now})
		if err != nil {
			return o, err
		}
		o.Reason, o.CancelledAt = shop.ReasonPaidLate, 0
		if err := s.Orders().changeState(ctx, tx, &o, shop.Paid, "reason = ?, cancelled_at = 0", o.Reason); err != nil {
			return o, err
		}
		if err := s.Orders().retakeUnits(ctx, tx, &o, epoch); err != nil {
			return o, err
		}
		if err := s.resolve(ctx, tx, o.ID, payment.OutcomeRevived); err != nil {
			return o, err
		}
		if _, err := exec(ctx, tx, "UPDATE trades SET check_at = NULL WHERE order_id = ?", o.ID); err != nil {
			return o, err
		}
		return o, s.Outbox().addOutboxMessage(ctx, tx, &o, now)
	})
}

// retakeUnits takes the units of an ended order through the guard again. If the guard matches no row, it locks the row
// of the sale and returns the reason.
func (s Orders) retakeUnits(ctx context.Context, tx bun.Conn, o *shop.Order, epoch int64) error {
	matched, err := s.guard(ctx, tx, epoch, int64(o.Qty), o)
	if err != nil || matched == 1 {
		return err
	}
	var current int64
	err = tx.QueryRowContext(ctx, "SELECT epoch FROM sales WHERE id = ?"+s.d.forUpdate, o.Sale).Scan(&current)
	if err != nil {
		return err
	}
	if current != epoch {
		return fmt.Errorf("%w: sale %s is at epoch %d, not %d", shop.ErrStaleEpoch, o.Sale, current, epoch)
	}
	return fmt.Errorf("%w: take %d units of sale %s", shop.ErrPermanent, o.Qty, o.Sale)
}

// Resolve sets the final outcome of an order's late payment. A resolved payment does not change.
func (s Payments) Resolve(ctx context.Context, order shop.ID, outcome payment.Outcome) error {
	return s.inTx(ctx, "settle the late payment of order "+order.String(), func(tx bun.Conn) error {
		return s.resolve(ctx, tx, order, outcome)
	})
}

func (s Payments) resolve(ctx context.Context, tx bun.Conn, order shop.ID, outcome payment.Outcome) error {
	_, err := exec(ctx, tx,
		"UPDATE payments SET outcome = ?, unsettled_since = NULL WHERE order_id = ? AND outcome = ?",
		outcome, order, payment.OutcomeLate)
	return err
}

// CountUnresolved counts late payments that were received before the given instant.
func (s Payments) CountUnresolved(ctx context.Context, before shop.Millis) (n int64, err error) {
	err = s.db.NewRaw("SELECT COUNT(*) FROM payments WHERE unsettled_since < ?", before).Scan(ctx, &n)
	return n, wrap("count unresolved payments", err)
}

// Unresolved lists late payments that were received before the given instant, the oldest first. It omits the first
// `skip` payments.
func (s Payments) Unresolved(
	ctx context.Context, before shop.Millis, skip, limit int,
) ([]payment.ReceivedPayment, error) {
	var rows []paymentRow
	err := s.db.NewSelect().Model(&rows).Where("unsettled_since < ?", before).Order("unsettled_since", "trade_no").
		Limit(int64(limit)).Offset(int64(skip)).Scan(ctx)
	return convert(rows, (*paymentRow).received), wrap("list unresolved payments", err)
}
