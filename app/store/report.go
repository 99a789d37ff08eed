package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/board"
	"stampede/app/payment"
	"stampede/app/shop"
)

// SalePoint counts the orders of one second or minute.
type SalePoint struct {
	At     shop.Millis `json:"at" bun:"at"` // start of the second or minute
	Orders int64       `json:"orders" bun:"orders"`
	Units  int64       `json:"units" bun:"units"`
}

// SaleFunnel counts the orders with one state and reason.
type SaleFunnel struct {
	State     shop.OrderState `json:"state" bun:"state"`
	Reason    string          `json:"reason,omitempty" bun:"reason"`
	Orders    int64           `json:"orders" bun:"orders"`
	Units     int64           `json:"units" bun:"units"`
	AmountFen int64           `json:"amount_fen" bun:"amount_fen"`
}

// SaleMoney sums the money of a sale's orders. PaidFen contains all payments; RefundingFen is the money whose refund
// has not finished.
type SaleMoney struct {
	PaidFen      int64 `json:"paid_fen" bun:"paid_fen"`
	RefundedFen  int64 `json:"refunded_fen" bun:"refunded_fen"`
	RefundingFen int64 `json:"refunding_fen" bun:"refunding_fen"`
	NetFen       int64 `json:"net_fen" bun:"-"` // paid minus refunded
}

// ReportSums holds the sums for the report of a sale, at one instant. Pruned is the number of deleted orders.
type ReportSums struct {
	Seconds, Minutes []SalePoint
	TimeToPay        board.WaitTimes
	States           []SaleFunnel
	Pruned           int64
	Money            SaleMoney
}

const (
	secondMs = 1000 // ms
	minuteMs = 60 * secondMs
)

// SumSale returns the sums for the report of a sale. Seconds covers the reservations in [from, to).
func (s Reports) SumSale(ctx context.Context, sale shop.ID, from, to shop.Millis) (ReportSums, error) {
	sums := ReportSums{
		Seconds: []SalePoint{}, Minutes: []SalePoint{}, States: []SaleFunnel{},
	}
	err := s.inSnapshot(ctx, "sum the orders of sale "+sale.String(), func(tx bun.Tx) error {
		rows := func() *bun.SelectQuery { return rowsOfSale(tx, sale) }
		opening := rows().Where("created_at >= ? AND created_at < ?", from, to)
		if err := salePoints(ctx, opening, secondMs, &sums.Seconds); err != nil {
			return err
		}
		if err := salePoints(ctx, rows(), minuteMs, &sums.Minutes); err != nil {
			return err
		}
		err := rows().Column("state", "reason").ColumnExpr("COUNT(*) AS orders").ColumnExpr("SUM(qty) AS units").
			ColumnExpr("SUM(amount_fen) AS amount_fen").Group("state", "reason").Order("state", "reason").
			Scan(ctx, &sums.States)
		if err != nil {
			return err
		}
		err = rows().ColumnExpr("COALESCE(SUM(CASE WHEN paid_at > 0 THEN amount_fen ELSE 0 END), 0) AS paid_fen").
			ColumnExpr("COALESCE(SUM(refunded_fen), 0) AS refunded_fen").
			ColumnExpr("COALESCE(SUM(CASE WHEN state = ? THEN amount_fen - refunded_fen ELSE 0 END), 0) AS refunding_fen", shop.Refunding).
			Scan(ctx, &sums.Money)
		if err == nil {
			err = addPruned(ctx, tx, sale, &sums)
		}
		if err != nil {
			return err
		}
		return payWaits(ctx, rows, &sums.TimeToPay)
	})
	return sums, err
}

// rowsOfSale selects the orders of a sale, for sums.
func rowsOfSale(tx bun.IDB, sale shop.ID) *bun.SelectQuery {
	// Without the hint MySQL may scan all orders along orders_key to group by buyer. SQLite ignores the hint.
	return tx.NewSelect().Model((*orderRow)(nil)).ForceIndex("orders_sale").Where("sale_id = ?", sale)
}

// addPruned adds the sums of deleted orders.
func addPruned(ctx context.Context, tx bun.Tx, sale shop.ID, sums *ReportSums) error {
	var paid, refunded int64
	err := tx.NewRaw("SELECT COALESCE(SUM(orders), 0), COALESCE(SUM(paid_fen), 0), COALESCE(SUM(refunded_fen), 0)"+
		" FROM pruned_orders WHERE sale_id = ?", sale).Scan(ctx, &sums.Pruned, &paid, &refunded)
	sums.Money.PaidFen += paid
	sums.Money.RefundedFen += refunded
	return err
}

// salePoints counts orders by the second or minute of their reservation. intervalMs is the length of a point.
func salePoints(ctx context.Context, rows *bun.SelectQuery, intervalMs int, into *[]SalePoint) error {
	at := fmt.Sprintf("created_at - created_at %% %d", intervalMs)
	return rows.ColumnExpr(at+" AS at").ColumnExpr("COUNT(*) AS orders").ColumnExpr("SUM(qty) AS units").
		GroupExpr(at).OrderExpr(at).Scan(ctx, into)
}

// payWaits computes the times from reservation to payment.
func payWaits(ctx context.Context, rows func() *bun.SelectQuery, into *board.WaitTimes) error {
	paid := func() *bun.SelectQuery { return rows().Where("paid_at > 0") }
	n, err := paid().Count(ctx)
	if err != nil || n == 0 {
		return err
	}
	into.Orders = n
	into.P50, err = timeAtRank(ctx, paid(), (n-1)/2)
	if err == nil {
		into.P99, err = timeAtRank(ctx, paid(), (n*99+99)/100-1)
	}
	return err
}

// timeAtRank returns the time from reservation to payment of the order with the given rank; rank 0 is the shortest
// time.
func timeAtRank(ctx context.Context, paid *bun.SelectQuery, rank int64) (ms int64, err error) {
	err = paid.ColumnExpr("paid_at - created_at AS ms").OrderExpr("ms").Limit(1).Offset(rank).Scan(ctx, &ms)
	return ms, err
}

// rowTotals holds the totals of the rows of a sale, for SaleTotals.
type rowTotals struct {
	Orders        int64 `bun:"orders"`
	Pending       int64 `bun:"pending"`
	Held          int64 `bun:"held"`
	Sold          int64 `bun:"sold"`
	RefundedUnits int64 `bun:"gone"`
	MaxTicket     int64 `bun:"max_ticket"`
	MaxSeq        int64 `bun:"max_seq"`
}

// rowTotalsQuery does not GROUP BY state, because the optimizer might then read all orders along an index on it. An
// order that had ended before its refund holds no units (shop.Order.HoldsUnits).
const rowTotalsQuery = `SELECT COUNT(*) AS orders,
	COALESCE(SUM(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0) AS pending,
	COALESCE(SUM(CASE WHEN state = 'pending' THEN qty ELSE 0 END), 0) AS held,
	COALESCE(SUM(CASE WHEN state IN ('paid', 'shipped', 'finished', 'refunding') AND cancelled_at = 0 THEN qty ELSE 0 END), 0) AS sold,
	COALESCE(SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END), 0) AS gone,
	COALESCE(MAX(ticket), 0) AS max_ticket, COALESCE(MAX(seq), 0) AS max_seq
	FROM orders WHERE sale_id = ?`

// prunedTotalsQuery reads the totals of the deleted orders of a sale.
const prunedTotalsQuery = `SELECT COALESCE(SUM(orders), 0) AS orders, COALESCE(SUM(sold), 0) AS sold,
	COALESCE(SUM(gone), 0) AS gone, COALESCE(MAX(max_ticket), 0) AS max_ticket, COALESCE(MAX(max_seq), 0) AS max_seq
	FROM pruned_orders WHERE sale_id = ?`

func (r *rowTotals) add(more *rowTotals) {
	r.Orders += more.Orders
	r.Pending += more.Pending
	r.Held += more.Held
	r.Sold += more.Sold
	r.RefundedUnits += more.RefundedUnits
	r.MaxTicket, r.MaxSeq = max(r.MaxTicket, more.MaxTicket), max(r.MaxSeq, more.MaxSeq)
}

// readRowTotals sums the rows of a sale, and adds its deleted orders.
func readRowTotals(ctx context.Context, tx bun.Tx, sale shop.ID) (sums rowTotals, err error) {
	for _, query := range []string{rowTotalsQuery, prunedTotalsQuery} {
		var some rowTotals
		if err := tx.NewRaw(query, sale).Scan(ctx, &some); err != nil {
			return sums, err
		}
		sums.add(&some)
	}
	return sums, nil
}

// SaleTotals sums the rows of one sale and reads its stock guard (the columns `taken` and `withdrawn`), all at one
// instant. ErrNoRow: no such sale.
func (s Sales) SaleTotals(ctx context.Context, sale shop.ID) (shop.SaleTotals, error) {
	var t shop.SaleTotals
	err := s.inSnapshot(ctx, "sum sale "+sale.String(), func(tx bun.Tx) error {
		row, record, err := readSale(ctx, tx, sale)
		if err != nil {
			return err
		}
		sums, err := readRowTotals(ctx, tx, sale)
		if err != nil {
			return err
		}
		t = shop.SaleTotals{
			Sale: record, Taken: row.Taken, Withdrawn: row.Withdrawn,
			HeldUnits: sums.Held, SoldUnits: sums.Sold, RefundedUnits: sums.RefundedUnits,
			Orders: sums.Orders, PendingRows: sums.Pending, MaxTicket: sums.MaxTicket, MaxSeq: sums.MaxSeq,
		}
		err = tx.NewSelect().Model((*withdrawalRow)(nil)).Column("id").
			Where("sale_id = ? AND state = ?", sale, shop.StockPending).Scan(ctx, &t.Pending)
		if err != nil {
			return err
		}
		return s.findViolations(ctx, tx, &t)
	})
	return t, err
}

// findViolations looks for violations: buyers over the highest limit that the sale has had, several orders with one key
// (P4), and paid, shipped or finished orders without a payment (P8).
func (s Sales) findViolations(ctx context.Context, tx bun.Tx, t *shop.SaleTotals) error {
	ofSale := func() *bun.SelectQuery { return rowsOfSale(tx, t.Sale.ID) }
	err := ofSale().Column("user_id").Where("state NOT IN (?)", bun.List(statesWithoutUnits)).Where("cancelled_at = 0").
		Group("user_id").
		Having("SUM(qty) > (SELECT "+s.d.greatest+"(limit_max, buyer_limit) FROM sales WHERE id = ?)", t.Sale.ID).
		Order("user_id").Scan(ctx, &t.OverLimit)
	if err != nil {
		return err
	}
	repeatedKeys := ofSale().ColumnExpr("COUNT(*) AS n").Where("idem_key IS NOT NULL").
		Group("user_id", "idem_key").Having("COUNT(*) > 1")
	err = tx.NewSelect().ColumnExpr("COALESCE(SUM(n - 1), 0)").TableExpr("(?) AS twice", repeatedKeys).Scan(ctx, &t.Duplicates)
	if err != nil {
		return err
	}
	paid := ofSale().Column("id").Where("state IN ('paid', 'shipped', 'finished')")
	return tx.NewRaw("SELECT COUNT(*) FROM (?) AS o WHERE NOT EXISTS"+
		" (SELECT 1 FROM payments AS p WHERE p.order_id = o.id AND p.outcome IN (?, ?))", paid,
		payment.OutcomeTaken, payment.OutcomeRevived).Scan(ctx, &t.WithoutPayment)
}

// statesWithoutUnits lists the states that hold no units.
var statesWithoutUnits = []shop.OrderState{shop.Cancelled, shop.Expired, shop.Refused}
