package migrations_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
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

// A database goes up, down and up again; nothing is left of the way down, and Status tells the truth at
// each step.
func TestUpDownUp(t *testing.T) {
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
			if _, err := s.Version(ctx); err != nil {
				t.Errorf("the schema cannot be used: %v", err)
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
func TestUpAtOnce(t *testing.T) {
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

// Both dialects have the same migrations, each with its way back, and MySQL files hold one statement.
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
		t.Errorf("%d ways up, %d down", ups, downs)
	}
	for name := range strings.FieldsSeq(mysql) {
		text, err := os.ReadFile("mysql/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "--bun:split") {
			t.Errorf("mysql/%s has more than one statement", name)
		}
	}
}
