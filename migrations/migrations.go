// Package migrations contains the schema, one folder per dialect, and applies it to a database.
//
// A file has the statements of one subject, separated by lines --bun:split. MySQL commits each DDL statement
// separately. Therefore every statement can be repeated (CREATE … IF NOT EXISTS, INSERT IGNORE). A migration is
// recorded after its last statement. If it is interrupted between two statements, the next Up repeats the whole file.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/migrate"

	"stampede/migrations/sqllock"
)

//go:embed mysql/*.sql sqlite/*.sql
var files embed.FS

// lockWait is the maximum wait for another process that is migrating the same database.
const lockWait = time.Minute

// lockSilence is the time after which the server takes the lock from an inactive process. It is long, because the
// server may still be executing a statement of this process.
const lockSilence = 8 * time.Hour

// State is one migration and its status.
type State struct {
	Name      string    // e.g. "0004_orders"
	Applied   bool      // in this database
	AppliedAt time.Time // zero if the migration is not applied
}

// Up applies the missing migrations and returns their names. Processes that start at the same time wait for each other.
// After an error, the migrations applied before it stay; the next Up continues from there.
func Up(ctx context.Context, db *bun.DB) ([]string, error) {
	return change(ctx, db, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Migrate(ctx) })
}

// Down reverts the migrations of the last Up, data included, and returns their names.
func Down(ctx context.Context, db *bun.DB) ([]string, error) {
	return change(ctx, db, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Rollback(ctx) })
}

// Status lists all migrations in order. It changes nothing: in a database without the table of applied migrations, none
// is applied.
func Status(ctx context.Context, db *bun.DB) ([]State, error) {
	m, err := migrator(db)
	if err != nil {
		return nil, err
	}
	known, err := hasRecords(ctx, db)
	if err != nil {
		return nil, err
	}
	if !known {
		all, err := discover(db)
		if err != nil {
			return nil, err
		}
		return states(all.Sorted()), nil
	}
	all, err := m.MigrationsWithStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read applied migrations: %w", err)
	}
	return states(all), nil
}

// Pending lists the names of the migrations that are not applied.
func Pending(ctx context.Context, db *bun.DB) ([]string, error) {
	all, err := Status(ctx, db)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if !s.Applied {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// Unknown lists the names of applied migrations that this program does not have: a newer program has migrated the
// database.
func Unknown(ctx context.Context, db *bun.DB) ([]string, error) {
	known, err := hasRecords(ctx, db)
	if err != nil || !known {
		return nil, err
	}
	all, err := discover(db)
	if err != nil {
		return nil, err
	}
	var names []string
	if err := db.NewRaw("SELECT name FROM bun_migrations ORDER BY name").Scan(ctx, &names); err != nil {
		return nil, fmt.Errorf("read applied migrations: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(all.Sorted(), func(m migrate.Migration) bool { return m.Name == name })
	}), nil
}

func states(all migrate.MigrationSlice) []State {
	out := make([]State, len(all))
	for i := range all {
		out[i] = State{Name: all[i].String(), Applied: all[i].IsApplied(), AppliedAt: all[i].MigratedAt}
	}
	return out
}

func change(
	ctx context.Context, db *bun.DB, run func(*migrate.Migrator) (*migrate.MigrationGroup, error),
) ([]string, error) {
	m, err := migrator(db)
	if err != nil {
		return nil, err
	}
	var group *migrate.MigrationGroup
	err = locked(ctx, db, func() error {
		if _, err := hasRecords(ctx, db); err != nil {
			return err
		}
		if err := m.Init(ctx); err != nil {
			return fmt.Errorf("create the table of applied migrations: %w", err)
		}
		group, err = run(m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	names := make([]string, len(group.Migrations))
	for i := range group.Migrations {
		names[i] = group.Migrations[i].String()
	}
	return names, nil
}

func migrator(db *bun.DB) (*migrate.Migrator, error) {
	all, err := discover(db)
	if err != nil {
		return nil, err
	}
	return migrate.NewMigrator(db, all, migrate.WithMarkAppliedOnSuccess(true)), nil
}

func discover(db *bun.DB) (*migrate.Migrations, error) {
	folder := "mysql"
	if db.Dialect().Name() == dialect.SQLite {
		folder = "sqlite"
	}
	sub, err := fs.Sub(files, folder)
	if err != nil {
		return nil, fmt.Errorf("open migrations for %s: %w", folder, err)
	}
	all := migrate.NewMigrations()
	if err := all.Discover(sub); err != nil {
		return nil, fmt.Errorf("read migrations for %s: %w", folder, err)
	}
	return all, nil
}

// oldName matches the numbers of migrations that existed before version 1. They are not used again.
var oldName = regexp.MustCompile(`^(\d{14}|0009|0012|0013)$`)

// hasRecords reports whether the database has the table of applied migrations. It returns an error if a migration from
// before version 1 is recorded there: such migrations no longer exist, so the schema cannot be upgraded or dropped.
// Records of later versions are accepted.
func hasRecords(ctx context.Context, db *bun.DB) (bool, error) {
	query := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	if db.Dialect().Name() == dialect.SQLite {
		query = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	}
	var n int
	if err := db.QueryRowContext(ctx, query, "bun_migrations").Scan(&n); err != nil {
		return false, fmt.Errorf("find the table of applied migrations: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	var names []string
	if err := db.NewRaw("SELECT name FROM bun_migrations ORDER BY name").Scan(ctx, &names); err != nil {
		return false, fmt.Errorf("read applied migrations: %w", err)
	}
	if i := slices.IndexFunc(names, oldName.MatchString); i >= 0 {
		return false, fmt.Errorf("the database has migration %s, which was made before version 1: its schema cannot be "+
			"upgraded; use an empty database and an empty Redis", names[i])
	}
	return true, nil
}

// locked runs fn while no other process can migrate the same MySQL database. A statement may take hours on a large
// table; if the lock is lost during a statement, that statement is still completed. An SQLite file belongs to one
// process.
func locked(ctx context.Context, db *bun.DB, fn func() error) error {
	if db.Dialect().Name() == dialect.SQLite {
		return fn()
	}
	lock := sqllock.Lock{Name: "stampede:migrate", Wait: lockWait, MaxIdle: lockSilence}
	err := lock.Hold(ctx, db, func(context.Context) error { return fn() })
	if errors.Is(err, sqllock.ErrHeld) {
		return fmt.Errorf("another process has been migrating this database for %v", lockWait)
	}
	return err
}
