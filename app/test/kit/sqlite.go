package kit

import (
	"path/filepath"
	"testing"

	"stampede/app/store"
	"stampede/migrations"
)

// SQLite opens a new database and runs all migrations. It is closed when the test ends.
func SQLite(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.OpenSQLite(Context(t), filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := migrations.Up(Context(t), s.DB()); err != nil {
		t.Fatal(err)
	}
	return s
}
