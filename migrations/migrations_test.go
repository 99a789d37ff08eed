package migrations_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

func TestMain(m *testing.M) { kit.Main(m) }

func onBoth(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(ctx context.Context) (*store.Store, error){
		"mariadb": func(ctx context.Context) (*store.Store, error) { return store.OpenMySQL(ctx, kit.MySQL(t)) },
		"sqlite": func(ctx context.Context) (*store.Store, error) {
			return store.OpenSQLite(ctx, filepath.Join(t.TempDir(), "shop.db"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(kit.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			test(t, s)
		})
	}
}

// A database goes up, down and up again. Down leaves nothing, and Status is correct at each step.
func TestUpAndDownCanBeRepeated(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		applied := func() (n, all int) {
			t.Helper()
			status, err := migrations.Status(ctx, s.DB())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range status {
				if m.Applied {
					n++
				}
			}
			return n, len(status)
		}
		if n, all := applied(); n != 0 || all == 0 {
			t.Errorf("empty database: %d of %d applied", n, all)
		}
		for range 2 {
			up, err := migrations.Up(ctx, s.DB())
			if err != nil {
				t.Fatal(err)
			}
			if n, all := applied(); n != all || len(up) != all {
				t.Errorf("after up: %d of %d applied, %d named", n, all, len(up))
			}
			if again, err := migrations.Up(ctx, s.DB()); err != nil || len(again) != 0 {
				t.Errorf("up again applied %v (%v)", again, err)
			}
			if _, err := s.Catalogue().Version(ctx); err != nil {
				t.Errorf("the schema is not usable: %v", err)
			}
			down, err := migrations.Down(ctx, s.DB())
			if err != nil {
				t.Fatal(err)
			}
			if n, all := applied(); n != 0 || len(down) != all {
				t.Errorf("after down: %d applied, %d of %d named", n, len(down), all)
			}
		}
		if pending, err := migrations.Pending(ctx, s.DB()); err != nil || len(pending) == 0 {
			t.Errorf("pending %v (%v)", pending, err)
		}
	})
}

// Nodes that start at the same time and all migrate wait for each other.
func TestConcurrentUpsWaitForEachOther(t *testing.T) {
	t.Parallel()
	dsn := kit.MySQL(t)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			s, err := store.OpenMySQL(kit.Context(t), dsn)
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = migrations.Up(kit.Context(t), s.DB())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// Both dialects have the same migrations, each with its down file. Every statement can be repeated: an interrupted
// migration runs again from its first statement.
func TestDialectsMatch(t *testing.T) {
	t.Parallel()
	names := func(folder string) string {
		files, err := fs.Glob(os.DirFS("."), folder+"/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		return strings.ReplaceAll(strings.Join(files, "\n"), folder+"/", "")
	}
	mysql, sqlite := names("mysql"), names("sqlite")
	if mysql != sqlite {
		t.Errorf("mysql has\n%s\nsqlite has\n%s", mysql, sqlite)
	}
	if ups, downs := strings.Count(mysql, ".up.sql"), strings.Count(mysql, ".down.sql"); ups != downs {
		t.Errorf("got %d up migrations and %d down migrations, want equal numbers", ups, downs)
	}
	// MySQL has no CREATE INDEX IF NOT EXISTS: its keys are in CREATE TABLE.
	repeatable := map[string]*regexp.Regexp{
		"mysql.up":    regexp.MustCompile(`^(CREATE TABLE IF NOT EXISTS|INSERT IGNORE INTO) `),
		"mysql.down":  regexp.MustCompile(`^DROP TABLE IF EXISTS `),
		"sqlite.up":   regexp.MustCompile(`(?s)^CREATE (TABLE|(UNIQUE )?INDEX|TRIGGER) IF NOT EXISTS |^INSERT .* ON CONFLICT DO NOTHING$`),
		"sqlite.down": regexp.MustCompile(`^DROP (TABLE|INDEX|TRIGGER) IF EXISTS `),
	}
	comment := regexp.MustCompile(`(?m)^\s*--.*\n`)
	for name := range strings.FieldsSeq(mysql) {
		for _, folder := range []string{"mysql", "sqlite"} {
			text, err := os.ReadFile(folder + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			_, direction, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), ".")
			for statement := range strings.SplitSeq(string(text), "--bun:split\n") {
				statement = strings.TrimSpace(comment.ReplaceAllString(statement, ""))
				if !repeatable[folder+"."+direction].MatchString(statement) {
					t.Errorf("%s/%s: not repeatable:\n%s", folder, name, statement)
				}
			}
		}
	}
}

// A database with a migration from before version 1 is rejected and not changed; one with a migration of a later
// version is accepted.
func TestOldNumberingIsRejected(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, db := kit.Context(t), s.DB()
		add := func(name string) {
			t.Helper()
			if _, err := migrations.Up(ctx, db); err != nil {
				t.Fatal(err)
			}
			_, err := db.ExecContext(ctx, "INSERT INTO bun_migrations (name, group_id) VALUES (?, 1)", name)
			if err != nil {
				t.Fatal(err)
			}
		}
		add("9999")
		if _, err := migrations.Up(ctx, db); err != nil {
			t.Errorf("a migration of a later version: %v", err)
		}
		add("0012")
		before := schema(t, db)
		for name, call := range map[string]func() error{
			"Up":      func() error { _, err := migrations.Up(ctx, db); return err },
			"Down":    func() error { _, err := migrations.Down(ctx, db); return err },
			"Status":  func() error { _, err := migrations.Status(ctx, db); return err },
			"Pending": func() error { _, err := migrations.Pending(ctx, db); return err },
		} {
			const want = "the database has migration 0012, which was made before version 1: its schema cannot be " +
				"upgraded; use an empty database and an empty Redis"
			if err := call(); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
		if after := schema(t, db); after != before {
			t.Errorf("schema before\n%s\nafter\n%s", before, after)
		}
	})
}
