package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// SalesToBlank lists sales whose orders may say something of people. See app.ArchiveStore.
func (s *Store) SalesToBlank(ctx context.Context, now, closedBefore app.Millis, limit int) ([]app.ID, error) {
	return s.salesDue(ctx, "blank_at", "sales_blank", now, closedBefore, limit)
}

// personal is what orders say of people: where a parcel went, and the number that leads its carrier there.
const personal = "(o.address IS NOT NULL OR o.tracking <> '')"

// BlankOrders takes the next orders of a table. See app.ArchiveStore.
func (s *Store) BlankOrders(ctx context.Context, step app.BlankStep) (blanked int64, last app.ID, err error) {
	what := "blank orders of sale " + step.Sale.String()
	table, narrow, keep := "orders", " AND "+over, ", "+unstamped
	if step.Archived { // all of them are over, and no stamp changes by itself
		table, narrow, keep = "orders_archive", "", ""
	}
	var ids []app.ID
	err = s.db.NewRaw("SELECT o.id FROM ? AS o WHERE o.sale_id = ? AND o.id > ? AND "+personal+narrow+
		" ORDER BY o.id LIMIT ?", bun.Ident(table), step.Sale, step.After, step.Limit).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return 0, 0, wrap(what, err)
	}
	blanked, err = inTx(ctx, s, what, func(tx bun.Conn) (int64, error) {
		n, err := exec(ctx, tx, "UPDATE "+table+" SET address = NULL, tracking = ''"+keep+" WHERE id IN (?)"+
			" AND state IN ('finished', 'refused', 'refunded', 'cancelled', 'expired')", bun.List(ids))
		if err != nil {
			return 0, err
		}
		return n, blankAround(ctx, tx, ids)
	})
	return blanked, ids[len(ids)-1], err
}

// blankAround takes out what hangs on orders that are over: the numbers of parcels, and what buyers wrote to have their
// money back. Codes of the program stay, they name nobody.
func blankAround(ctx context.Context, tx bun.Conn, orders []app.ID) error {
	_, err := exec(ctx, tx, "UPDATE shipments SET tracking = '' WHERE order_id IN (?) AND finish_at IS NULL AND mail_at IS NULL",
		bun.List(orders))
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, "UPDATE refunds SET reason = '', note = '' WHERE order_id IN (?) AND asked_by > 0"+
		" AND state IN ('done', 'declined')", bun.List(orders))
	return err
}

// PlanBlank says when the orders of a sale are looked at next. See app.ArchiveStore.
func (s *Store) PlanBlank(ctx context.Context, sale app.ID, next app.Millis) (left bool, err error) {
	err = s.inTx(ctx, "plan the next blanking of sale "+sale.String(), func(tx bun.Conn) error {
		var at app.Millis
		if err := tx.QueryRowContext(ctx, "SELECT closes_at FROM sales WHERE id = ?"+s.d.forUpdate, sale).
			Scan(&at); err != nil {
			return err
		}
		err := tx.NewRaw("SELECT EXISTS (SELECT 1 FROM orders AS o WHERE o.sale_id = ? AND "+personal+") OR EXISTS"+
			" (SELECT 1 FROM orders_archive AS o WHERE o.sale_id = ? AND "+personal+")", sale, sale).Scan(ctx, &left)
		if err != nil {
			return err
		}
		plan := &next
		if !left {
			plan = nil
		}
		return execMatching(ctx, tx, 1, "plan it", "UPDATE sales SET blank_at = ? WHERE id = ?", plan, sale)
	})
	return left, err
}

// ForgetGuests deletes the books of guests: nobody can open them any more. See app.ArchiveStore.
func (s *Store) ForgetGuests(
	ctx context.Context, before app.Millis, after app.ID, limit int,
) (deleted int64, last app.ID, err error) {
	var rows []struct {
		ID      app.ID     `bun:"id"`
		User    app.ID     `bun:"user_id"`
		Created app.Millis `bun:"created_at"`
	}
	what := "delete address books of guests"
	err = s.db.NewRaw("SELECT id, user_id, created_at FROM addresses WHERE id > ? ORDER BY id LIMIT ?", after, limit).
		Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return 0, 0, wrap(what, err)
	}
	var old []app.ID
	for _, r := range rows {
		if r.Created < before {
			old = append(old, r.ID)
		}
	}
	if len(rows) == limit && len(old) > 0 { // ids grow with time: after a page of young ones come none that are old
		last = rows[len(rows)-1].ID
	}
	if len(old) == 0 {
		return 0, last, nil
	}
	err = s.inTx(ctx, what, func(tx bun.Conn) error {
		deleted, err = exec(ctx, tx, "DELETE FROM addresses WHERE id IN (?)"+
			" AND NOT EXISTS (SELECT 1 FROM users AS u WHERE u.id = addresses.user_id)", bun.List(old))
		return err
	})
	return deleted, last, err
}
