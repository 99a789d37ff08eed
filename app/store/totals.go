package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// rowSums is what the rows of a sale add up to.
type rowSums struct {
	Orders    int64 `bun:"orders"`
	Pending   int64 `bun:"pending"`
	Held      int64 `bun:"held"`
	Sold      int64 `bun:"sold"`
	Gone      int64 `bun:"gone"`
	MaxTicket int64 `bun:"max_ticket"`
	MaxSeq    int64 `bun:"max_seq"`
}

// sumRows does not GROUP BY state: that tempts the optimizer to read all orders there are along an index on
// it. An order that had ended before it was refunded holds no units (shop.Order.HoldsUnits).
const sumRows = `SELECT COUNT(*) AS orders,
	COALESCE(SUM(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0) AS pending,
	COALESCE(SUM(CASE WHEN state = 'pending' THEN qty ELSE 0 END), 0) AS held,
	COALESCE(SUM(CASE WHEN state IN ('paid', 'shipped', 'finished', 'refunding') AND cancelled_at = 0 THEN qty ELSE 0 END), 0) AS sold,
	COALESCE(SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END), 0) AS gone,
	COALESCE(MAX(ticket), 0) AS max_ticket, COALESCE(MAX(seq), 0) AS max_seq
	FROM ? AS o WHERE sale_id = ?`

// droppedSums sums the archived orders of a sale that an operator deleted.
const droppedSums = `SELECT COALESCE(SUM(orders), 0) AS orders, COALESCE(SUM(sold), 0) AS sold,
	COALESCE(SUM(gone), 0) AS gone, COALESCE(MAX(max_ticket), 0) AS max_ticket, COALESCE(MAX(max_seq), 0) AS max_seq
	FROM archive_drops WHERE sale_id = ?`

func (r *rowSums) add(more *rowSums) {
	r.Orders += more.Orders
	r.Pending += more.Pending
	r.Held += more.Held
	r.Sold += more.Sold
	r.Gone += more.Gone
	r.MaxTicket, r.MaxSeq = max(r.MaxTicket, more.MaxTicket), max(r.MaxSeq, more.MaxSeq)
}

// sumUp adds up the rows of a sale in both tables, and what was dropped. Each table is summed by itself.
func sumUp(ctx context.Context, tx bun.Tx, sale shop.ID, moved bool) (sums rowSums, err error) {
	parts := []*bun.RawQuery{tx.NewRaw(sumRows, bun.Ident("orders"), sale)}
	if moved {
		parts = append(parts, tx.NewRaw(sumRows, bun.Ident("orders_archive"), sale), tx.NewRaw(droppedSums, sale))
	}
	for _, part := range parts {
		var some rowSums
		if err := part.Scan(ctx, &some); err != nil {
			return sums, err
		}
		sums.add(&some)
	}
	return sums, nil
}

// SaleTotals sums the rows of one sale and reads its guard, all as of one instant. ErrNoRow: there is no such sale.
func (s *Store) SaleTotals(ctx context.Context, sale shop.ID) (shop.SaleTotals, error) {
	var t shop.SaleTotals
	err := s.inSnapshot(ctx, "sum up sale "+sale.String(), func(tx bun.Tx) error {
		row, read, err := readSale(ctx, tx, sale)
		if err != nil {
			return err
		}
		at, err := movedAt(ctx, tx, sale)
		if err != nil {
			return err
		}
		sums, err := sumUp(ctx, tx, sale, at != 0)
		if err != nil {
			return err
		}
		t = shop.SaleTotals{
			Sale: read, Taken: row.Taken, Withdrawn: row.Withdrawn,
			HeldUnits: sums.Held, SoldUnits: sums.Sold, GoneUnits: sums.Gone,
			Orders: sums.Orders, PendingRows: sums.Pending, MaxTicket: sums.MaxTicket, MaxSeq: sums.MaxSeq,
		}
		err = tx.NewSelect().Model((*stockRow)(nil)).Column("id").
			Where("sale_id = ? AND state = ?", sale, shop.StockPending).Scan(ctx, &t.Pending)
		if err != nil {
			return err
		}
		return s.suspicious(ctx, tx, &t, at != 0)
	})
	return t, err
}

// suspicious looks for what must never be: buyers over the highest limit that the sale has had, orders twice under one
// key (P4), and goods without money (P8).
func (s *Store) suspicious(ctx context.Context, tx bun.Tx, t *shop.SaleTotals, moved bool) error {
	ofSale := func() *bun.SelectQuery { return rowsOfSale(tx, moved, t.Sale.ID) }
	err := ofSale().Column("user_id").Where("state NOT IN (?)", bun.List(idle)).Where("cancelled_at = 0").
		Group("user_id").
		Having("SUM(qty) > (SELECT "+s.d.greatest+"(limit_max, buyer_limit) FROM sales WHERE id = ?)", t.Sale.ID).
		Order("user_id").Scan(ctx, &t.OverLimit)
	if err != nil {
		return err
	}
	twice := ofSale().ColumnExpr("COUNT(*) AS n").Where("idem_key IS NOT NULL").
		Group("user_id", "idem_key").Having("COUNT(*) > 1")
	err = tx.NewSelect().ColumnExpr("COALESCE(SUM(n - 1), 0)").TableExpr("(?) AS twice", twice).Scan(ctx, &t.Duplicates)
	if err != nil {
		return err
	}
	paid := ofSale().Column("id").Where("state IN ('paid', 'shipped', 'finished')")
	return tx.NewRaw("SELECT COUNT(*) FROM (?) AS o WHERE NOT EXISTS"+
		" (SELECT 1 FROM payments AS p WHERE p.order_id = o.id AND p.outcome IN (?, ?))", paid,
		payment.PaymentTaken, payment.PaymentRevived).Scan(ctx, &t.Moneyless)
}

// idle are the states that hold no units.
var idle = []shop.OrderState{shop.Cancelled, shop.Expired, shop.Refused}
