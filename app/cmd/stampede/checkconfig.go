package main

import (
	"fmt"
	"text/tabwriter"

	"stampede/app/server"
)

type checkconfig struct {
	Offline bool `help:"Look at the variables only, not at the stores."`
	JSON    bool `name:"json" help:"For scripts."`
}

// Help says what is checked.
func (checkconfig) Help() string {
	return "Checks every variable, prints what is in force (secrets hidden), reaches the stores and names the settings of Redis and MySQL " +
		"that are weaker than the promises need.\n\nExamples:\n\n    stampede checkconfig\n    stampede checkconfig --offline --json"
}

type checked struct {
	Settings   []server.Setting  `json:"settings"`
	Warnings   []server.Problem  `json:"warnings"`
	Weaknesses []server.Weakness `json:"weaknesses"`
}

// Run checks.
func (c checkconfig) Run(e *env) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	answer := checked{Settings: config.Settings(), Warnings: []server.Problem{}, Weaknesses: []server.Weakness{}}
	answer.Warnings = append(answer.Warnings, config.Warnings()...)
	if !c.Offline && !config.Embedded() {
		err = e.withTools(func(t *server.Tools) error {
			found, err := t.Weaknesses(e.ctx)
			answer.Weaknesses = append(answer.Weaknesses, found...)
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return e.json(answer)
	}
	table := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	for _, s := range answer.Settings {
		fmt.Fprintf(table, "%s\t%s\n", s.Name, s.Value)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if config.Embedded() {
		fmt.Fprintln(e.out, "\nembedded stores: for trying out, a crash loses reservations that have no row yet")
	}
	for _, w := range answer.Warnings {
		fmt.Fprintf(e.out, "\nwarning: %s %s\n", w.Variable, w.Message)
	}
	for _, w := range answer.Weaknesses {
		fmt.Fprintf(e.out, "\nweak: %s: %s\n", w.Store, w.Message)
	}
	return nil
}
