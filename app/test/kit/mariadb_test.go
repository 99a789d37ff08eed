package kit

import (
	"database/sql"
	"testing"
)

func openMySQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Parallel tests must not see each other's tables, and invalid values must be rejected.
func TestMySQLGivesEachTestAnEmptyStrictDatabase(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	first, second := openMySQL(t, MySQL(t)), openMySQL(t, MySQL(t))
	if _, err := first.ExecContext(ctx, "CREATE TABLE x (n TINYINT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := first.ExecContext(ctx, "INSERT INTO x VALUES (1000)"); err == nil {
		t.Error("a value out of range was accepted")
	}
	if _, err := second.ExecContext(ctx, "SELECT * FROM x"); err == nil {
		t.Error("the second database contains the table of the first")
	}
}

// P2 depends on it: MariaDB keeps committed transactions after SIGKILL.
func TestMariaDBKeepsCommitsAfterKill(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	server := StartMariaDB(t, MariaDBOptions{})
	db := openMySQL(t, server.Database())
	for _, statement := range []string{"CREATE TABLE x (n INT)", "INSERT INTO x VALUES (7)"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	server.Kill()
	server.Start()
	var n int
	if err := db.QueryRowContext(ctx, "SELECT n FROM x").Scan(&n); err != nil || n != 7 {
		t.Fatalf("after the kill: n = %d, %v", n, err)
	}
}
