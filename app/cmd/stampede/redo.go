package main

import (
	"errors"
	"fmt"

	"stampede/app/server"
)

type redo struct {
	JSON bool `name:"json" help:"For scripts."`

	acting
}

// errLacking makes the exit code of a redo that could not give back everything; its report has been printed.
var errLacking = errors.New("the database lacks what nobody can give back")

func (redo) Help() string {
	return "A replica of MySQL that is promoted may lack the last transactions, and so does a backup. Redis keeps each reservation for " +
		"about an hour after its row was written, and knows what has become of it: rows that are missing are written again, orders that " +
		"were paid are asked about at the gateway, and orders that had ended end again. Nodes do this by themselves as soon as another server " +
		"answers; after a backup was restored on the same server, run it. On a database that lacks nothing it changes nothing. " +
		"Exit code 3 when something cannot be given back, which is listed.\n\nExamples:\n\n    stampede redo\n    stampede redo --json"
}

func (c redo) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		report, err := t.Redo(e.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			err = e.json(report)
		} else {
			fmt.Fprintf(e.out, "%d orders written again, %d ended again, %d paid again, %d added units restored, "+
				"%d sales edited again, %d missing\n",
				report.Rows, report.Ended, report.Payments, report.Added, report.Edited, len(report.Missing))
			for _, m := range report.Missing {
				fmt.Fprintf(e.out, "sale %s, order %s: %s\n", m.Sale, m.Order, m.Says)
			}
		}
		if err == nil && len(report.Missing) > 0 {
			err = errLacking
		}
		return err
	})
}
