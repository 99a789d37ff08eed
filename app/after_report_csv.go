package app

import (
	"strconv"
	"time"
)

// CSV returns the report as a table with the columns section, name, orders, units and fen; a cell without a value is
// empty. Times are in the zone, with its offset from UTC.
func (r *SaleReport) CSV(zone *time.Location) []byte {
	var lines [][]string
	line := func(section, name, orders, units, fen string) {
		lines = append(lines, []string{section, name, orders, units, fen})
	}
	when := func(at Millis) string { return at.Time().In(zone).Format(time.RFC3339) }
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
	if p := r.Presses; p != nil {
		line("presses", "pressed", number(p.Pressed), "", "")
		line("presses", "reserved", number(p.Reserved), "", "")
		for _, away := range p.TurnedAway {
			line("turned_away", string(away.Layer)+" "+string(away.Code), number(away.Buys), "", "")
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
	for i, s := range []AuditColumn{r.Balance.Redis, r.Balance.Database} {
		side := []string{"redis ", "database "}[i]
		units := []int64{s.Initial, s.Added, s.Stock, s.Held, s.Sold, s.Withdrawn}
		for n, name := range []string{"initial", "added", "stock", "held", "sold", "withdrawn"} {
			line("balance", side+name, "", number(units[n]), "")
		}
	}
	return writeTable([]string{"section", "name", "orders", "units", "fen"}, lines)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
