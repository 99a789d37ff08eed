package main

import (
	"fmt"
	"time"

	"stampede/app/server"
	"stampede/migrations"
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
func (e *env) withTools(do func(t *server.Tools) error) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	tools, err := server.OpenTools(e.ctx, config)
	return closing(tools, err, do)
}

// closing does something with open tools, if they are, and closes them.
func closing(tools *server.Tools, failed error, do func(t *server.Tools) error) (err error) {
	if failed != nil {
		return failed
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
		names, err := migrations.Up(e.ctx, t.Database())
		return e.told("applied", "nothing to apply: the schema is up to date", names, err)
	})
}

// Run takes migrations back.
func (migrateDown) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		names, err := migrations.Down(e.ctx, t.Database())
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
		all, err := migrations.Status(e.ctx, t.Database())
		if err != nil {
			return err
		}
		return list(e, c.JSON, all, "", "", "%s\t%s", func(m migrations.State) []any {
			if m.Applied {
				return []any{m.Name, "applied " + m.AppliedAt.UTC().Format(time.DateTime)}
			}
			return []any{m.Name, "not applied"}
		})
	})
}
