//go:build vitess

package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"stampede/app"
	"stampede/app/test/kit"
)

// Vitess takes the isolation of one transaction for all that follow on the connection. A snapshot, which needs another
// one, must not leave it behind: a row that others have changed since a transaction began is read as it is now.
func TestSnapshotLeavesReadCommittedOnVitess(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	s := onMariaDB(t)
	s.DB().SetMaxOpenConns(1)
	if _, err := s.SumUp(ctx, 1, 0, 1); err != nil && !errors.Is(err, app.ErrNoRow) {
		t.Fatal(err)
	}
	var level string
	if err := s.DB().QueryRowContext(ctx, "SELECT @@transaction_isolation").Scan(&level); err != nil {
		t.Fatal(err)
	}
	if level != "READ-COMMITTED" {
		t.Errorf("after a snapshot: %s", level)
	}
}

// A keyspace of several shards holds no shop: checkconfig says so in words.
func TestShardedKeyspaceIsRefused(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	cfg, err := mysql.ParseDSN(kit.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DBName = "sharded" // vitess.sh makes it
	s := openMySQL(t, cfg.FormatDSN())
	var said error
	for _, need := range s.Needs(ctx) {
		said = errors.Join(said, need.Err)
	}
	if !errors.Is(said, app.ErrMisconfigured) || !strings.Contains(said.Error(), "several shards") {
		t.Errorf("checkconfig says: %v", said)
	}
}
