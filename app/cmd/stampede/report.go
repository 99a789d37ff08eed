package main

import (
	"fmt"

	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
)

type reportCmd struct {
	Sale shop.ID `arg:"" help:"Id of the sale."`
	readFlags
}

func (reportCmd) Help() string {
	return "Shows the rate of reservations, rejected buys per layer, the time from order to payment, the states of " +
		"the orders, the money, and the stock equation in Redis and MySQL. The report is also available while the " +
		"sale is open.\n\nExample:\n\n    stampede report 7301444403200000101"
}

func (c *reportCmd) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var r backoffice.SaleReport
		err := api.get("/sales/"+c.Sale.String()+"/report", nil, &r)
		return e.show(c.JSON, err, r, func() error { return e.printReport(&r) })
	})
}

// printBuys prints the counts of buy attempts. It prints nothing if they were not recorded.
func (e *env) printBuys(p *board.SaleBuys) {
	if p == nil {
		return
	}
	fmt.Fprintf(e.out, "%d buy attempts, %d reserved\n", p.Attempts, p.Reserved)
	for _, rejected := range p.Rejected {
		fmt.Fprintf(e.out, "rejected by %s: %d %s\n", rejected.Layer, rejected.Buys, rejected.Code)
	}
	if w := p.ToOrder; w != nil {
		fmt.Fprintf(e.out, "from buy to order: 50 %% within %d ms, 99 %% within %d ms\n", w.P50, w.P99)
	}
}

func (e *env) printReport(r *backoffice.SaleReport) error {
	fmt.Fprintf(e.out, "sale %s: %s at %s yuan, %s to %s\n\n", r.Sale, r.Product, shop.FormatFen(r.PriceFen),
		e.localTime(r.OpensAt), e.localTime(r.ClosesAt))
	err := table(e, "state\treason\torders\tunits\tyuan", r.States, func(s store.SaleFunnel) []any {
		return []any{s.State, s.Reason, s.Orders, s.Units, shop.FormatFen(s.AmountFen)}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\nfastest second: %d orders\n", r.Speed.Peak)
	if w := r.ToPay; w != nil {
		fmt.Fprintf(e.out, "%d paid: 50 %% within %.1f s, 99 %% within %.1f s\n", w.Orders,
			float64(w.P50)/1000, float64(w.P99)/1000)
	}
	e.printBuys(r.Buys)
	m := &r.Money
	fmt.Fprintf(e.out, "money: %s yuan paid, %s refunded, %s to be refunded, %s net\n\n", shop.FormatFen(m.PaidFen),
		shop.FormatFen(m.RefundedFen), shop.FormatFen(m.RefundingFen), shop.FormatFen(m.NetFen))
	type side struct {
		name string
		recovery.AuditColumn
	}
	err = table(e, "\tinitial\tadded\tstock\theld\tsold\twithdrawn",
		[]side{{"redis", r.Balance.Redis}, {"database", r.Balance.Database}}, func(s side) []any {
			return []any{s.name, s.Initial, s.Added, s.Stock, s.Held, s.Sold, s.Withdrawn}
		})
	for _, f := range r.Balance.Failures {
		fmt.Fprintln(e.out, "inconsistent:", f)
	}
	return err
}
