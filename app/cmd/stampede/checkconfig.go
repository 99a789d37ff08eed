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
		"lists settings of Redis and MySQL that are too weak for the promises. For a Redis cluster it lists the " +
		"server of each partition. The exit code is 3 if a test fails or serve would refuse to start.\n\n" +
		"Examples:\n\n    stampede checkconfig\n" +
		"    stampede checkconfig --offline --json"
}

type checked struct {
	Settings   []server.Setting  `json:"settings"`
	Warnings   []server.Problem  `json:"warnings"`
	Missing    []server.Missing  `json:"lacks"`
	Weaknesses []server.Weakness `json:"weaknesses"`
	Partitions []server.Placed   `json:"partitions,omitempty"` // only for a Redis cluster
}

// errUnfit sets exit status 3; the problems were already printed.
var errUnfit = errors.New("these stores do not have everything that the program needs")

// verdict returns errUnfit if serve would fail or refuse to start.
func (c *checked) verdict(allowWeak bool) error {
	for _, w := range c.Weaknesses {
		if w.Refused && !allowWeak {
			return errUnfit
		}
	}
	if len(c.Missing) > 0 {
		return errUnfit
	}
	return nil
}

func (c checkconfig) Run(e *env) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	answer := checked{
		Settings: config.Settings(), Warnings: append([]server.Problem{}, config.Warnings()...),
		Missing: []server.Missing{}, Weaknesses: []server.Weakness{},
	}
	if !c.Offline && !config.Embedded() {
		err = e.withTools(func(t *server.Tools) error {
			missing, weak, err := t.Examine(e.ctx)
			answer.Missing, answer.Weaknesses = append(answer.Missing, missing...), append(answer.Weaknesses, weak...)
			if err == nil {
				answer.Partitions, err = t.Places(e.ctx)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return errors.Join(e.json(answer), answer.verdict(config.AllowWeakStores))
	}
	err = table(e, 0, "", answer.Settings, func(s server.Setting) []any { return []any{s.Name, s.Value} })
	if err != nil {
		return err
	}
	if config.Embedded() {
		fmt.Fprintln(e.out, "\nembedded stores are for tests: a crash loses reservations that have no row yet")
	}
	if len(answer.Partitions) > 0 {
		err = table(e, 0, "\npartition\ttag\tslot\tprimary", answer.Partitions,
			func(p server.Placed) []any { return []any{p.Partition, "{" + p.Tag + "}", p.Slot, p.Primary} })
		if err != nil {
			return err
		}
	}
	for _, w := range answer.Warnings {
		fmt.Fprintf(e.out, "\nwarning: %s %s\n", w.Variable, w.Message)
	}
	for _, l := range answer.Missing {
		fmt.Fprintf(e.out, "\ndoes not work: %s: %s\n", l.Store, l.Message)
	}
	for _, w := range answer.Weaknesses {
		fmt.Fprintf(e.out, "\nweak: %s: %s\n", w.Store, w.Message)
	}
	return answer.verdict(config.AllowWeakStores)
}
