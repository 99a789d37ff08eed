package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// saleReportCSV answers the report of a sale for spreadsheets.
func (a *api) saleReportCSV(c *fiber.Ctx) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), flowTimeout)
	defer cancel()
	report, err := a.Shop.SaleReport(ctx, id)
	if err != nil {
		return err
	}
	text, err := reportCSV(&report, a.Zone)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="sale-`+id.String()+`.csv"`)
	return c.Send(text)
}

// reportCSV writes a report as lines of section, name, orders, units and fen; what a line does not have is empty.
// Times are by the clocks of the zone, with what these are ahead of UTC.
func reportCSV(r *app.SaleReport, zone *time.Location) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	line := func(section, name, orders, units, fen string) {
		_ = w.Write([]string{section, unlikeFormula(name), orders, units, fen}) // a buffer takes everything
	}
	when := func(at app.Millis) string { return at.Time().In(zone).Format(time.RFC3339) }
	_ = w.Write([]string{"section", "name", "orders", "units", "fen"})
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
			name += " " + unlikeFormula(s.Reason)
		}
		line("state", name, number(s.Orders), number(s.Units), number(s.AmountFen))
	}
	line("money", "paid", "", "", number(r.Money.PaidFen))
	line("money", "refunded", "", "", number(r.Money.RefundedFen))
	line("money", "refunding", "", "", number(r.Money.RefundingFen))
	line("money", "net", "", "", number(r.Money.NetFen))
	for i, s := range []app.AuditColumn{r.Balance.Redis, r.Balance.Database} {
		side := []string{"redis ", "database "}[i]
		for _, n := range []struct {
			name  string
			units int64
		}{
			{"initial", s.Initial},
			{"added", s.Added},
			{"stock", s.Stock},
			{"held", s.Held},
			{"sold", s.Sold},
			{"withdrawn", s.Withdrawn},
		} {
			line("balance", side+n.name, "", number(n.units), "")
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// unlikeFormula keeps a spreadsheet from computing what somebody has typed.
func unlikeFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
