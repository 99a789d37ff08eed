package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"stampede/app/server"
)

type migrate struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing."`
	Down   migrateDown   `cmd:"" help:"Take back what the last up applied, data included."`
	Status migrateStatus `cmd:"" help:"List the migrations."`
}

type (
	migrateUp   struct{}
	migrateDown struct {
		Yes bool `help:"Yes, drop the tables and what is in them." required:""`
	}
	migrateStatus struct {
		JSON bool `name:"json" help:"For scripts."`
	}
)

// withTools opens the database for a command.
func (e *env) withTools(do func(t *server.Tools) error) (err error) {
	config, err := e.config()
	if err != nil {
		return err
	}
	tools, err := server.OpenTools(e.ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := tools.Close(); err == nil {
			err = closeErr
		}
	}()
	return do(tools)
}

// Run applies migrations.
func (migrateUp) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		names, err := t.MigrateUp(e.ctx)
		return e.told("applied", "nothing to apply: the schema is up to date", names, err)
	})
}

// Run takes migrations back.
func (migrateDown) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		names, err := t.MigrateDown(e.ctx)
		return e.told("taken back", "nothing to take back", names, err)
	})
}

func (e *env) told(what, nothing string, names []string, err error) error {
	if err != nil {
		return err
	}
	if len(names) == 0 {
		fmt.Fprintln(e.out, nothing)
	}
	for _, name := range names {
		fmt.Fprintln(e.out, what, name)
	}
	return nil
}

// Run lists migrations.
func (c migrateStatus) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		all, err := t.Migrations(e.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return e.json(all)
		}
		table := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
		for _, m := range all {
			when := "not applied"
			if m.Applied {
				when = "applied " + m.AppliedAt.UTC().Format(time.DateTime)
			}
			fmt.Fprintf(table, "%s\t%s\n", m.Name, when)
		}
		return table.Flush()
	})
}

// json prints a value for scripts.
func (e *env) json(v any) error {
	encoder := json.NewEncoder(e.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
