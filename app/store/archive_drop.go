package store

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/app/snowflake"
)

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
	Sale        shop.ID `bun:"sale_id"`
	Orders      int64   `bun:"orders"`
	Sold        int64   `bun:"sold"` // units
	Gone        int64   `bun:"gone"` // units of refunded orders
	MaxTicket   int64   `bun:"max_ticket"`
	MaxSeq      int64   `bun:"max_seq"`
	PaidFen     int64   `bun:"paid_fen"`
	RefundedFen int64   `bun:"refunded_fen"`
}

const archivedSums = `SELECT sale_id, COUNT(*) AS orders,
	SUM(CASE WHEN state = 'finished' AND cancelled_at = 0 THEN qty ELSE 0 END) AS sold,
	SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END) AS gone,
	MAX(ticket) AS max_ticket, MAX(seq) AS max_seq,
	SUM(CASE WHEN paid_at > 0 THEN amount_fen ELSE 0 END) AS paid_fen,
	SUM(CASE WHEN state = 'refunded' THEN amount_fen ELSE 0 END) AS refunded_fen
	FROM orders_archive WHERE ? GROUP BY sale_id ORDER BY sale_id`

// ArchivedMonths sums archived orders by month, the oldest first, up to but not including a month; 0: all. It sums
// archived orders by month: IDs begin with their instant.
func (s *Store) ArchivedMonths(ctx context.Context, before shop.Month) ([]ArchivedMonth, error) {
	out := []ArchivedMonth{}
	var first, last sql.NullInt64
	err := s.db.QueryRowContext(ctx, "SELECT MIN(id), MAX(id) FROM orders_archive").Scan(&first, &last)
	if err != nil || !first.Valid {
		return out, wrap("look for the first and last archived order", err)
	}
	end := shop.MonthOf(snowflake.Time(shop.ID(last.Int64))).Next()
	if before != 0 {
		end = min(end, before)
	}
	for m := shop.MonthOf(snowflake.Time(shop.ID(first.Int64))); m < end; m = m.Next() {
		var sums []dropSums
		err := s.db.NewRaw(archivedSums, bun.SafeQuery("id >= ? AND id < ?", snowflake.First(m.Start()),
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

// DropOrders deletes the next settled archived orders, with IDs above after and of before the instant, and their
// shipments, postings and trades, in one transaction. Their sums are added to those of their sales, which so balance at
// each instant. Payments and refunds stay. It returns the last ID that it checked, 0 at the end.
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
		// After the locks: late money locks its order before it is entered.
		ids, err = s.resting(ctx, tx, "orders_archive", ids, now)
		if err != nil || len(ids) == 0 {
			return last, err
		}
		return last, s.dropOrders(ctx, tx, ids, now)
	})
}

// dropOrders deletes locked orders with their shipments, postings and trades, and adds their sums to those of their
// sales. Payments and refunds stay, so that a repeated notification does not count as new money.
func (s *Store) dropOrders(ctx context.Context, tx bun.Conn, ids []shop.ID, now shop.Millis) error {
	var sums []dropSums
	if err := tx.NewRaw(archivedSums, bun.SafeQuery("id IN (?)", bun.List(ids))).Scan(ctx, &sums); err != nil {
		return err
	}
	for i := range sums {
		n := &sums[i]
		_, err := exec(ctx, tx, "INSERT INTO archive_drops (sale_id, orders, sold, gone, max_ticket, max_seq, paid_fen,"+
			" refunded_fen, dropped_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "+s.d.onTaken+
			" orders = archive_drops.orders + ?, sold = archive_drops.sold + ?, gone = archive_drops.gone + ?,"+
			" max_ticket = "+s.d.greatest+"(archive_drops.max_ticket, ?),"+
			" max_seq = "+s.d.greatest+"(archive_drops.max_seq, ?),"+
			" paid_fen = archive_drops.paid_fen + ?, refunded_fen = archive_drops.refunded_fen + ?, dropped_at = ?",
			n.Sale, n.Orders, n.Sold, n.Gone, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen, now,
			n.Orders, n.Sold, n.Gone, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen, now)
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"shipments", "outbox", "trades"} {
		if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE order_id IN (?)", bun.List(ids)); err != nil {
			return err
		}
	}
	return execMatching(ctx, tx, len(ids), "delete dropped orders", "DELETE FROM orders_archive WHERE id IN (?)", bun.List(ids))
}
