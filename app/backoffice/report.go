package backoffice

import (
	"context"
	"errors"
	"strconv"
	"time"

	"stampede/app/board"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// SaleReport summarizes a running or closed sale.
type SaleReport struct {
	Sale     shop.ID     `json:"sale"`
	Product  string      `json:"product"`
	PriceFen int64       `json:"price_fen"`
	OpensAt  shop.Millis `json:"opens_at"`
	ClosesAt shop.Millis `json:"closes_at"`
	At       shop.Millis `json:"at"` // time of the report

	Speed SaleSpeed        `json:"speed"`
	ToPay *board.WaitTimes `json:"to_pay,omitempty"` // from reservation to payment; absent: no payments
	// Buys counts the buy attempts; absent: no counts, or they have expired.
	Buys    *board.SaleBuys      `json:"buys,omitempty"`
	States  []store.SaleFunnel   `json:"states"`
	Pruned  int64                `json:"pruned,omitempty"` // deleted orders: totals only
	Money   store.SaleMoney      `json:"money"`
	Balance recovery.AuditReport `json:"balance"` // the stock equation in Redis and the database
}

// SaleSpeed is the rate of reservations that became orders, by Redis time.
type SaleSpeed struct {
	Seconds []store.SalePoint `json:"seconds"` // of the first two minutes, without empty seconds
	Minutes []store.SalePoint `json:"minutes"` // of the whole sale, without empty minutes
	Peak    int64             `json:"peak"`    // maximum per second in the first two minutes
}

// ReportService creates reports.
type ReportService struct {
	Reader  Reader
	Redis   *streams.Inventory
	Auditor *recovery.Auditor
	Clock   *shop.Clock
}

// reportSeconds is the period after the opening that is reported per second, in milliseconds.
const reportSeconds = 120_000

// SaleReport creates the report of a sale. NotFound: no such sale.
func (rs *ReportService) SaleReport(ctx context.Context, id shop.ID) (SaleReport, error) {
	sale, err := rs.Auditor.Store.Sales().Sale(ctx, id)
	if errors.Is(err, shop.ErrNoRow) || err == nil && sale.Hidden {
		return SaleReport{}, shop.ErrNoSale
	}
	if err != nil {
		return SaleReport{}, shop.Unavailable("the sale", err)
	}
	sums, err := rs.Reader.SumSale(ctx, id, sale.OpensAt, sale.OpensAt+reportSeconds)
	if err != nil {
		return SaleReport{}, shop.Unavailable("the orders of the sale", err)
	}
	balance, err := rs.Auditor.AuditSale(ctx, id)
	if err != nil {
		return SaleReport{}, shop.Unavailable("the stock of the sale", err)
	}
	figures, err := rs.Redis.Figures().SaleFigures(ctx, id)
	if err != nil {
		return SaleReport{}, shop.Unavailable("the counts of the sale", err)
	}
	r := SaleReport{
		Sale: id, Product: sale.Product.Name, PriceFen: sale.PriceFen, OpensAt: sale.OpensAt, ClosesAt: sale.ClosesAt,
		At: rs.Clock.Now(), Speed: SaleSpeed{Seconds: sums.Seconds, Minutes: sums.Minutes},
		Buys: board.BuysOf(figures), States: sums.States, Pruned: sums.Pruned, Money: sums.Money, Balance: balance,
	}
	for _, s := range sums.Seconds {
		r.Speed.Peak = max(r.Speed.Peak, s.Orders)
	}
	if sums.TimeToPay.Orders > 0 {
		// The gateway's clock has a resolution of one second, so a payment can appear to precede its reservation.
		sums.TimeToPay.P50, sums.TimeToPay.P99 = max(0, sums.TimeToPay.P50), max(0, sums.TimeToPay.P99)
		r.ToPay = &sums.TimeToPay
	}
	r.Money.NetFen = r.Money.PaidFen - r.Money.RefundedFen
	return r, nil
}

// CSV returns the report as a table with the columns section, name, orders, units and fen; a cell without a value is
// empty. Times are in the zone, with its offset from UTC.
func (r *SaleReport) CSV(zone *time.Location) []byte {
	var lines [][]string
	line := func(section, name, orders, units, fen string) {
		lines = append(lines, []string{section, name, orders, units, fen})
	}
	when := func(at shop.Millis) string { return at.Time().In(zone).Format(time.RFC3339) }
	line("sale", r.Product, "", "", number(r.PriceFen))
	for _, p := range r.Speed.Seconds {
		line("second", when(p.At), number(p.Orders), number(p.Units), "")
	}
	for _, p := range r.Speed.Minutes {
		line("minute", when(p.At), number(p.Orders), number(p.Units), "")
	}
	if r.ToPay != nil {
		line("to_pay_ms", "p50 "+number(r.ToPay.P50), number(r.ToPay.Orders), "", "")
		line("to_pay_ms", "p99 "+number(r.ToPay.P99), number(r.ToPay.Orders), "", "")
	}
	if p := r.Buys; p != nil {
		line("presses", "pressed", number(p.Attempts), "", "")
		line("presses", "reserved", number(p.Reserved), "", "")
		for _, rejected := range p.Rejected {
			line("rejected", string(rejected.Layer)+" "+string(rejected.Code), number(rejected.Buys), "", "")
		}
		if w := p.ToOrder; w != nil {
			line("to_order_ms", "p50 "+number(w.P50), number(w.Orders), "", "")
			line("to_order_ms", "p99 "+number(w.P99), number(w.Orders), "", "")
		}
	}
	for _, s := range r.States {
		name := string(s.State)
		if s.Reason != "" {
			name += " " + s.Reason
		}
		line("state", name, number(s.Orders), number(s.Units), number(s.AmountFen))
	}
	line("money", "paid", "", "", number(r.Money.PaidFen))
	line("money", "refunded", "", "", number(r.Money.RefundedFen))
	line("money", "refunding", "", "", number(r.Money.RefundingFen))
	line("money", "net", "", "", number(r.Money.NetFen))
	for i, s := range []recovery.AuditColumn{r.Balance.Redis, r.Balance.Database} {
		side := []string{"redis ", "database "}[i]
		units := []int64{s.Initial, s.Added, s.Stock, s.Held, s.Sold, s.Withdrawn}
		for n, name := range []string{"initial", "added", "stock", "held", "sold", "withdrawn"} {
			line("balance", side+name, "", number(units[n]), "")
		}
	}
	return writeTable([]string{"section", "name", "orders", "units", "fen"}, lines)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
