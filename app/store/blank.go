package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// SalesToBlank lists sales that closed before the given instant, may have personal data, and are due for a check. It
// lists only sales that have left Redis permanently: none of their reservations can become a row.
func (s PersonalData) SalesToBlank(
	ctx context.Context, now, closedBefore shop.Millis, limit int,
) (sales []shop.ID, err error) {
	err = s.db.NewSelect().Model((*saleRow)(nil)).ForceIndex("sales_blank").Column("s.id").
		Where("s.blank_at <= ?", now).Where("s.closes_at < ?", closedBefore).Where("s.retired_at > 0").
		OrderExpr("s.blank_at, s.closes_at, s.id").Limit(int64(limit)).Scan(ctx, &sales)
	return sales, wrap("list sales with personal data", err)
}

// personalCondition matches orders with personal data: an address, or a tracking number, which leads to the address.
const personalCondition = "(o.address IS NOT NULL OR o.tracking <> '')"

// blankableCondition matches orders whose goods and money no longer move. A cancelled or expired order may still be
// paid late, and then shipped, until the gateway reports its final state.
const blankableCondition = "(o.state IN ('finished', 'refused', 'refunded')" +
	" OR (o.state IN ('cancelled', 'expired') AND o.trade_no = ''" +
	" AND NOT EXISTS (SELECT 1 FROM trades t WHERE t.order_id = o.id AND t.check_at IS NOT NULL)))"

// BlankOrders removes personal data from the next settled orders of a sale with an id above after, and from their
// shipments and refunds, in one transaction. It returns the last id, or 0 at the end.
func (s PersonalData) BlankOrders(
	ctx context.Context, sale, after shop.ID, limit int,
) (blanked int64, last shop.ID, err error) {
	return s.blank(ctx, "sale_id", sale, after, limit)
}

// BlankAddresses removes personal data from the settled orders of a user. blanked is the number of changed orders;
// remaining is the number of orders that still have personal data.
func (s PersonalData) BlankAddresses(ctx context.Context, user shop.ID) (blanked, remaining int64, err error) {
	for after := shop.ID(0); ; {
		n, last, err := s.blank(ctx, "user_id", user, after, idsAtOnce)
		blanked += n
		if err != nil {
			return blanked, 0, err
		}
		if last == 0 {
			break
		}
		after = last
	}
	err = s.db.NewRaw("SELECT (SELECT COUNT(*) FROM orders AS o WHERE o.user_id = ? AND "+personalCondition+") +"+
		" (SELECT COUNT(*) FROM problems AS p WHERE p.user_id = ? AND p.entry IS NOT NULL)", user, user).Scan(ctx, &remaining)
	return blanked, remaining, wrap("count orders of user "+user.String()+" with personal data", err)
}

// blank removes personal data from the next orders of a sale or a user, and from their shipments and refunds. The
// orders are found before any lock, so that the lock of an order never waits for the lock of a trade. The UPDATE checks
// their state again.
func (s PersonalData) blank(
	ctx context.Context, column string, id, after shop.ID, limit int,
) (blanked int64, last shop.ID, err error) {
	action := "remove personal data of " + column + " " + id.String()
	var ids []shop.ID
	err = s.db.NewRaw("SELECT o.id FROM orders AS o WHERE o.? = ? AND o.id > ? AND "+personalCondition+" AND "+
		blankableCondition+" ORDER BY o.id LIMIT ?", bun.Ident(column), id, after, limit).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return 0, 0, wrap(action, err)
	}
	blanked, err = inTx(ctx, s.session, action, func(tx bun.Conn) (int64, error) {
		n, err := exec(ctx, tx, "UPDATE orders SET address = NULL, tracking = '', "+keepChangedAt+
			" WHERE state IN ('finished', 'refused', 'refunded', 'cancelled', 'expired') AND id IN (?)", bun.List(ids))
		if err != nil {
			return 0, err
		}
		return n, blankRelated(ctx, tx, ids)
	})
	return blanked, ids[len(ids)-1], err
}

// blankRelated removes tracking numbers and the texts of buyers' refund requests, but no codes of the program. It also
// cancels the completion and the email of a shipment: a refunded order needs neither.
func blankRelated(ctx context.Context, tx bun.Conn, orders []shop.ID) error {
	_, err := exec(ctx, tx,
		"UPDATE shipments SET tracking = '', finish_at = NULL, mail_at = NULL WHERE order_id IN (?)", bun.List(orders))
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, "UPDATE refunds SET reason = '', note = '' WHERE order_id IN (?) AND requested_by > 0"+
		" AND state IN ('done', 'declined')", bun.List(orders))
	return err
}

// PlanBlank sets the next check of a sale, or none if it has no personal data. remaining reports whether some
// personal data remains.
func (s PersonalData) PlanBlank(ctx context.Context, sale shop.ID, next shop.Millis) (remaining bool, err error) {
	err = s.inTx(ctx, "plan the next check of sale "+sale.String()+" for personal data", func(tx bun.Conn) error {
		err := tx.NewRaw("SELECT EXISTS (SELECT 1 FROM orders AS o WHERE o.sale_id = ? AND "+personalCondition+")", sale).
			Scan(ctx, &remaining)
		if err != nil {
			return err
		}
		at := &next
		if !remaining {
			at = nil
		}
		return execMatching(ctx, tx, 1, "plan the next check", "UPDATE sales SET blank_at = ? WHERE id = ?", at, sale)
	})
	return remaining, err
}

// OpensBetween reports whether a sale opens at or after the first instant and before the second.
func (s Sales) OpensBetween(ctx context.Context, from, to shop.Millis) (opens bool, err error) {
	opens, err = s.db.NewSelect().TableExpr("sales").Column("id").Where("opens_at >= ? AND opens_at < ?", from, to).
		Where("archived_at = 0").Exists(ctx)
	return opens, wrap("find sales that open", err)
}

// DeleteGuestAddresses deletes addresses of guests that were entered before the given instant: the tokens of these
// guests have expired. It checks one page of ids above `after` and returns the last id, or 0 at the end.
func (s Addresses) DeleteGuestAddresses(
	ctx context.Context, before shop.Millis, after shop.ID, limit int,
) (deleted int64, last shop.ID, err error) {
	var rows []struct {
		ID      shop.ID     `bun:"id"`
		Created shop.Millis `bun:"created_at"`
	}
	action := "delete address books of guests"
	err = s.db.NewRaw("SELECT id, created_at FROM addresses WHERE id > ? ORDER BY id LIMIT ?", after, limit).
		Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return 0, 0, wrap(action, err)
	}
	var old []shop.ID
	for _, r := range rows {
		if r.Created < before {
			old = append(old, r.ID)
		}
	}
	// Ids grow with time: after a page of recent addresses all addresses are recent.
	if len(rows) == limit && len(old) > 0 {
		last = rows[len(rows)-1].ID
	}
	if len(old) == 0 {
		return 0, last, nil
	}
	err = s.inTx(ctx, action, func(tx bun.Conn) error {
		deleted, err = exec(ctx, tx, "DELETE FROM addresses WHERE id IN (?)"+
			" AND NOT EXISTS (SELECT 1 FROM users AS u WHERE u.id = addresses.user_id)", bun.List(old))
		return err
	})
	return deleted, last, err
}
