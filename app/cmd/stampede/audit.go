package main

import (
	"fmt"

	"stampede/app/recovery"
	"stampede/app/server"
	"stampede/app/shop"
)

type audit struct {
	Sale shop.ID `placeholder:"ID" help:"Audit only this sale. Default: every sale that was loaded into Redis."`
	JSON bool    `name:"json" help:"Print JSON, for scripts."`
}

func (audit) Help() string {
	return "For each sale, initial + added = stock + held + sold + withdrawn must hold exactly, in one snapshot of " +
		"Redis and in one snapshot of MySQL. Redis must not have more free units than MySQL; without pending work " +
		"both must be equal. No buyer may exceed the limit, no order may exist twice, and no hold may belong to an " +
		"ended order. The exit code is 3 if a check fails.\n\nExamples:\n\n" +
		"    stampede audit\n" +
		"    stampede audit --sale 7301444403200000101 --json"
}

func (a *audit) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		var only []shop.ID
		if a.Sale != 0 {
			only = []shop.ID{a.Sale}
		}
		reports, err := t.Audit(e.ctx, only...)
		failed := 0
		for _, r := range reports {
			if len(r.Failures) > 0 {
				failed++
			}
		}
		err = e.show(a.JSON, err, reports, func() error { return e.auditTable(reports, failed) })
		if err == nil && failed > 0 {
			err = errAudit
		}
		return err
	})
}

func (e *env) auditTable(reports []recovery.AuditReport, failed int) error {
	err := figures(e,
		"sale\tinitial\tadded\tstock\theld\tsold\twithdrawn\twaiting\tverdict",
		reports, func(r recovery.AuditReport) []any {
			verdict, c := "proved", r.Redis
			switch {
			case len(r.Failures) > 0:
				verdict = "FAILED"
			case !r.Loaded:
				verdict, c = "not in Redis", r.Database
			}
			return []any{r.Sale, c.Initial, c.Added, c.Stock, c.Held, c.Sold, c.Withdrawn, r.Waiting, verdict}
		})
	if err != nil {
		return err
	}
	for _, r := range reports {
		for _, failure := range r.Failures {
			fmt.Fprintf(e.out, "sale %s (%s): %s\n", r.Sale, r.Product, failure)
		}
	}
	fmt.Fprintf(e.out, "%d sales audited, %d failed\n", len(reports), failed)
	return nil
}
