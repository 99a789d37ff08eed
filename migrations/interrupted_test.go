package migrations_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

// interrupter cancels statement number allowed+1 of the migrations before the database receives it. Statements are
// those of the files, which may start with comments, and the records of applied migrations.
type interrupter struct {
	allowed, seen int
}

var migrationStatement = regexp.MustCompile("^(--|CREATE|INSERT)")

func (i *interrupter) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if !migrationStatement.MatchString(e.Query) {
		return ctx
	}
	i.seen++
	if i.seen <= i.allowed {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func (*interrupter) AfterQuery(context.Context, *bun.QueryEvent) {}

// bunStatements is the number of statements with which each Up creates the missing tables of bun.
const bunStatements = 2

// After an interruption between any two statements, or between the last one and its record, Up creates the same schema
// and rows as an undisturbed Up. To save time, one file at a time is interrupted, while the others are applied.
func TestUpIsRepeatedAfterAKillBetweenStatements(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, db := kit.Context(t), s.DB()
		applied, err := migrations.Up(ctx, db)
		if err != nil {
			t.Fatal(err)
		}
		want, points := schema(t, db), 0
		for _, name := range applied {
			revert := func() {
				t.Helper()
				number, _, _ := strings.Cut(name, "_")
				_, err := db.ExecContext(ctx, "UPDATE bun_migrations SET group_id = 1000 WHERE name = ?", number)
				if err != nil {
					t.Fatal(err)
				}
				if down, err := migrations.Down(ctx, db); err != nil || !slices.Equal(down, []string{name}) {
					t.Fatalf("revert %s: %v (%v)", name, down, err)
				}
			}
			for n := bunStatements; ; n++ {
				revert()
				c := &interrupter{allowed: n}
				if _, err := migrations.Up(ctx, db.WithQueryHook(c)); err == nil {
					break // there is no statement n+1
				}
				if c.seen != n+1 {
					t.Fatalf("%s: %d statements began, want %d", name, c.seen, n+1)
				}
				if _, err := migrations.Up(ctx, db); err != nil {
					t.Fatalf("%s: Up after an interruption after statement %d: %v", name, n-bunStatements, err)
				}
				if got := schema(t, db); got != want {
					t.Fatalf("%s: interrupted after statement %d: got\n%s\nwant\n%s", name, n-bunStatements, got, want)
				}
				points++
			}
		}
		// One point per statement and record. One statement inserts the id of the shop.
		if all := strings.Count(want, "CREATE ") + 1 + len(applied); points != all {
			t.Errorf("interrupted at %d points, want %d", points, all)
		}
	})
}

// schema returns the definitions and rows of all tables but those of bun; "" without tables.
func schema(t *testing.T, db *bun.DB) string {
	t.Helper()
	ctx := kit.Context(t)
	var out strings.Builder
	var tables []string
	sqlite := db.Dialect().Name() == dialect.SQLite
	list := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()" +
		" AND table_name NOT LIKE 'bun%' ORDER BY table_name"
	if sqlite {
		list = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'bun%' AND name NOT LIKE 'sqlite%'" +
			" ORDER BY name"
	}
	if err := db.NewRaw(list).Scan(ctx, &tables); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		definition := "SHOW CREATE TABLE " + table
		if sqlite {
			definition = "SELECT name, sql FROM sqlite_master WHERE tbl_name = '" + table + "' ORDER BY name"
		}
		for _, query := range []string{definition, "SELECT * FROM " + table + " ORDER BY 1"} {
			var rows []map[string]any
			if err := db.NewRaw(query).Scan(ctx, &rows); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if row["name"] == "shop" && row["value"] != nil {
					row["value"] = "random"
				}
				fmt.Fprintln(&out, row)
			}
		}
	}
	return out.String()
}
