package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// SalesToBlank lists sales that closed before the given instant, have left Redis, and may have personal data.
func (s *Store) SalesToBlank(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error) {
	return s.salesDue(ctx, blankTask, now, closedBefore, limit)
}

// personalCondition matches orders with personal data: an address, or a tracking number, which leads to the address.
const personalCondition = "(o.address IS NOT NULL OR o.tracking <> '')"

var blankTask = saleTask{"blank_at", "sales_blank", "EXISTS (SELECT 1 FROM orders" + personalOfSaleCondition +
	" OR EXISTS (SELECT 1 FROM orders_archive" + personalOfSaleCondition}

const personalOfSaleCondition = " AS o WHERE o.sale_id = ?0 AND " + personalCondition + ")"

// blankableCondition matches orders whose goods and money no longer move. A cancelled or expired order may still be
// paid late, and then shipped, until the gateway reports its final state.
const blankableCondition = "(o.state IN ('finished', 'refused', 'refunded')" +
	" OR (o.state IN ('cancelled', 'expired') AND o.trade_no = ''" +
	" AND NOT EXISTS (SELECT 1 FROM trades t WHERE t.order_id = o.id AND t.check_at IS NOT NULL)))"

// BlankOrders removes personal data from the next settled orders of a sale with an id above after, in both tables and
// in their shipments and refunds, in one transaction. It returns the last id, or 0 at the end.
func (s *Store) BlankOrders(
	ctx context.Context, sale, after shop.ID, limit int,
) (blanked int64, last shop.ID, err error) {
	return s.blank(ctx, "sale_id", sale, after, limit)
}

// BlankAddresses removes personal data from the settled orders of a user, in both tables. blanked is the number of
// changed orders; remaining is the number of orders that still have personal data.
func (s *Store) BlankAddresses(ctx context.Context, user shop.ID) (blanked, remaining int64, err error) {
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
	err = s.db.NewRaw("SELECT COUNT(*) FROM orders AS o WHERE o.user_id = ? AND "+personalCondition, user).Scan(ctx, &remaining)
	return blanked, remaining, wrap("count orders of user "+user.String()+" with personal data", err)
}

// blank removes personal data from the next orders of a sale or a user, in both tables, and from their shipments and
// refunds. Orders outside the archive are found before any lock, so that the lock of an order never waits for the lock
// of a trade. The UPDATE checks their state again. The table `orders` is updated first: an order that is moved
// meanwhile is then found in the archive.
func (s *Store) blank(
	ctx context.Context, column string, id, after shop.ID, limit int,
) (blanked int64, last shop.ID, err error) {
	action := "remove personal data of " + column + " " + id.String()
	const part = "SELECT * FROM (SELECT o.id FROM ? AS o WHERE o.? = ? AND o.id > ? AND " + personalCondition
	var ids []shop.ID
	err = s.db.NewRaw(part+" AND "+blankableCondition+" ORDER BY o.id LIMIT ?) AS live UNION ALL "+part+
		" ORDER BY o.id LIMIT ?) AS archived ORDER BY id LIMIT ?",
		bun.Ident("orders"), bun.Ident(column), id, after, limit,
		bun.Ident("orders_archive"), bun.Ident(column), id, after, limit, limit).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return 0, 0, wrap(action, err)
	}
	blanked, err = inTx(ctx, s, action, func(tx bun.Conn) (n int64, _ error) {
		for _, update := range []string{
			"orders SET address = NULL, tracking = '', " + keepChangedAt +
				" WHERE state IN ('finished', 'refused', 'refunded', 'cancelled', 'expired') AND id IN (?)",
			"orders_archive SET address = NULL, tracking = '', " + keepChangedAt + " WHERE id IN (?)",
		} {
			matched, err := exec(ctx, tx, "UPDATE "+update, bun.List(ids))
			if n += matched; err != nil {
				return n, err
			}
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
	_, err = exec(ctx, tx, "UPDATE refunds SET reason = '', note = '' WHERE order_id IN (?) AND asked_by > 0"+
		" AND state IN ('done', 'declined')", bun.List(orders))
	return err
}

// PlanBlank sets the next check of a sale, or none if it has no personal data. remaining reports whether some
// personal data remains.
func (s *Store) PlanBlank(ctx context.Context, sale shop.ID, next shop.Millis) (remaining bool, err error) {
	return s.planSale(ctx, blankTask, sale, next)
}

// DeleteGuestAddresses deletes addresses of guests that were entered before the given instant: the tokens of these
// guests have expired. It checks one page of ids above `after` and returns the last id, or 0 at the end.
func (s *Store) DeleteGuestAddresses(
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
