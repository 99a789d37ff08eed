package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// ConfirmReceipt changes a shipped order of the user to finished, unless a refund is requested; refundRequested is then
// true. It returns the resulting row, changed or not. ErrNoRow: no such order of this user.
func (s Shipments) ConfirmReceipt(
	ctx context.Context, order, user shop.ID, now shop.Millis,
) (o shop.Order, refundRequested bool, err error) {
	err = s.inTx(ctx, "confirm the receipt of order "+order.String(), func(tx bun.Conn) error {
		refundRequested = false
		o, err = s.Orders().lockOrderOf(ctx, tx, order, user)
		if err != nil || o.State != shop.Shipped {
			return err
		}
		waiting, err := requestedRefunds(ctx, tx, []shop.ID{order})
		if refundRequested = len(waiting) > 0; err != nil || refundRequested {
			return err
		}
		return s.finish(ctx, tx, &o, now)
	})
	return o, refundRequested, err
}

// FinishShipped finishes shipped orders that are due at the instant now, in one transaction, and returns them. Orders
// with a requested refund become due again at the instant `later`. checked is the number of due orders.
func (s Shipments) FinishShipped(
	ctx context.Context, now, later shop.Millis, limit int,
) (finished []shop.Order, checked int, err error) {
	var due []shop.ID
	err = s.db.NewSelect().Model((*shipmentRow)(nil)).Column("order_id").Where("finish_at <= ?", now).
		Order("finish_at").Limit(int64(min(limit, idsAtOnce))).Scan(ctx, &due)
	if err != nil || len(due) == 0 {
		return nil, 0, wrap("list orders to finish", err)
	}
	err = s.inTx(ctx, "finish orders", func(tx bun.Conn) error {
		finished, err = s.finishDue(ctx, tx, due, now, later)
		return err
	})
	return finished, len(due), err
}

// finishDue checks the due orders again under their locks: since the first read, a parcel may have been replaced, or a
// refund requested or started.
func (s Shipments) finishDue(
	ctx context.Context, tx bun.Conn, due []shop.ID, now, later shop.Millis,
) (finished []shop.Order, err error) {
	rows, err := s.Orders().lockOrders(ctx, tx, due)
	if err != nil {
		return nil, err
	}
	known, err := shippingOf(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	for _, id := range due {
		if known.orders[id] == nil { // the order is no longer in the tables
			if err := setFinishAt(ctx, tx, id, nil); err != nil {
				return nil, err
			}
		}
	}
	for i := range rows {
		o := &rows[i]
		sent := known.shipments[o.ID]
		switch {
		case sent == nil || sent.FinishAt == 0 || sent.FinishAt > now:
		case o.State != shop.Shipped:
			err = setFinishAt(ctx, tx, o.ID, nil)
		case known.refundRequested[o.ID]:
			err = setFinishAt(ctx, tx, o.ID, &later)
		default:
			if err = s.finish(ctx, tx, o, now); err == nil {
				finished = append(finished, *o)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return finished, nil
}

// finish changes a shipped order, whose row is locked, to finished.
func (s Shipments) finish(ctx context.Context, tx bun.Conn, o *shop.Order, now shop.Millis) error {
	if err := s.Refunds().setState(ctx, tx, o, shop.Finished); err != nil {
		return err
	}
	if err := s.Orders().keepSteps(ctx, tx, o.ID, shop.Step{State: shop.Finished, At: now}); err != nil {
		return err
	}
	return setFinishAt(ctx, tx, o.ID, nil)
}

// setFinishAt sets the instant at which an order, whose row is locked, finishes without a confirmation of the buyer;
// nil: never.
func setFinishAt(ctx context.Context, tx bun.Conn, order shop.ID, at *shop.Millis) error {
	return execMatching(ctx, tx, 1, "plan the end of a locked order",
		"UPDATE shipments SET finish_at = ? WHERE order_id = ?", at, order)
}

// ClaimShipped claims shipped orders whose buyers need an email. A claim that is not marked is due again after
// outbox.Lease.
func (s Shipments) ClaimShipped(ctx context.Context, now shop.Millis, limit int) ([]Shipment, error) {
	due := func(db bun.IDB, rows *[]shipmentRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("mail_at <= ?", now).Order("mail_at", "order_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s.session, "claim e-mails about shipments", due, func(tx bun.Conn, rows []shipmentRow) error {
		ids := convert(rows, func(r *shipmentRow) shop.ID { return r.Order })
		return execMatching(ctx, tx, len(ids), "postpone e-mails",
			"UPDATE shipments SET mail_at = ? WHERE order_id IN (?)", now.Add(outbox.Lease), bun.List(ids))
	})
	return convert(rows, (*shipmentRow).shipment), err
}

// MarkEmailSent records that the email about a parcel was given to the mail queue, unless the parcel was replaced
// meanwhile. claimed is the instant of the claim, which mail_at identifies.
func (s Shipments) MarkEmailSent(ctx context.Context, sent Shipment, claimed shop.Millis) error {
	_, err := s.run(ctx, "mark the e-mail about order "+sent.Order.String(), "UPDATE shipments SET mail_at = NULL"+
		" WHERE order_id = ? AND shipped_at = ? AND tracking = ? AND mail_at = ?",
		sent.Order, sent.ShippedAt, sent.Tracking, claimed.Add(outbox.Lease))
	return err
}

// RescheduleEmails makes the emails due again for all orders that were shipped since the given instant and are not
// finished. Exactly these orders have finish_at, which is indexed.
func (s Shipments) RescheduleEmails(ctx context.Context, since shop.Millis) error {
	_, err := s.run(ctx, "repeat e-mails about shipments",
		"UPDATE shipments SET mail_at = shipped_at WHERE finish_at IS NOT NULL AND shipped_at >= ?", since)
	return err
}
