package store_test

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// P2: a server that flushes too seldom is named.
func TestWeaknessesAreNamed(t *testing.T) {
	t.Parallel()
	server := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openMySQL(t, server.Database())
	ctx := kit.Context(t)
	found, err := s.Weaknesses(ctx)
	if err != nil || len(found) != 0 {
		t.Errorf("a durable server: %v (%v)", found, err)
	}
	if _, err := s.DB().ExecContext(ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 2"); err != nil {
		t.Fatal(err)
	}
	found, err = s.Weaknesses(ctx)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].String(), "innodb_flush_log_at_trx_commit is 2") {
		t.Errorf("found %v (%v)", found, err)
	}
}
