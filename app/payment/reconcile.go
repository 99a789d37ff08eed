package payment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"stampede/app/shop"
)

// PayDifference is a difference between the records of the shop and the gateway, or an anomaly that needs an operator.
type PayDifference struct {
	Order   shop.ID `json:"order"`
	Kind    string  `json:"kind"`
	Message string  `json:"message"`
}

// ReconciliationReport compares a day's payments with the gateway. A trade that was open at midnight appears on both
// days. Its money counts on the day of payment.
type ReconciliationReport struct {
	Day         string          `json:"day"`
	Orders      int             `json:"orders"`       // compared orders
	Paid        int             `json:"paid"`         // orders that were paid on the day
	TakenFen    int64           `json:"taken_fen"`    // money that the gateway received for the paid orders
	ReturnedFen int64           `json:"returned_fen"` // part of TakenFen that was refunded until now, on any day
	Differences []PayDifference `json:"differences"`
	// Next is the last order of this part; the next part starts after it. 0: this is the last part.
	Next shop.ID `json:"next,omitzero"`
}

// CalendarDay returns the calendar day of date in a zone, from midnight to midnight. The day may be
// shorter or longer than 24 hours.
func CalendarDay(date time.Time, zone *time.Location) (from, to time.Time) {
	year, month, day := date.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, zone), time.Date(year, month, day+1, 0, 0, 0, 0, zone)
}

const (
	payDayBatch   = 200 // orders per part: a few seconds of queries
	payDayQueries = 4   // running queries: few, because the queries of flow 3 have priority
	recheckPause  = 3 * time.Second
)

// DailyReconciliation compares the records of a day with the gateway's, order by order. It corrects nothing.
type DailyReconciliation struct {
	Trades  Trades
	Orders  Orders
	Gateway Gateway        // nil: the shop takes no payments
	Zone    *time.Location // time zone of the days

	pause time.Duration // pause before differing orders are compared again; 0: recheckPause
}

// ReconcileDay compares the next part of a day's orders: those after the order `after`; 0: the first part. WrongState:
// the shop has no gateway.
func (d *DailyReconciliation) ReconcileDay(
	ctx context.Context, day time.Time, after shop.ID,
) (ReconciliationReport, error) {
	if d.Gateway == nil {
		return ReconciliationReport{}, errNoGateway
	}
	from, to := CalendarDay(day, d.Zone)
	report, err := d.part(ctx, shop.MillisOf(from), shop.MillisOf(to), after)
	report.Day = from.Format(time.DateOnly)
	return report, shop.Unavailable("the payments of the day", err)
}

// part compares some orders of [from, to). It compares orders with differences a second time, because
// they may have changed during the first comparison. An error means that the database is unreadable. A failed gateway
// query is a difference.
func (d *DailyReconciliation) part(
	ctx context.Context, from, to shop.Millis, after shop.ID,
) (ReconciliationReport, error) {
	report := ReconciliationReport{Differences: []PayDifference{}}
	orders, err := d.Trades.OrdersOfDay(ctx, from, to, after, payDayBatch)
	if err != nil {
		return report, fmt.Errorf("list the orders: %w", err)
	}
	if len(orders) == payDayBatch {
		report.Next = orders[payDayBatch-1]
	}
	onDay := func(at shop.Millis) bool { return from <= at && at < to }
	return report, d.compare(ctx, &report, onDay, orders)
}

var errNoGateway = shop.Fail(shop.WrongState, "STAMPEDE_ALIPAY_APP_ID is not set: set it to compare with the gateway")

// differences compares the given orders.
func (d *DailyReconciliation) differences(ctx context.Context, orders []shop.ID) ([]PayDifference, error) {
	report := ReconciliationReport{Differences: []PayDifference{}}
	for chunk := range slices.Chunk(orders, payDayBatch) {
		if err := d.compare(ctx, &report, func(shop.Millis) bool { return false }, chunk); err != nil {
			return nil, err
		}
	}
	return report.Differences, nil
}

func (d *DailyReconciliation) compare(
	ctx context.Context, report *ReconciliationReport, onDay func(shop.Millis) bool, orders []shop.ID,
) error {
	first, err := d.readCases(ctx, orders)
	if err != nil {
		return err
	}
	differing := shop.Where(first, func(c payDayCase) bool { return len(c.differences()) > 0 })
	rechecked := make(map[shop.ID]*payDayCase, len(differing))
	if len(differing) > 0 {
		if !shop.Sleep(ctx, cmp.Or(d.pause, recheckPause)) {
			return ctx.Err()
		}
		second, err := d.readCases(ctx, shop.Mapped(differing, func(c payDayCase) shop.ID { return c.order }))
		if err != nil {
			return err
		}
		for i := range second {
			rechecked[second[i].order] = &second[i]
		}
	}
	for i := range first {
		c := &first[i]
		if newer := rechecked[c.order]; newer != nil {
			c = newer
		}
		report.Orders++
		if c.received() && onDay(c.paidAt()) {
			report.Paid++
			report.TakenFen += c.trade.AmountFen
			report.ReturnedFen += c.trade.RefundedFen
		}
		report.Differences = append(report.Differences, c.differences()...)
	}
	return nil
}

// readCases queries the gateway before it reads the database, so that payments settled in between are not differences.
func (d *DailyReconciliation) readCases(ctx context.Context, orders []shop.ID) ([]payDayCase, error) {
	cases := make([]payDayCase, len(orders))
	_ = shop.Concurrently(payDayQueries, len(orders), func(i int) error {
		trade, err := d.Gateway.Query(ctx, orders[i])
		cases[i] = payDayCase{order: orders[i], trade: trade, queryErr: err}
		return nil
	})
	rows, err := d.Orders.OrdersByID(ctx, orders)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	payments, err := d.Trades.PaymentsOf(ctx, orders)
	if err != nil {
		return nil, fmt.Errorf("read payments: %w", err)
	}
	found, byOrder := shop.ByID(rows), make(map[shop.ID][]ReceivedPayment, len(payments))
	for _, payment := range payments {
		byOrder[payment.Order] = append(byOrder[payment.Order], payment)
	}
	for i := range cases {
		cases[i].row, cases[i].payments = found[cases[i].order], byOrder[cases[i].order]
	}
	return cases, nil
}
