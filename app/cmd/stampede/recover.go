package main

import (
	"errors"
	"fmt"

	"stampede/app/recovery"
	"stampede/app/server"
	"stampede/app/shop"
)

type recoverCmd struct {
	Now    recoverNow    `cmd:"" default:"withargs" help:"Recover all partitions now, and list what an operator has to settle."`
	Settle recoverSettle `cmd:"" help:"Decide about an order of which nothing proves what became of it."`
}

type (
	recoverNow struct {
		Accept string `placeholder:"SERVER" help:"Use a database server again that was replaced, as the error of a node names it."`
		JSON   bool   `name:"json" help:"For scripts."`
		acting
	}
	recoverSettle struct {
		Order shop.ID `arg:"" help:"As the list shows it."`

		End    bool `xor:"how" required:"" help:"It has ended: its units are for sale again."`
		Write  bool `xor:"how" required:"" help:"It is pending: write its row by what Redis knows of it."`
		Refund bool `xor:"how" required:"" help:"Its money was given back: enter the refund, which is sent at most once."`
		JSON   bool `name:"json" help:"For scripts."`
		acting
	}
)

// errUnsettled sets exit status 3 for a recovery with unsettled orders; its report was already printed.
var errUnsettled = errors.New("an operator has to settle orders that a recovery cannot prove")

func (recoverNow) Help() string {
	return "A replica of MySQL or Redis that is promoted may lack the last writes, and so does a backup. Nodes notice that and recover by " +
		"themselves: each partition is closed for some seconds, orders that had ended end again, rows that are missing are written from the " +
		"stream, and the gateway is asked about every order that was pending. This does it by hand, on a healthy shop without changing " +
		"anything. Exit code 3 when something is left for an operator, which is listed.\n\nA sale is stuck, and shown as paused, while one of " +
		"its orders has to be settled.\n\nExamples:\n\n    stampede recover\n    stampede recover settle 1790000000000000001 --end\n" +
		"    stampede recover --accept 5f3a09c1"
}

func (c recoverNow) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		report, err := t.Recover(e.ctx, c.Accept)
		return printRecovery(e, c.JSON, report, err)
	})
}

func (c recoverSettle) Run(e *env) error {
	how := recovery.SettleEnd
	switch {
	case c.Write:
		how = recovery.SettleWrite
	case c.Refund:
		how = recovery.SettleRefund
	}
	return e.withActs(c.acting, func(t *server.Tools) error {
		report, err := t.Settle(e.ctx, c.Order, how)
		return printRecovery(e, c.JSON, report, err)
	})
}

func printRecovery(e *env, asJSON bool, report recovery.Report, err error) error {
	err = e.show(asJSON, err, report, func() error {
		fmt.Fprintf(e.out, "%d orders written, %d ended, %d entries set aside, %d sales imported, %d problems\n",
			report.Written, report.Ended, report.SetAside, report.Imported, len(report.Problems))
		for _, p := range report.Problems {
			fmt.Fprintf(e.out, "sale %s, order %s: %s\n", p.Sale, p.Order, p.Says)
		}
		return nil
	})
	if err == nil && len(report.Problems) > 0 {
		err = errUnsettled
	}
	return err
}
