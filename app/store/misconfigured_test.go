package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// P2: a fault that waiting does not repair is distinguished from an unreachable server. It costs no order, because it
// is also transient.
func TestWrongAccountOrDatabaseIsMisconfigured(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	dsn := kit.MySQL(t)
	migrated(t, openMySQL(t, dsn))
	reader := kit.Account(t, dsn, "SELECT")
	for name, dsn := range map[string]string{
		"wrong password":   strings.Replace(reader, ":secret@", ":wrong@", 1),
		"unknown database": dsn + "_gone",
	} {
		_, err := store.OpenMySQL(ctx, dsn)
		if !errors.Is(err, shop.ErrMisconfigured) || !errors.Is(err, shop.ErrTransient) {
			t.Errorf("%s: got error %v, want ErrMisconfigured", name, err)
		}
	}
	s := openMySQL(t, reader)
	wantErr(t, "no privilege", s.Partitions().EnsurePartitions(ctx, 2), shop.ErrMisconfigured)
	if _, err := store.OpenMySQL(ctx, "root@tcp(127.0.0.1:1)/stampede"); errors.Is(err, shop.ErrMisconfigured) ||
		!errors.Is(err, shop.ErrTransient) {
		t.Errorf("no server on the port: got %v, want ErrTransient alone", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Partitions().EnsurePartitions(short, 2); errors.Is(err, shop.ErrMisconfigured) {
		t.Errorf("a cancelled context: got %v, want an error other than ErrMisconfigured", err)
	}
}

// Needs tries the required operations, before and after the schema exists, and leaves nothing behind.
func TestNeedsReportsMissingPrivileges(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	dsn := kit.MySQL(t)
	s := openMySQL(t, dsn)
	tables := func() (n int) {
		must(t,
			s.DB().QueryRowContext(ctx,
				"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&n))
		return n
	}
	for _, need := range s.Durability().Needs(ctx) {
		if need.Err != nil {
			t.Errorf("an empty database: got error %v", need.Err)
		}
	}
	if n := tables(); n != 0 {
		t.Errorf("Needs left %d tables, want 0", n)
	}
	migrated(t, s)
	before := tables()
	for name, c := range map[string]struct {
		dsn     string
		missing []string
	}{
		"root":      {dsn, nil},
		"of a node": {kit.Account(t, dsn, "SELECT, INSERT, UPDATE, DELETE"), []string{"make tables (CREATE)"}},
		"of a reader": {kit.Account(t, dsn, "SELECT"), []string{
			"make tables (CREATE)", "read and write rows (SELECT, INSERT, UPDATE, DELETE)",
		}},
	} {
		var missing []string
		for _, need := range openMySQL(t, c.dsn).Durability().Needs(ctx) {
			if need.Err != nil {
				missing = append(missing, need.What)
			}
		}
		if !slices.Equal(missing, c.missing) {
			t.Errorf("the account %s: got the missing privileges %q, want %q", name, missing, c.missing)
		}
	}
	if n := tables(); n != before {
		t.Errorf("Needs changed the number of tables from %d to %d", before, n)
	}
	var rows int
	must(t, s.DB().QueryRowContext(ctx, "SELECT COUNT(*) FROM settings WHERE name LIKE 'stampede%'").Scan(&rows))
	if rows != 0 {
		t.Errorf("Needs left %d rows, want 0", rows)
	}
}
