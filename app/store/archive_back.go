package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// orderColumns are those that both tables of orders have.
const orderColumns = "id, sale_id, user_id, part, seq, ticket, hold, qty, price_fen, amount_fen, sale_version, state, rev," +
	" told_rev, untold_since, created_at, pay_by, paid_at, cancelled_at, trade_opened, idem_key, content_hash, trade_no," +
	" tracking, reason, product_name, address, changed_at"

// lockArchived adds to the rows that were locked those that are in the archive, after bringing them back: whoever locks
// an order is about to change it, and all changes are made in orders. It moves again once it has come to rest. What is
// in neither table by then was brought back by somebody else a moment ago, or is not there.
func (s *Store) lockArchived(
	ctx context.Context, tx bun.Conn, rows []app.Order, ids []app.ID,
) ([]app.Order, error) {
	missing := lacking(rows, ids)
	if len(missing) == 0 {
		return rows, nil
	}
	var found []struct {
		ID   app.ID `bun:"id"`
		Sale app.ID `bun:"sale_id"`
	}
	err := tx.NewRaw("SELECT id, sale_id FROM orders_archive WHERE id IN (?) ORDER BY id"+s.d.forUpdate,
		bun.List(missing)).Scan(ctx, &found)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		var back, sales []app.ID
		for _, f := range found {
			back, sales = append(back, f.ID), append(sales, f.Sale)
		}
		if err := bringBack(ctx, tx, back, sales); err != nil {
			return nil, err
		}
	}
	more, err := s.lockLive(ctx, tx, missing)
	return byID(append(rows, more...)), err
}

// bringBack moves locked rows from the archive to orders, as they are.
func bringBack(ctx context.Context, tx bun.Conn, ids, sales []app.ID) error {
	for _, step := range []struct{ what, statement string }{
		{
			"bring archived orders back",
			"INSERT INTO orders (" + orderColumns + ") SELECT " + orderColumns + " FROM orders_archive WHERE id IN (?)",
		},
		{
			// SQLite stamps what is inserted, whatever was said
			"keep the stamps of archived orders",
			"UPDATE orders SET changed_at = (SELECT a.changed_at FROM orders_archive AS a WHERE a.id = orders.id) WHERE id IN (?)",
		},
		{"take orders out of the archive", "DELETE FROM orders_archive WHERE id IN (?)"},
	} {
		if err := execMatching(ctx, tx, len(ids), step.what, step.statement, bun.List(ids)); err != nil {
			return err
		}
	}
	_, err := exec(ctx, tx, "UPDATE sales SET archive_at = 0 WHERE id IN (?)", bun.List(sales))
	return err
}
