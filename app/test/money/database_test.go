package money

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"stampede/app/test/kit"
)

// databases holds migrated, empty and unused databases. Tests share them, because about thirty migration statements,
// each with a disk write, took most of the time of this package.
var databases struct {
	sync.Mutex
	free []string
}

// withoutCleanup is a test without cleanup. Its database outlives the test and ends with the server, which is private
// to the run.
type withoutCleanup struct{ testing.TB }

func (withoutCleanup) Cleanup(func()) {}

// database returns the DSN of an empty database. It is reused after the test passes.
func database(t testing.TB) string {
	t.Helper()
	databases.Lock()
	defer databases.Unlock()
	var dsn string
	if last := len(databases.free) - 1; last >= 0 {
		dsn, databases.free = databases.free[last], databases.free[:last]
	} else {
		dsn = kit.MySQL(withoutCleanup{t})
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // a transaction may still be open
		}
		if err := empty(dsn); err != nil {
			t.Errorf("empty the database: %v", err)
			return
		}
		databases.Lock()
		defer databases.Unlock()
		databases.free = append(databases.free, dsn)
	})
	return dsn
}

// empty deletes all rows except those that migrations write.
func empty(dsn string) error {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", config.DBName)
	if err != nil {
		return err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(name string) bool { return strings.Contains(name, "migration") })
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, name := range tables {
		condition := ""
		if name == "settings" {
			condition = " WHERE name <> 'shop'"
		}
		if _, err := tx.Exec("DELETE FROM " + name + condition); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return tx.Commit()
}
