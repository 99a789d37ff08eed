package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// LostOrders writes orders and refunds that only the gateway still has. It implements payment.LostOrders.
type LostOrders struct{ *session }

// InsertPaid writes the row of an order that has ended, for a payment without an order. A repeat changes nothing.
func (s LostOrders) InsertPaid(ctx context.Context, o shop.Order, epoch int64) error {
	_, err := s.Orders().InsertLost(ctx, epoch, []shop.NewOrder{o}, nil)
	return err
}

// IsPruned reports whether old orders of the sale were deleted.
func (s LostOrders) IsPruned(ctx context.Context, sale shop.ID) (bool, error) {
	var n int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM pruned_orders WHERE sale_id = ?", sale).Scan(&n)
	return n > 0, wrap("read the pruned orders of sale "+sale.String(), err)
}

// BookRefund enters a refund that the gateway has made. A refund of the whole amount changes the order to refunded; a
// partial one keeps its state. A repeat changes nothing. ErrNoRow: no such order.
func (s LostOrders) BookRefund(ctx context.Context, made payment.MadeRefund) (shop.Order, error) {
	return inTx(ctx, s.session, "book a refund of order "+made.Order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.Orders().lockOrder(ctx, tx, made.Order)
		if err != nil {
			return o, err
		}
		amount := min(made.AmountFen, o.AmountFen-o.RefundedFen)
		if amount <= 0 || !refundBookable(o.State) {
			return o, nil
		}
		var all []refundRow
		if err := s.locking(tx.NewSelect().Model(&all).Where("order_id = ?", o.ID)).Scan(ctx); err != nil {
			return o, err
		}
		row := refundRow{
			Order: o.ID, Request: cmp.Or(made.Request, payment.RefundNumber(o.ID, len(all)+1)),
			Reason: payment.ReasonRefundShop, RequestedAt: made.At, DecidedAt: made.At,
		}
		known := slices.IndexFunc(all, func(r refundRow) bool {
			return r.Request == made.Request || made.Request == "" && r.pending()
		})
		if known >= 0 {
			row = all[known]
		}
		if row.State == payment.RefundDone {
			return o, nil
		}
		o.RefundedFen += amount
		to := o.State
		if o.RefundedFen == o.AmountFen {
			to = shop.Refunded
		}
		if err := s.Refunds().setState(ctx, tx, &o, to); err != nil {
			return o, err
		}
		row.State, row.AmountFen, row.DoneAt, row.NextAt, row.Note = payment.RefundDone, amount, made.At, nil, ""
		if known >= 0 {
			_, err = tx.NewUpdate().Model(&row).WherePK().Exec(ctx)
		} else {
			err = insert(ctx, tx, &row)
		}
		if err != nil || to != shop.Refunded {
			return o, err
		}
		_, err = exec(ctx, tx, "UPDATE refunds SET state = ?, next_at = NULL, note = ? WHERE order_id = ? AND state <> ?",
			payment.RefundDeclined, "refunded by "+row.Request, o.ID, payment.RefundDone)
		if err != nil {
			return o, err
		}
		return o, s.Outbox().addOutboxMessage(ctx, tx, &o, made.At)
	})
}

// refundBookable reports whether the money of an order in this state may have been refunded outside of this program.
func refundBookable(state shop.OrderState) bool {
	switch state {
	case shop.Paid, shop.Shipped, shop.Finished, shop.Refunding:
		return true
	}
	return false
}

// AnomalyRefunded records that the gateway has refunded a payment that does not fit an order.
func (s LostOrders) AnomalyRefunded(ctx context.Context, tradeNo string) error {
	_, err := s.run(ctx, "record the refund of trade "+tradeNo, "UPDATE payments SET outcome = ?, unsettled_since = NULL"+
		" WHERE trade_no = ? AND outcome IN (?)", payment.OutcomeRefunded, tradeNo,
		bun.List(append(slices.Clone(payment.Anomalies), payment.OutcomeRefunding)))
	return err
}

// RetryAnomaly schedules the next attempt to refund an anomaly.
func (s LostOrders) RetryAnomaly(ctx context.Context, tradeNo string, at shop.Millis) error {
	_, err := s.run(ctx, "schedule the refund of trade "+tradeNo,
		"UPDATE payments SET unsettled_since = ? WHERE trade_no = ? AND outcome = ?", at, tradeNo, payment.OutcomeRefunding)
	return err
}

// RefundAnomalies decides to refund anomalies: the one with the given trade number, or, if it is empty, all with the
// outcome. It returns their number and their sum.
func (s LostOrders) RefundAnomalies(
	ctx context.Context, tradeNo string, outcome payment.Outcome, now shop.Millis,
) (n int, fen int64, err error) {
	err = s.inTx(ctx, "refund anomalies", func(tx bun.Conn) error {
		var rows []paymentRow
		q := s.locking(tx.NewSelect().Model(&rows).Where("outcome IN (?)", bun.List(payment.Anomalies)))
		if err := whereSet(whereSet(q, "trade_no = ?", tradeNo), "outcome = ?", outcome).Scan(ctx); err != nil {
			return err
		}
		for chunk := range slices.Chunk(rows, idsAtOnce) {
			numbers := convert(chunk, func(r *paymentRow) string { return r.TradeNo })
			err := execMatching(ctx, tx, len(chunk), "refund trades",
				"UPDATE payments SET outcome = ?, unsettled_since = ? WHERE trade_no IN (?)", payment.OutcomeRefunding, now,
				bun.List(numbers))
			if err != nil {
				return err
			}
		}
		for i := range rows {
			fen += rows[i].AmountFen
		}
		n = len(rows)
		return nil
	})
	return n, fen, err
}
