package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// ConfirmReceipt flips a shipped order of the user to finished, unless its refund is asked for, which asked tells. It
// answers the row as it is afterwards, flipped or not; ErrNoRow if there is none or it is another user's.
func (s *Store) ConfirmReceipt(ctx context.Context, order, user shop.ID) (o shop.Order, asked bool, err error) {
	err = s.inTx(ctx, "confirm the receipt of order "+order.String(), func(tx bun.Conn) error {
		asked = false
		o, err = s.lockOrderOf(ctx, tx, order, user)
		if err != nil || o.State != shop.Shipped {
			return err
		}
		waiting, err := refundsAsked(ctx, tx, []shop.ID{order})
		if asked = len(waiting) > 0; err != nil || asked {
			return err
		}
		return s.finish(ctx, tx, &o)
	})
	return o, asked, err
}

// FinishShipped finishes shipped orders that are due at the instant now, in one transaction, and returns them. Those
// whose refund is asked for are due again at the instant later. looked is how many were due.
func (s *Store) FinishShipped(
	ctx context.Context, now, later shop.Millis, limit int,
) (finished []shop.Order, looked int, err error) {
	var due []shop.ID
	err = s.db.NewSelect().Model((*shipmentRow)(nil)).Column("order_id").Where("finish_at <= ?", now).
		Order("finish_at").Limit(int64(min(limit, idsAtOnce))).Scan(ctx, &due)
	if err != nil || len(due) == 0 {
		return nil, 0, wrap("look for orders to finish", err)
	}
	err = s.inTx(ctx, "finish orders", func(tx bun.Conn) error {
		finished, err = s.finishDue(ctx, tx, due, now, later)
		return err
	})
	return finished, len(due), err
}

// finishDue looks again at what was due a moment ago, under the locks of the orders: a parcel may have been replaced, a
// refund been asked for or begun meanwhile.
func (s *Store) finishDue(
	ctx context.Context, tx bun.Conn, due []shop.ID, now, later shop.Millis,
) (finished []shop.Order, err error) {
	rows, err := s.lockOrders(ctx, tx, due)
	if err != nil {
		return nil, err
	}
	known, err := shippingOf(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	for _, id := range due {
		if known.orders[id] == nil { // it is not among the orders any more
			if err := dueToFinish(ctx, tx, id, nil); err != nil {
				return nil, err
			}
		}
	}
	for i := range rows {
		o := &rows[i]
		sent := known.sent[o.ID]
		switch {
		case sent == nil || sent.FinishAt == 0 || sent.FinishAt > now:
		case o.State != shop.Shipped:
			err = dueToFinish(ctx, tx, o.ID, nil)
		case known.asked[o.ID]:
			err = dueToFinish(ctx, tx, o.ID, &later)
		default:
			if err = s.finish(ctx, tx, o); err == nil {
				finished = append(finished, *o)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return finished, nil
}

// finish flips a shipped order whose row is locked.
func (s *Store) finish(ctx context.Context, tx bun.Conn, o *shop.Order) error {
	if err := s.turn(ctx, tx, o, shop.Finished); err != nil {
		return err
	}
	return dueToFinish(ctx, tx, o.ID, nil)
}

// dueToFinish says when an order, whose row is locked, finishes by itself; nil: never.
func dueToFinish(ctx context.Context, tx bun.Conn, order shop.ID, at *shop.Millis) error {
	return execMatching(ctx, tx, 1, "plan the end of a locked order",
		"UPDATE shipments SET finish_at = ? WHERE order_id = ?", at, order)
}

// ClaimShipped takes shipped orders whose buyers are to be written to; each comes again after outbox.Lease unless it is
// marked by then.
func (s *Store) ClaimShipped(ctx context.Context, now shop.Millis, limit int) ([]Shipment, error) {
	due := func(db bun.IDB, rows *[]shipmentRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("mail_at <= ?", now).Order("mail_at", "order_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s, "claim letters about shipments", due, func(tx bun.Conn, rows []shipmentRow) error {
		ids := convert(rows, func(r *shipmentRow) shop.ID { return r.Order })
		return execMatching(ctx, tx, len(ids), "put letters off",
			"UPDATE shipments SET mail_at = ? WHERE order_id IN (?)", now.Add(outbox.Lease), bun.List(ids))
	})
	return convert(rows, (*shipmentRow).shipment), err
}

// MarkWritten notes that the letter about a parcel was handed over, unless the parcel was replaced meanwhile. mail_at
// identifies the claim.
func (s *Store) MarkWritten(ctx context.Context, sent Shipment, claimed shop.Millis) error {
	_, err := s.run(ctx, "mark the letter about order "+sent.Order.String(), "UPDATE shipments SET mail_at = NULL"+
		" WHERE order_id = ? AND shipped_at = ? AND tracking = ? AND mail_at = ?",
		sent.Order, sent.ShippedAt, sent.Tracking, claimed.Add(outbox.Lease))
	return err
}

// Rewrite makes the letters about all orders due again that were shipped since the instant and did not finish. Orders
// that are shipped have finish_at, which has an index.
func (s *Store) Rewrite(ctx context.Context, since shop.Millis) error {
	_, err := s.run(ctx, "write about shipments again",
		"UPDATE shipments SET mail_at = shipped_at WHERE finish_at IS NOT NULL AND shipped_at >= ?", since)
	return err
}
