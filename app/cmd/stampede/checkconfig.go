package main

import (
	"errors"
	"fmt"

	"stampede/app/server"
)

type checkconfig struct {
	Offline bool `help:"Check only the variables, not the stores."`
	JSON    bool `name:"json" help:"Print JSON, for scripts."`
}

func (checkconfig) Help() string {
	return "Checks every variable, prints the settings in force (secrets hidden) and connects to the stores. There it " +
		"tests the locks, statements, migrations and commands that the program uses, and leaves no data behind. It " +
		"lists settings of Redis and MySQL that are too weak for the promises, and lists of the payment gateway that the account " +
		"may not read. For a Redis cluster it lists the server of each partition. The exit code is 3 if a test fails or serve would refuse to start.\n\n" +
		"Examples:\n\n    stampede checkconfig\n" +
		"    stampede checkconfig --offline --json"
}

type configReport struct {
	Settings   []server.Setting        `json:"settings"`
	Warnings   []server.Problem        `json:"warnings"`
	Missing    []server.MissingFeature `json:"lacks"`
	Weaknesses []server.Weakness       `json:"weaknesses"`
	Partitions []server.PartitionPlace `json:"partitions,omitempty"` // only for a Redis cluster
	Pending    int                     `json:"pending_migrations,omitempty"`
}

// errStoresIncomplete sets exit status 3; the problems were already printed.
var errStoresIncomplete = errors.New("these stores do not have everything that the program needs")

// verdict returns errStoresIncomplete if serve would fail or refuse to start.
func (c *configReport) verdict(allowWeak bool) error {
	for _, w := range c.Weaknesses {
		if w.Refused && !allowWeak {
			return errStoresIncomplete
		}
	}
	if len(c.Missing) > 0 {
		return errStoresIncomplete
	}
	return nil
}

func (c checkconfig) Run(e *env) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	report := configReport{
		Settings: config.Settings(), Warnings: append([]server.Problem{}, config.Warnings()...),
		Missing: []server.MissingFeature{}, Weaknesses: []server.Weakness{},
	}
	if !c.Offline && !config.Embedded() {
		err = e.withTools(func(t *server.Tools) error {
			missing, weak, err := t.CheckStores(e.ctx)
			report.Missing, report.Weaknesses = append(report.Missing, missing...), append(report.Weaknesses, weak...)
			if err == nil {
				report.Weaknesses = append(report.Weaknesses, t.CheckGateway(e.ctx)...)
				report.Partitions, err = t.PartitionPlaces(e.ctx)
			}
			if err == nil {
				report.Pending, err = t.PendingMigrations(e.ctx)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return errors.Join(e.json(report), report.verdict(config.AllowWeakStores))
	}
	err = table(e, "", report.Settings, func(s server.Setting) []any { return []any{s.Name, s.Value} })
	if err != nil {
		return err
	}
	if config.Embedded() {
		fmt.Fprintln(e.out, "\nembedded stores are for tests: a crash loses reservations that have no row yet")
	}
	if len(report.Partitions) > 0 {
		fmt.Fprintln(e.out)
		err = table(e, "partition\ttag\tslot\tprimary", report.Partitions,
			func(p server.PartitionPlace) []any { return []any{p.Partition, "{" + p.Tag + "}", p.Slot, p.Primary} })
		if err != nil {
			return err
		}
	}
	for _, w := range report.Warnings {
		fmt.Fprintf(e.out, "\nwarning: %s %s\n", w.Variable, w.Message)
	}
	for _, l := range report.Missing {
		fmt.Fprintf(e.out, "\ndoes not work: %s: %s\n", l.Store, l.Message)
	}
	for _, w := range report.Weaknesses {
		fmt.Fprintf(e.out, "\nweak: %s: %s\n", w.Store, w.Message)
	}
	if report.Pending > 0 {
		fmt.Fprintf(e.out, "\nthe database lacks %d migrations: run `stampede migrate up`\n", report.Pending)
	}
	err = report.verdict(config.AllowWeakStores)
	if err == nil && !c.Offline && !config.Embedded() {
		fmt.Fprintln(e.out, "\nboth stores respond and have everything that the program needs")
	}
	return err
}
