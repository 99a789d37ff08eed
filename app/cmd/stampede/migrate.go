package main

import (
	"errors"
	"fmt"
	"time"

	"stampede/app/journal"
	"stampede/app/server"
	"stampede/migrations"
)

type migrate struct {
	Up     migrateUp     `cmd:"" help:"Apply missing migrations."`
	Down   migrateDown   `cmd:"" help:"Revert the migrations of the last up, including their data."`
	Status migrateStatus `cmd:"" help:"List the migrations."`
}

type (
	migrateUp   struct{}
	migrateDown struct {
		Yes bool `help:"Confirm that the tables and their rows are dropped." required:""`
	}
	migrateStatus struct {
		JSON bool `name:"json" help:"Print JSON, for scripts."`
	}
)

// withTools runs a function with an open database.
func (e *env) withTools(action func(t *server.Tools) error) error {
	return e.withToolsAs(journal.Actor{}, action)
}

// withToolsAs is like withTools, for changes by the actor. Without the settings of a node it would work on a new
// embedded shop, and its caller would believe that the change applies.
func (e *env) withToolsAs(actor journal.Actor, action func(t *server.Tools) error) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	if !config.HasShop() {
		return fmt.Errorf("%w: STAMPEDE_REDIS_URL and STAMPEDE_MYSQL_DSN are not set, and %s has no embedded shop: use the settings "+
			"of a node (. /etc/stampede/shell), or STAMPEDE_DATA", errUsage, config.Data)
	}
	return e.openTools(config, actor, action)
}

// withNewShop is like withTools, also for a shop that does not exist yet.
func (e *env) withNewShop(action func(t *server.Tools) error) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	return e.openTools(config, journal.Actor{}, action)
}

func (e *env) openTools(config server.Config, actor journal.Actor, action func(t *server.Tools) error) (err error) {
	tools, err := server.OpenTools(e.ctx, config)
	if err != nil {
		return err
	}
	tools.Actor = actor
	defer func() { err = errors.Join(err, tools.Close()) }()
	return action(tools)
}

func (migrateUp) Run(e *env) error {
	return e.withNewShop(func(t *server.Tools) error {
		names, err := migrations.Up(e.ctx, t.Database())
		return e.printNames("applied", "nothing to apply: the schema is up to date", names, err)
	})
}

func (migrateDown) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		names, err := migrations.Down(e.ctx, t.Database())
		return e.printNames("reverted", "nothing to revert", names, err)
	})
}

// printNames prints one line per migration, or the text `nothing`.
func (e *env) printNames(verb, nothing string, names []string, err error) error {
	if err != nil {
		return err
	}
	if len(names) == 0 {
		fmt.Fprintln(e.out, nothing)
	}
	for _, name := range names {
		fmt.Fprintln(e.out, verb, name)
	}
	return nil
}

func (c migrateStatus) Run(e *env) error {
	return e.withNewShop(func(t *server.Tools) error {
		all, err := migrations.Status(e.ctx, t.Database())
		return list(e, c.JSON, err, all, listing[migrations.State]{
			columns: func(m migrations.State) []any {
				if m.Applied {
					return []any{m.Name, "applied " + m.AppliedAt.UTC().Format(time.DateTime)}
				}
				return []any{m.Name, "not applied"}
			},
		})
	})
}
