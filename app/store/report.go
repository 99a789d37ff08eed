package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/board"
	"stampede/app/shop"
)

// SalePoint is a second, or a minute.
type SalePoint struct {
	At     shop.Millis `json:"at" bun:"at"` // its beginning
	Orders int64       `json:"orders" bun:"orders"`
	Units  int64       `json:"units" bun:"units"`
}

// SaleFate is how many orders are in a state for a reason.
type SaleFate struct {
	State     shop.OrderState `json:"state" bun:"state"`
	Reason    string          `json:"reason,omitempty" bun:"reason"`
	Orders    int64           `json:"orders" bun:"orders"`
	Units     int64           `json:"units" bun:"units"`
	AmountFen int64           `json:"amount_fen" bun:"amount_fen"`
}

// SaleMoney is the money of a sale's orders. Paid is everything that came in for them; what is being refunded has not
// gone back yet.
type SaleMoney struct {
	PaidFen      int64 `json:"paid_fen" bun:"paid_fen"`
	RefundedFen  int64 `json:"refunded_fen" bun:"refunded_fen"`
	RefundingFen int64 `json:"refunding_fen" bun:"refunding_fen"`
	NetFen       int64 `json:"net_fen" bun:"-"` // paid less refunded
}

// SaleSums is what the rows of a sale add up to, in one instant.
type SaleSums struct {
	Seconds, Minutes []SalePoint
	ToPay            board.SaleWaits
	States           []SaleFate
	Dropped          int64
	Money            SaleMoney
}

const (
	aSecond = 1000 // ms
	aMinute = 60 * aSecond
)

// SumUp adds up a sale's rows; seconds are of reservations from one instant to the other.
func (s *Store) SumUp(ctx context.Context, sale shop.ID, from, to shop.Millis) (SaleSums, error) {
	sums := SaleSums{
		Seconds: []SalePoint{}, Minutes: []SalePoint{}, States: []SaleFate{},
	}
	err := s.inSnapshot(ctx, "sum up the orders of sale "+sale.String(), func(tx bun.Tx) error {
		at, err := movedAt(ctx, tx, sale)
		if err != nil {
			return err
		}
		rows := func() *bun.SelectQuery { return rowsOfSale(tx, at != 0, sale) }
		opening := rows().Where("created_at >= ? AND created_at < ?", from, to)
		if err := points(ctx, opening, aSecond, &sums.Seconds); err != nil {
			return err
		}
		if err := points(ctx, rows(), aMinute, &sums.Minutes); err != nil {
			return err
		}
		err = rows().Column("state", "reason").ColumnExpr("COUNT(*) AS orders").ColumnExpr("SUM(qty) AS units").
			ColumnExpr("SUM(amount_fen) AS amount_fen").Group("state", "reason").Order("state", "reason").
			Scan(ctx, &sums.States)
		if err != nil {
			return err
		}
		err = rows().ColumnExpr("COALESCE(SUM(CASE WHEN paid_at > 0 THEN amount_fen ELSE 0 END), 0) AS paid_fen").
			ColumnExpr("COALESCE(SUM(CASE WHEN state = ? THEN amount_fen ELSE 0 END), 0) AS refunded_fen", shop.Refunded).
			ColumnExpr("COALESCE(SUM(CASE WHEN state = ? THEN amount_fen ELSE 0 END), 0) AS refunding_fen", shop.Refunding).
			Scan(ctx, &sums.Money)
		if err == nil && at != 0 {
			err = addDropped(ctx, tx, sale, &sums)
		}
		if err != nil {
			return err
		}
		return waits(ctx, rows, &sums.ToPay)
	})
	return sums, err
}

// addDropped adds the sums of archived orders that an operator deleted.
func addDropped(ctx context.Context, tx bun.Tx, sale shop.ID, sums *SaleSums) error {
	var paid, refunded int64
	err := tx.NewRaw("SELECT COALESCE(SUM(orders), 0), COALESCE(SUM(paid_fen), 0), COALESCE(SUM(refunded_fen), 0)"+
		" FROM archive_drops WHERE sale_id = ?", sale).Scan(ctx, &sums.Dropped, &paid, &refunded)
	sums.Money.PaidFen += paid
	sums.Money.RefundedFen += refunded
	return err
}

// points counts orders by the second, or the minute, in which they were reserved.
func points(ctx context.Context, rows *bun.SelectQuery, each int, into *[]SalePoint) error {
	at := fmt.Sprintf("created_at - created_at %% %d", each)
	return rows.ColumnExpr(at+" AS at").ColumnExpr("COUNT(*) AS orders").ColumnExpr("SUM(qty) AS units").
		GroupExpr(at).OrderExpr(at).Scan(ctx, into)
}

// waits finds how long it took from the reservation to the money.
func waits(ctx context.Context, rows func() *bun.SelectQuery, into *board.SaleWaits) error {
	paid := func() *bun.SelectQuery { return rows().Where("paid_at > 0") }
	n, err := paid().Count(ctx)
	if err != nil || n == 0 {
		return err
	}
	into.Orders = n
	into.P50, err = ranked(ctx, paid(), (n-1)/2)
	if err == nil {
		into.P99, err = ranked(ctx, paid(), (n*99+99)/100-1)
	}
	return err
}

// ranked is how long it took the order before which so many were faster.
func ranked(ctx context.Context, paid *bun.SelectQuery, rank int64) (ms int64, err error) {
	err = paid.ColumnExpr("paid_at - created_at AS ms").OrderExpr("ms").Limit(1).Offset(rank).Scan(ctx, &ms)
	return ms, err
}
