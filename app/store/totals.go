package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// stateSum is what the rows of a sale in one state add up to.
type stateSum struct {
	State     app.OrderState `bun:"state"`
	Orders    int64          `bun:"orders"`
	Units     int64          `bun:"units"`
	MaxTicket int64          `bun:"max_ticket"`
	MaxSeq    int64          `bun:"max_seq"`
}

// SaleTotals sums the rows of one sale and reads its guard, all as of one instant. ErrNoRow if there is no such sale.
func (s *Store) SaleTotals(ctx context.Context, sale app.ID) (app.SaleTotals, error) {
	var t app.SaleTotals
	err := s.inSnapshot(ctx, "sum up sale "+sale.String(), func(tx bun.Tx) error {
		rows, images, err := readSales(ctx, tx, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("s.id = ?", sale) })
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return app.ErrNoRow
		}
		t = app.SaleTotals{Sale: rows[0].sale(images), Taken: rows[0].Taken, Withdrawn: rows[0].Withdrawn}
		var sums []stateSum
		err = tx.NewRaw("SELECT state, COUNT(*) AS orders, SUM(qty) AS units, MAX(ticket) AS max_ticket, MAX(seq) AS max_seq"+
			" FROM orders WHERE sale_id = ? GROUP BY state", sale).Scan(ctx, &sums)
		if err != nil {
			return err
		}
		for _, sum := range sums {
			add(&t, sum)
		}
		return suspicious(ctx, tx, &t)
	})
	return t, err
}

func add(t *app.SaleTotals, sum stateSum) {
	t.Orders += sum.Orders
	t.MaxTicket, t.MaxSeq = max(t.MaxTicket, sum.MaxTicket), max(t.MaxSeq, sum.MaxSeq)
	switch sum.State {
	case app.Pending:
		t.HeldUnits += sum.Units
		t.PendingRows += sum.Orders
	case app.Paid, app.Shipped, app.Finished, app.Refunding:
		t.SoldUnits += sum.Units
	case app.Refunded:
		t.GoneUnits += sum.Units
	}
}

// suspicious looks for what must never be: buyers over the limit, and orders twice under one key (P4).
func suspicious(ctx context.Context, tx bun.Tx, t *app.SaleTotals) error {
	err := tx.NewRaw("SELECT user_id FROM orders WHERE sale_id = ? AND state NOT IN (?)"+
		" GROUP BY user_id HAVING SUM(qty) > ? ORDER BY user_id",
		t.Sale.ID, bun.List(idle), t.Sale.Limit).Scan(ctx, &t.OverLimit)
	if err != nil {
		return err
	}
	return tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(n - 1), 0) FROM (SELECT COUNT(*) AS n FROM orders"+
		" WHERE sale_id = ? AND idem_key IS NOT NULL GROUP BY user_id, idem_key HAVING COUNT(*) > 1) AS twice",
		t.Sale.ID).Scan(&t.Duplicates)
}

// idle are the states that hold no units.
var idle = []app.OrderState{app.Cancelled, app.Expired, app.Refused}
