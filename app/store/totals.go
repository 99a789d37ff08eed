package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
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
// it. An order that had ended before it was refunded holds no units (app.Order.HoldsUnits).
const sumRows = `SELECT COUNT(*) AS orders,
	COALESCE(SUM(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0) AS pending,
	COALESCE(SUM(CASE WHEN state = 'pending' THEN qty ELSE 0 END), 0) AS held,
	COALESCE(SUM(CASE WHEN state IN ('paid', 'shipped', 'finished', 'refunding') AND cancelled_at = 0 THEN qty ELSE 0 END), 0) AS sold,
	COALESCE(SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END), 0) AS gone,
	COALESCE(MAX(ticket), 0) AS max_ticket, COALESCE(MAX(seq), 0) AS max_seq
	FROM orders WHERE sale_id = ?`

// SaleTotals sums the rows of one sale and reads its guard, all as of one instant. ErrNoRow if there is no
// such sale.
func (s *Store) SaleTotals(ctx context.Context, sale app.ID) (app.SaleTotals, error) {
	var t app.SaleTotals
	err := s.inSnapshot(ctx, "sum up sale "+sale.String(), func(tx bun.Tx) error {
		rows, images, err := readSales(ctx, tx, func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("s.id = ?", sale)
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return app.ErrNoRow
		}
		var sums rowSums
		if err := tx.NewRaw(sumRows, sale).Scan(ctx, &sums); err != nil {
			return err
		}
		t = app.SaleTotals{
			Sale: rows[0].sale(images), Taken: rows[0].Taken, Withdrawn: rows[0].Withdrawn,
			HeldUnits: sums.Held, SoldUnits: sums.Sold, GoneUnits: sums.Gone,
			Orders: sums.Orders, PendingRows: sums.Pending, MaxTicket: sums.MaxTicket, MaxSeq: sums.MaxSeq,
		}
		return suspicious(ctx, tx, &t)
	})
	return t, err
}

// suspicious looks for what must never be: buyers over the limit, orders twice under one key (P4), and goods without
// money (P8).
func suspicious(ctx context.Context, tx bun.Tx, t *app.SaleTotals) error {
	// Left alone, MySQL may group by buyer along orders_key, through all orders there are. SQLite does not see the
	// hint.
	ofSale := func() *bun.SelectQuery {
		return tx.NewSelect().Model((*orderRow)(nil)).ForceIndex("orders_sale").Where("sale_id = ?", t.Sale.ID)
	}
	err := ofSale().Column("user_id").Where("state NOT IN (?)", bun.List(idle)).Where("cancelled_at = 0").
		Group("user_id").Having("SUM(qty) > ?", t.Sale.Limit).Order("user_id").Scan(ctx, &t.OverLimit)
	if err != nil {
		return err
	}
	twice := ofSale().ColumnExpr("COUNT(*) AS n").Where("idem_key IS NOT NULL").
		Group("user_id", "idem_key").Having("COUNT(*) > 1")
	err = tx.NewSelect().ColumnExpr("COALESCE(SUM(n - 1), 0)").TableExpr("(?) AS twice", twice).Scan(ctx, &t.Duplicates)
	if err != nil {
		return err
	}
	return tx.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders AS o WHERE sale_id = ? AND state IN ('paid', 'shipped', 'finished')"+
			" AND NOT EXISTS (SELECT 1 FROM payments AS p WHERE p.order_id = o.id AND p.outcome IN (?, ?))",
		t.Sale.ID, app.PaymentTaken, app.PaymentRevived).Scan(&t.Moneyless)
}

// idle are the states that hold no units.
var idle = []app.OrderState{app.Cancelled, app.Expired, app.Refused}
