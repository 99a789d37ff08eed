package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// An order is in one of two tables (I1): in orders, or, once its sale closed long ago, in orders_archive. A statement
// sees both as of one instant, so one that reads both misses no row that moves meanwhile. The columns of both are the
// same, and so are, on MySQL, the names of their indexes. In the archive an order changes only by late money, which is
// refunded, and by the removal of personal data.
const (
	liveOrders     = "orders AS ?TableAlias"
	archivedOrders = "orders_archive AS ?TableAlias"
)

// readBoth reads orders of either table; limit bounds the answer, and narrow had better bound each half of it.
func (s *Store) readBoth(
	ctx context.Context, what, order string, limit int, narrow func(q *bun.SelectQuery, table string) *bun.SelectQuery,
) ([]shop.Order, error) {
	var rows []orderRow
	if err := bothTables(s.db, order, limit, narrow).Scan(ctx, &rows); err != nil {
		return nil, wrap(what, err)
	}
	return orders(rows)
}

func bothTables(
	db bun.IDB, order string, limit int, narrow func(q *bun.SelectQuery, table string) *bun.SelectQuery,
) *bun.RawQuery {
	part := func(table string) *bun.SelectQuery {
		return narrow(db.NewSelect().Model((*orderRow)(nil)).ModelTableExpr(table), table)
	}
	return db.NewRaw("SELECT * FROM (?) AS live UNION ALL SELECT * FROM (?) AS archived ORDER BY "+order+" LIMIT ?",
		part(liveOrders), part(archivedOrders), limit)
}

// withArchived adds those of the orders that are not among the rows because they are in the archive.
func (s *Store) withArchived(ctx context.Context, what string, rows []shop.Order, ids []shop.ID) ([]shop.Order, error) {
	missing := lacking(rows, ids)
	if len(missing) == 0 {
		return rows, nil
	}
	more, err := s.readBoth(ctx, what, "id", len(missing), func(q *bun.SelectQuery, _ string) *bun.SelectQuery {
		return q.Where("id IN (?)", bun.List(missing))
	})
	return byID(append(rows, more...)), err
}

// lacking are the ids that no row has, each once.
func lacking(rows []shop.Order, ids []shop.ID) []shop.ID {
	if len(rows) == len(ids) { // nearly always: rows are distinct, and of these IDs
		return nil
	}
	known := make(map[shop.ID]bool, len(rows))
	for i := range rows {
		known[rows[i].ID] = true
	}
	var out []shop.ID
	for _, id := range ids {
		if !known[id] {
			known[id] = true
			out = append(out, id)
		}
	}
	return out
}

func byID(rows []shop.Order) []shop.Order {
	slices.SortFunc(rows, func(a, b shop.Order) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

// summed are the columns that sums of a sale need.
var summed = []string{
	"id", "user_id", "sale_id", "qty", "state", "reason", "amount_fen", "paid_at", "cancelled_at", "created_at", "idem_key",
	"ticket", "seq",
}

// rowsOfSale selects all orders of a sale, for sums. Most sales have none in the archive.
func rowsOfSale(tx bun.IDB, moved bool, sale shop.ID) *bun.SelectQuery {
	// Left alone, MySQL may group by buyer along orders_key, through all orders. SQLite does not see the hint.
	part := func(table string) *bun.SelectQuery {
		return tx.NewSelect().Model((*orderRow)(nil)).ModelTableExpr(table).ForceIndex("orders_sale").
			Where("sale_id = ?", sale)
	}
	if !moved {
		return part(liveOrders)
	}
	return tx.NewSelect().TableExpr("(SELECT * FROM (?) AS live UNION ALL SELECT * FROM (?) AS archived) AS order_row",
		part(liveOrders).Column(summed...), part(archivedOrders).Column(summed...))
}

// movedAt is when an order of the sale first went to the archive; 0: none has.
func movedAt(ctx context.Context, tx bun.IDB, sale shop.ID) (at shop.Millis, err error) {
	err = tx.NewRaw("SELECT COALESCE(MAX(moved_at), 0) FROM sales WHERE id = ?", sale).Scan(ctx, &at)
	return at, err
}
