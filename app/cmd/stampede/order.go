package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"stampede/app/backoffice"
	"stampede/app/server"
	"stampede/app/shop"
)

type orderCmd struct {
	List     orderList     `cmd:"" help:"Search for orders of all buyers."`
	Ship     orderShip     `cmd:"" help:"Enter the parcel of a paid order."`
	ShipMany orderShipMany `cmd:"" help:"Enter the parcels of a CSV file."`
	Prune    orderPrune    `cmd:"" help:"Write old settled orders to files and delete them."`
}

type (
	orderList struct {
		Query string          `arg:"" optional:"" name:"query" help:"Number of an order or a trade, id of a user, or e-mail."`
		State shop.OrderState `placeholder:"STATE" help:"Only orders in this state, for example paid."`
		Sale  shop.ID         `placeholder:"ID" help:"Only orders of this sale."`
		Limit int             `default:"50" help:"Maximum number of orders, 1 to 1000."`
		readFlags
	}
	orderShip struct {
		Order    shop.ID `arg:"" help:"Number of the order."`
		Carrier  string  `required:"" placeholder:"NAME" help:"Name of the carrier, at most 24 characters."`
		Tracking string  `required:"" placeholder:"NUMBER" help:"Tracking number of the carrier."`
		Replace  bool    `help:"Replace the parcel of the order."`

		PartRefunded bool `help:"Ship an order of which a part was refunded."`
		operationFlags
	}
	orderShipMany struct {
		File    string `arg:"" help:"CSV file with the columns order, carrier, tracking; - is standard input."`
		DryRun  bool   `help:"Show the result and change nothing."`
		Replace bool   `help:"Replace the parcels of orders that have one."`
		operationFlags
	}
	orderPrune struct {
		Before string `required:"" placeholder:"DAY" help:"Delete orders of sales that closed before this day, for example 2026-01-31."`
		Export string `required:"" placeholder:"FOLDER" help:"Folder for the files with the deleted orders; a new folder is created."`
		DryRun bool   `help:"Count the orders, and write and delete nothing."`
		JSON   bool   `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
)

// orderRow is an order with its buyer.
type orderRow struct {
	shop.Order
	User shop.ID `json:"user"`
}

func (orderCmd) Help() string {
	return "The operation enters the parcel of a paid order and makes it shipped: its buyer sees carrier and tracking " +
		"number and gets an e-mail. The order is finished when the buyer confirms the receipt, or after " +
		"STAMPEDE_FINISH_AFTER.\n\nExamples:\n\n    stampede order list --state paid\n" +
		"    stampede order list ada@shop.example\n" +
		"    stampede order ship 7301444480512000257 --carrier 'SF Express' --tracking SF1234567890\n" +
		"    stampede order ship-many parcels.csv --dry-run"
}

func (c *orderList) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("%w: --limit is %d, want 1 to 1000", errUsage, c.Limit)
	}
	if c.State != "" && !c.State.HasRow() {
		return fmt.Errorf("%w: --state is %q, want a state of orders, for example paid", errUsage, c.State)
	}
	query := url.Values{"q": {c.Query}, "state": {string(c.State)}}
	if c.Sale != 0 {
		query.Set("sale", c.Sale.String())
	}
	return e.read(c.readFlags, func(api *client) error {
		orders, err := pages(api, collection{"/orders", "orders"}, query, c.Limit, func(o *orderRow) string {
			return o.ID.String()
		})
		return list(e, c.JSON, err, orders, listing[orderRow]{
			none: "no orders", head: "order\tat\tsale\tuser\tunits\tyuan\tstate\treason\tparcel",
			columns: func(o orderRow) []any {
				at, yuan := e.localTime(o.CreatedAt), shop.FormatFen(o.AmountFen)
				return []any{o.ID, at, o.Sale, o.User, o.Qty, yuan, o.State, o.Reason, o.Tracking}
			},
		})
	})
}

func (c *orderShip) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		body := map[string]any{"carrier": c.Carrier, "tracking": c.Tracking, "replace": c.Replace, "part_refunded": c.PartRefunded}
		var order orderRow
		err := api.change(http.MethodPost, "/orders/"+c.Order.String()+"/ship", body, &order)
		return e.result(c.JSON, err, order, "order %s is %s with %s", order.ID, order.State, order.Tracking)
	})
}

// maxParcels limits the size of a parcel file, in bytes.
const maxParcels = 1 << 20

func (c *orderShipMany) Run(e *env) error {
	in := e.in
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("read the parcels: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxParcels))
	if err != nil {
		return fmt.Errorf("read the parcels: %w", err)
	}
	return e.operate(c.operationFlags, func(api *client) error {
		body := map[string]any{"csv": string(text), "replace": c.Replace, "dry_run": c.DryRun}
		var r backoffice.ShipReport
		err := api.change(http.MethodPost, "/ship", body, &r)
		return e.show(c.JSON, err, r, func() error {
			for _, l := range r.Lines {
				if l.Message != "" {
					fmt.Fprintf(e.out, "line %d: %s: %s\n", l.Line, l.Result, l.Message)
				}
			}
			fmt.Fprintf(e.out, "%d shipped, %d unchanged, %d failed\n", r.Shipped, r.Unchanged, r.Failed)
			if c.DryRun {
				fmt.Fprintln(e.out, "this was a dry run: nothing was changed")
			}
			return nil
		})
	})
}

func (orderPrune) Help() string {
	return "The command deletes orders that are settled: finished, cancelled, expired, refused or refunded, without a " +
		"running refund or unsent message. Their sales closed before the day, have left Redis, and the orders have not " +
		"changed since. The day must be at least 92 days ago, the period in which Alipay refunds. Before the deletion " +
		"the command writes one compressed CSV file per month, without personal data, for this user only. The journal " +
		"gets the checksum of each file; sums per sale, payments and refunds stay, so that audit and reports still " +
		"balance. Buyers no longer see deleted orders; money that arrives for one is shown as money without an order.\n\n" +
		"The command opens the database directly: no token of the shop can delete orders. It works in short " +
		"transactions with pauses; run it when no sale opens. After a crash or an error, the same command continues." +
		"\n\nExamples:\n\n    stampede order prune --before 2026-01-31 --export orders --dry-run\n" +
		"    stampede order prune --before 2026-01-31 --export orders"
}

func (c *orderPrune) Run(e *env) error {
	actor, err := e.actor(c.actorFlags)
	if err != nil {
		return err
	}
	actor.DryRun = c.DryRun
	return e.withToolsAs(actor, func(t *server.Tools) error {
		p, err := t.PruneOrders(e.ctx, c.Before, c.Export, func(step string) { fmt.Fprintln(e.err, step) })
		return e.show(c.JSON, err, p, func() error {
			err := list(e, false, nil, p.Files, listing[backoffice.ExportFile]{
				none: "no orders to delete", head: "month\torders\tpaid yuan\trefunded yuan\tfile",
				columns: func(f backoffice.ExportFile) []any {
					return []any{f.Month, f.Orders, shop.FormatFen(f.PaidFen), shop.FormatFen(f.RefundedFen), f.Name}
				},
			})
			switch {
			case c.DryRun:
				fmt.Fprintln(e.out, "this was a dry run: nothing was written or deleted")
			case len(p.Files) > 0:
				fmt.Fprintf(e.out, "%d orders deleted\n", p.Deleted)
			}
			return err
		})
	})
}
