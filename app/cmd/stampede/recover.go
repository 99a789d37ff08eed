package main

import (
	"errors"
	"fmt"

	"stampede/app/recovery"
	"stampede/app/server"
	"stampede/app/shop"
)

type recoverCmd struct {
	Now    recoverNow    `cmd:"" default:"withargs" help:"Recover all partitions now and list orders that an operator must settle."`
	Settle recoverSettle `cmd:"" help:"Settle an order whose state the recovery cannot prove."`
}

type (
	recoverNow struct {
		Accept   string `placeholder:"SERVER" xor:"how" help:"Use a replaced database server again. The error of a node has its name."`
		Restored bool   `xor:"how" help:"Backups of the stores were restored. Run it before the first node starts."`
		JSON     bool   `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
	recoverSettle struct {
		Order shop.ID `arg:"" help:"Id from the list."`

		End    bool `xor:"how" required:"" help:"End the order: its units are on sale again."`
		Write  bool `xor:"how" required:"" help:"The row of the order is right. Without a row the order is pending, and its row is written."`
		Refund bool `xor:"how" required:"" help:"The payment was refunded: enter the refund, which is sent at most once."`
		JSON   bool `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
)

// errOrdersOpen sets exit status 3 for a recovery with unsettled orders; the report was already printed.
var errOrdersOpen = errors.New("an operator must settle the listed orders: run stampede recover settle")

func (recoverNow) Help() string {
	return "A promoted replica of MySQL or Redis may lack the last writes, and so does a backup. Nodes detect this " +
		"and recover automatically: they close each partition for some seconds, end orders again that had ended, " +
		"write missing rows from the stream, and query the gateway about every order that was pending. This " +
		"command starts the same recovery; on a healthy shop it changes nothing. The exit code is 3 if orders " +
		"remain for an operator; the command lists them.\n\nUntil an operator has settled an order, its units stay " +
		"reserved, its buyer sees that the shop is checking it, and the sale continues. A sale is stuck, and shown as " +
		"paused, only if Redis could sell more units than the database has.\n\n" +
		"With --restored, every partition is recovered as after the loss of both stores, and in a shop that takes payments the " +
		"sales are paused until the gateway's lists have shown which paid orders the backups lack.\n\nExamples:\n\n    stampede recover\n" +
		"    stampede recover --restored\n" +
		"    stampede recover settle 1790000000000000001 --end\n" +
		"    stampede recover --accept 5f3a09c1"
}

func (c recoverNow) Run(e *env) error {
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		if c.Restored {
			return c.restore(e, t)
		}
		report, err := t.Recover(e.ctx, c.Accept)
		return printRecovery(e, c.JSON, report, report, err)
	})
}

func (c recoverNow) restore(e *env, t *server.Tools) error {
	report, err := t.Restore(e.ctx)
	if err == nil && !c.JSON && report.Paused > 0 {
		fmt.Fprintf(e.out, "%d sales are paused until a sweeper has compared the gateway's lists, which takes about six minutes; "+
			"then they continue\n", report.Paused)
		for _, w := range t.CheckGateway(e.ctx) {
			fmt.Fprintf(e.out, "without this list, orders that were paid after the backup are unknown until the next morning: %s\n"+
				"to sell before that, use stampede sale resume: if no unit is left for such an order, its money is refunded\n",
				w.Message)
		}
	}
	return printRecovery(e, c.JSON, report, report.Report, err)
}

func (c recoverSettle) Run(e *env) error {
	how := recovery.SettleEnd
	switch {
	case c.Write:
		how = recovery.SettleWrite
	case c.Refund:
		how = recovery.SettleRefund
	}
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		report, err := t.Settle(e.ctx, c.Order, how)
		return printRecovery(e, c.JSON, report, report, err)
	})
}

func printRecovery(e *env, asJSON bool, value any, report recovery.Report, err error) error {
	err = e.show(asJSON, err, value, func() error {
		fmt.Fprintf(e.out, "%d orders written, %d ended, %d sales imported, %d problems\n",
			report.Written, report.Ended, report.Imported, len(report.Problems))
		for _, p := range report.Problems {
			fmt.Fprintf(e.out, "sale %s, order %s: %s\n", p.Sale, p.Order, p.Text)
		}
		return nil
	})
	if err == nil && len(report.Problems) > 0 {
		err = errOrdersOpen
	}
	return err
}
