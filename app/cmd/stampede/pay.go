package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"stampede/app/payment"
	"stampede/app/server"
	"stampede/app/shop"
)

type pay struct {
	List      payList      `cmd:"" help:"Search for payments."`
	Reconcile payReconcile `cmd:"" help:"Compare payments and refunds with the gateway."`
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
	From string `placeholder:"YYYY-MM-DD" help:"First day in the time zone of the shop (STAMPEDE_TIME_ZONE)."`
	To   string `placeholder:"YYYY-MM-DD" help:"Last day; default: the first."`
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
		return fmt.Errorf("%w: --state is %q, want taken, late, revived, refunding, refunded, unknown_order, "+
			"wrong_amount, second_trade or never_payable", errUsage, c.State)
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
	return "Without days, the command lists the known differences between the shop and the gateway. Nodes compare once a day, " +
		"and after each loss of writes.\n\nWith days, it compares in both directions. First it reads the gateway's own lists: a " +
		"trade or refund that differs is queried and settled, and a paid order that all stores have lost is written again. " +
		"Then it queries the gateway about each order with a payment, or with an open trade, on these days. A payment counts on " +
		"the day on which it was paid. Its refunds count on the same day, also when they are made later. " +
		"deploy/RUNBOOK.md describes each kind of difference. The exit code is 3 if there is a difference or the gateway is " +
		"unreachable.\n\nExamples:\n\n" +
		"    stampede pay reconcile\n" +
		"    stampede pay reconcile --from 2026-11-20 --to 2026-11-22\n" +
		"    stampede pay reconcile --from 2026-11-20 --json"
}

// comparedDay has both directions of the comparison of a day.
type comparedDay struct {
	payment.ReconciliationReport
	Lists payment.ListingReport `json:"lists"`
}

func (c *payReconcile) Run(e *env) error {
	days, err := c.days()
	if err != nil {
		return err
	}
	return e.read(c.readFlags, func(api *client) error {
		if len(days) == 0 {
			return c.listKnown(e, api)
		}
		differ := false
		compared := make([]comparedDay, len(days))
		for i, day := range days {
			if compared[i], err = compareDay(api, day); err != nil {
				return err
			}
			differ = differ || len(compared[i].Differences) > 0
			if !c.JSON {
				if err := e.reconciliationTable(&compared[i]); err != nil {
					return err
				}
			}
		}
		if c.JSON {
			err = e.json(compared)
		}
		if err == nil && differ {
			err = errReconciliation
		}
		return err
	})
}

// days returns the given days; none: only the known differences are listed.
func (c *payReconcile) days() (days []string, err error) {
	if c.From == "" && c.To == "" {
		return nil, nil
	}
	from, err := time.Parse(time.DateOnly, c.From)
	if err != nil {
		return nil, fmt.Errorf("%w: --from is %q, want a day like 2026-11-20", errUsage, c.From)
	}
	to, err := time.Parse(time.DateOnly, cmp.Or(c.To, c.From))
	if err != nil || to.Before(from) {
		return nil, fmt.Errorf("%w: --to is %q, want a day like 2026-11-20, not before --from", errUsage, c.To)
	}
	for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
		days = append(days, day.Format(time.DateOnly))
	}
	return days, nil
}

func (c *payReconcile) listKnown(e *env, api *client) error {
	var known struct {
		Differences []payment.PayDifference `json:"differences"`
	}
	err := api.get("/payments/differences", nil, &known)
	err = e.show(c.JSON, err, known, func() error {
		if len(known.Differences) == 0 {
			fmt.Fprintln(e.out, "no differences")
			return nil
		}
		return e.differencesTable(known.Differences)
	})
	if err == nil && len(known.Differences) > 0 {
		err = errReconciliation
	}
	return err
}

// compareDay compares the gateway's lists, then all parts of the day's orders.
func compareDay(api *client, day string) (comparedDay, error) {
	var d comparedDay
	d.Day, d.Differences = day, []payment.PayDifference{}
	if err := api.change("POST", "/payments/lists", map[string]string{"day": day}, &d.Lists); err != nil {
		return d, err
	}
	query := url.Values{"day": {day}}
	for {
		var part payment.ReconciliationReport
		if err := api.get("/payments/reconciliation", query, &part); err != nil {
			return d, err
		}
		d.Orders += part.Orders
		d.Paid += part.Paid
		d.TakenFen += part.TakenFen
		d.ReturnedFen += part.ReturnedFen
		d.Differences = append(d.Differences, part.Differences...)
		if part.Next == 0 {
			break
		}
		query.Set("after", part.Next.String())
	}
	for _, listed := range d.Lists.Differences { // orders without a payment on this day are only in the lists
		if !slices.Contains(d.Differences, listed) {
			d.Differences = append(d.Differences, listed)
		}
	}
	return d, nil
}

func (e *env) differencesTable(differences []payment.PayDifference) error {
	return table(e, "order\tdifference", differences, func(d payment.PayDifference) []any {
		return []any{d.Order, d.Kind, d.Message}
	})
}

func (e *env) reconciliationTable(d *comparedDay) error {
	if len(d.Differences) > 0 {
		if err := e.differencesTable(d.Differences); err != nil {
			return err
		}
	}
	l := &d.Lists
	fmt.Fprintf(e.out, "%s: the gateway lists %d trades and %d refunds until %s (%d trades of other shops): %d settled, "+
		"%d lost orders written, %d refunds booked\n", d.Day, l.Trades, l.Refunds, e.localTime(l.To), l.Foreign, l.Settled,
		l.Written, l.Booked)
	if l.Bills {
		fmt.Fprintln(e.out, "the account may not read these lists; the bills were used, which end with the last complete day")
	}
	fmt.Fprintf(e.out,
		"%s: %d orders, %d of them paid that day: the gateway has taken %s yuan and refunded %s of them, %d differences\n",
		d.Day, d.Orders, d.Paid, shop.FormatFen(d.TakenFen), shop.FormatFen(d.ReturnedFen), len(d.Differences))
	return nil
}
