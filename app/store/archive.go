package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/app/snowflake"
)

// An order is in one of two tables (I1): in orders or, long after its sale closed, in orders_archive. A statement sees
// both tables at the same instant. A statement that reads both tables therefore misses no row during a move. Both
// tables have the same columns and, on MySQL, the same index names. In the archive an order changes only by a late
// payment, which is refunded, and by the removal of personal data.
const (
	liveOrders     = "orders AS ?TableAlias"
	archivedOrders = "orders_archive AS ?TableAlias"
)

// readBoth reads at most limit orders of both tables. `narrow` adds the
// conditions and the limit to the query of each table.
func (s *Store) readBoth(
	ctx context.Context, action, order string, limit int,
	narrow func(q *bun.SelectQuery, table string) *bun.SelectQuery,
) ([]shop.Order, error) {
	var rows []orderRow
	if err := bothTables(s.db, order, limit, narrow).Scan(ctx, &rows); err != nil {
		return nil, wrap(action, err)
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

// withArchived adds the orders that are missing in rows because they are in the archive.
func (s *Store) withArchived(
	ctx context.Context, action string, rows []shop.Order, ids []shop.ID,
) ([]shop.Order, error) {
	missing := missing(rows, ids)
	if len(missing) == 0 {
		return rows, nil
	}
	more, err := s.readBoth(ctx, action, "id", len(missing), func(q *bun.SelectQuery, _ string) *bun.SelectQuery {
		return q.Where("id IN (?)", bun.List(missing))
	})
	return byID(append(rows, more...)), err
}

// missing returns the ids without a row, without duplicates.
func missing(rows []shop.Order, ids []shop.ID) []shop.ID {
	if len(rows) == len(ids) { // the usual case: rows contains each of these ids once
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

// sumColumns lists the columns that sums of a sale need.
var sumColumns = []string{
	"id", "user_id", "sale_id", "qty", "state", "reason", "amount_fen", "paid_at", "cancelled_at", "created_at", "idem_key",
	"ticket", "seq",
}

// rowsOfSale selects all orders of a sale, for sums. moved reports whether some of them are in the archive, which is
// rare.
func rowsOfSale(tx bun.IDB, moved bool, sale shop.ID) *bun.SelectQuery {
	// Without the hint MySQL may scan all orders along orders_key to group by buyer. SQLite ignores the hint.
	part := func(table string) *bun.SelectQuery {
		return tx.NewSelect().Model((*orderRow)(nil)).ModelTableExpr(table).ForceIndex("orders_sale").
			Where("sale_id = ?", sale)
	}
	if !moved {
		return part(liveOrders)
	}
	return tx.NewSelect().TableExpr("(SELECT * FROM (?) AS live UNION ALL SELECT * FROM (?) AS archived) AS order_row",
		part(liveOrders).Column(sumColumns...), part(archivedOrders).Column(sumColumns...))
}

// movedAt returns the instant at which the first order of the sale was moved to the archive; 0: no order was moved.
func movedAt(ctx context.Context, tx bun.IDB, sale shop.ID) (at shop.Millis, err error) {
	err = tx.NewRaw("SELECT COALESCE(MAX(moved_at), 0) FROM sales WHERE id = ?", sale).Scan(ctx, &at)
	return at, err
}

// ArchivedMonth sums the archived orders of a month.
type ArchivedMonth struct {
	Month       shop.Month `json:"month"`
	Orders      int64      `json:"orders"`
	Sales       int        `json:"sales"`
	PaidFen     int64      `json:"paid_fen"`
	RefundedFen int64      `json:"refunded_fen"`
}

// dropSums sums archived orders of a sale.
type dropSums struct {
	Sale          shop.ID `bun:"sale_id"`
	Orders        int64   `bun:"orders"`
	Sold          int64   `bun:"sold"` // units
	RefundedUnits int64   `bun:"gone"` // units of refunded orders
	MaxTicket     int64   `bun:"max_ticket"`
	MaxSeq        int64   `bun:"max_seq"`
	PaidFen       int64   `bun:"paid_fen"`
	RefundedFen   int64   `bun:"refunded_fen"`
}

const archivedSumsQuery = `SELECT sale_id, COUNT(*) AS orders,
	SUM(CASE WHEN state = 'finished' AND cancelled_at = 0 THEN qty ELSE 0 END) AS sold,
	SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END) AS gone,
	MAX(ticket) AS max_ticket, MAX(seq) AS max_seq,
	SUM(CASE WHEN paid_at > 0 THEN amount_fen ELSE 0 END) AS paid_fen,
	SUM(CASE WHEN state = 'refunded' THEN amount_fen ELSE 0 END) AS refunded_fen
	FROM orders_archive WHERE ? GROUP BY sale_id ORDER BY sale_id`

// ArchivedMonths sums archived orders by the month of their creation, which ids contain, the oldest first. It omits the
// month `before` and later months; 0: it includes all months.
func (s *Store) ArchivedMonths(ctx context.Context, before shop.Month) ([]ArchivedMonth, error) {
	out := []ArchivedMonth{}
	var first, last sql.NullInt64
	err := s.db.QueryRowContext(ctx, "SELECT MIN(id), MAX(id) FROM orders_archive").Scan(&first, &last)
	if err != nil || !first.Valid {
		return out, wrap("find the first and last archived order", err)
	}
	end := shop.MonthOf(snowflake.Time(shop.ID(last.Int64))).Next()
	if before != 0 {
		end = min(end, before)
	}
	for m := shop.MonthOf(snowflake.Time(shop.ID(first.Int64))); m < end; m = m.Next() {
		var sums []dropSums
		err := s.db.NewRaw(archivedSumsQuery, bun.SafeQuery("id >= ? AND id < ?", snowflake.First(m.Start()),
			snowflake.First(m.Next().Start()))).Scan(ctx, &sums)
		if err != nil {
			return nil, wrap("sum the archived orders of "+m.String(), err)
		}
		month := ArchivedMonth{Month: m, Sales: len(sums)}
		for i := range sums {
			month.Orders += sums[i].Orders
			month.PaidFen += sums[i].PaidFen
			month.RefundedFen += sums[i].RefundedFen
		}
		if month.Orders > 0 {
			out = append(out, month)
		}
	}
	return out, nil
}

// DropOrders deletes the next settled archived orders, with ids above after and created before the given instant,
// together with their shipments, postings and trades, in one transaction. Their sums are added to the sums of their
// sales, so that the sales balance at each instant. Payments and refunds stay. It returns the last id that it checked,
// or 0 at the end.
func (s *Store) DropOrders(
	ctx context.Context, before shop.Millis, after shop.ID, now shop.Millis, limit int,
) (last shop.ID, err error) {
	return inTx(ctx, s, "delete archived orders", func(tx bun.Conn) (shop.ID, error) {
		var ids []shop.ID
		err := tx.NewRaw("SELECT id FROM orders_archive WHERE id > ? AND id < ? ORDER BY id LIMIT ?"+s.d.forUpdate,
			after, snowflake.First(before), limit).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		last := ids[len(ids)-1]
		// Check after locking, because a late payment is entered under the lock of its order.
		ids, err = s.settledOrders(ctx, tx, "orders_archive", ids, now)
		if err != nil || len(ids) == 0 {
			return last, err
		}
		return last, s.dropOrders(ctx, tx, ids, now)
	})
}

// dropOrders deletes locked orders with their shipments, postings, trades and states, and adds their sums to the sums
// of their sales. Payments and refunds stay, so that a repeated payment notification does not count as new money.
func (s *Store) dropOrders(ctx context.Context, tx bun.Conn, ids []shop.ID, now shop.Millis) error {
	var sums []dropSums
	if err := tx.NewRaw(archivedSumsQuery, bun.SafeQuery("id IN (?)", bun.List(ids))).Scan(ctx, &sums); err != nil {
		return err
	}
	for i := range sums {
		n := &sums[i]
		_, err := exec(ctx, tx, "INSERT INTO archive_drops (sale_id, orders, sold, gone, max_ticket, max_seq, paid_fen,"+
			" refunded_fen, dropped_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "+s.d.onDuplicate+
			" orders = archive_drops.orders + ?, sold = archive_drops.sold + ?, gone = archive_drops.gone + ?,"+
			" max_ticket = "+s.d.greatest+"(archive_drops.max_ticket, ?),"+
			" max_seq = "+s.d.greatest+"(archive_drops.max_seq, ?),"+
			" paid_fen = archive_drops.paid_fen + ?, refunded_fen = archive_drops.refunded_fen + ?, dropped_at = ?",
			n.Sale, n.Orders, n.Sold, n.RefundedUnits, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen, now,
			n.Orders, n.Sold, n.RefundedUnits, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen, now)
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"shipments", "outbox", "trades", "order_states"} {
		if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE order_id IN (?)", bun.List(ids)); err != nil {
			return err
		}
	}
	return execMatching(ctx, tx, len(ids), "delete dropped orders", "DELETE FROM orders_archive WHERE id IN (?)", bun.List(ids))
}
