package main

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"stampede/app/payment"
	"stampede/app/server"
	"stampede/app/shop"
)

type pay struct {
	List      payList      `cmd:"" help:"Search for payments."`
	Reconcile payReconcile `cmd:"" help:"Compare the payments of a day with the gateway."`
	Gateway   payGateway   `cmd:"" help:"Show or change the gateway of the shop."`
}

type payGateway struct {
	Change bool `help:"Make the gateway in the settings of this process the gateway of the shop."`
	JSON   bool `name:"json" help:"Print JSON, for scripts."`
	actorFlags
}

func (payGateway) Help() string {
	return "The first node with a gateway makes it the gateway of the shop: provider, mode, app and seller. Only this gateway " +
		"has a valid reply about the payments of the shop. A process with another one, or with none, takes no payments; it starts " +
		"only with the role api. Use --change before you move the shop to another account. It fails while trades or refunds " +
		"of the present gateway are open: close all sales and wait a day.\n\nExamples:\n\n" +
		"    stampede pay gateway\n" +
		"    stampede pay gateway --change --note \"new account\""
}

func (c *payGateway) Run(e *env) error {
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		gateway, err := t.Gateway(e.ctx, c.Change)
		return e.show(c.JSON, err, gateway, func() error {
			if gateway.Name == "" {
				fmt.Fprintln(e.out, "the shop has no gateway: it takes no payments")
			} else {
				fmt.Fprintln(e.out, gateway)
			}
			return nil
		})
	})
}

type payReconcile struct {
	Day string `required:"" placeholder:"YYYY-MM-DD" help:"Day in the time zone of the shop (STAMPEDE_TIME_ZONE)."`
	readFlags
}

type payList struct {
	Query string          `arg:"" optional:"" name:"query" help:"Number of a trade or of an order."`
	State payment.Outcome `placeholder:"STATE" help:"Only payments with this outcome, for example late."`
	Limit int             `default:"50" help:"Maximum number of payments, 1 to 1000."`
	readFlags
}

func (c *payList) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("%w: --limit is %d, want 1 to 1000", errUsage, c.Limit)
	}
	if c.State != "" && !c.State.Valid() {
		return fmt.Errorf("%w: --state is %q, want taken, late, revived, refunded, unknown_order, wrong_amount, "+
			"second_trade or never_payable", errUsage, c.State)
	}
	query := url.Values{"q": {c.Query}, "state": {string(c.State)}}
	return e.read(c.readFlags, func(api *client) error {
		number := func(p *payment.ReceivedPayment) string { return p.TradeNo }
		payments, err := pages(api, collection{"/payments", "payments"}, query, c.Limit, number)
		return list(e, c.JSON, err, payments, listing[payment.ReceivedPayment]{
			none: "no payments", head: "trade\torder\tyuan\tpaid\tstate",
			columns: func(p payment.ReceivedPayment) []any {
				return []any{p.TradeNo, p.Order, shop.FormatFen(p.AmountFen), e.localTime(p.PaidAt), p.Outcome}
			},
		})
	})
}

// errReconciliation sets exit status 3 for a comparison with differences; they were already printed.
var errReconciliation = errors.New("the shop and the gateway differ")

func (payReconcile) Help() string {
	return "Queries the gateway about each order with a payment, or with an open trade, on that day, and compares the " +
		"result with the payments, orders and refunds of the shop. A payment counts on the day on which it was " +
		"paid. Its refunds count on the same day, also when they are made later. The command prints the " +
		"differences and corrects nothing; deploy/RUNBOOK.md describes each kind of difference. The exit code is 3 " +
		"if there is a difference or the gateway is unreachable.\n\nExamples:\n\n" +
		"    stampede pay reconcile --day 2026-11-20\n" +
		"    stampede pay reconcile --day 2026-11-20 --json"
}

func (c *payReconcile) Run(e *env) error {
	if _, err := time.Parse(time.DateOnly, c.Day); err != nil {
		return fmt.Errorf("%w: --day is %q, want a day like 2026-11-20", errUsage, c.Day)
	}
	return e.read(c.readFlags, func(api *client) error {
		report, err := c.report(api)
		err = e.show(c.JSON, err, report, func() error { return e.reconciliationTable(&report) })
		if err == nil && len(report.Differences) > 0 {
			err = errReconciliation
		}
		return err
	})
}

// report reads all parts of the day's comparison.
func (c *payReconcile) report(api *client) (payment.ReconciliationReport, error) {
	day := payment.ReconciliationReport{Day: c.Day, Differences: []payment.PayDifference{}}
	query := url.Values{"day": {c.Day}}
	for {
		var part payment.ReconciliationReport
		if err := api.get("/payments/reconciliation", query, &part); err != nil {
			return day, err
		}
		day.Orders += part.Orders
		day.Paid += part.Paid
		day.TakenFen += part.TakenFen
		day.ReturnedFen += part.ReturnedFen
		day.Differences = append(day.Differences, part.Differences...)
		if part.Next == 0 {
			return day, nil
		}
		query.Set("after", part.Next.String())
	}
}

func (e *env) reconciliationTable(r *payment.ReconciliationReport) error {
	if len(r.Differences) > 0 {
		err := table(e, 0, "order\tdifference\t", r.Differences, func(d payment.PayDifference) []any {
			return []any{d.Order, d.Kind, d.Message}
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(e.out,
		"%s: %d orders, %d of them paid that day: the gateway has taken %s yuan and refunded %s of them, %d differences\n",
		r.Day, r.Orders, r.Paid, shop.FormatFen(r.TakenFen), shop.FormatFen(r.ReturnedFen), len(r.Differences))
	return nil
}
