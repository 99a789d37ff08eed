package e2e

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// While the database is down, a machine with the signing key makes a token, and `status` shows the board of a node.
func TestStatusNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	server := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openShop(t, kit.Redis(t), server.Database())
	n := s.start()
	if out, code := s.run("token", "rotate", "--note", "a test"); code != 0 {
		t.Fatalf("rotate the key: %d %s", code, out)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) { // the node uses the new key
		return boardOf(t, s, n, "--generation", "1"), "the node rejects a token of generation 1"
	})
	server.Kill()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return boardOf(t, s, n, "--generation", "1"), "no board without the database"
	})
}

// boardOf signs a token and reports whether `status` shows the board with it.
func boardOf(t *testing.T, s *testShop, n *node, flags ...string) bool {
	t.Helper()
	out, code := s.run(append([]string{"token", "--user", "7", "--role", "operator"}, flags...)...)
	lines := strings.Fields(out)
	if code != 0 || len(lines) == 0 {
		t.Fatalf("token: %d %s", code, out)
	}
	board, _ := run(t, []string{"STAMPEDE_URL=http://" + n.addr, "STAMPEDE_TOKEN=" + lines[len(lines)-1]}, "status")
	return strings.Contains(board, "PARTITION")
}

// A program on a schema that a newer program has migrated names it in its log and in checkconfig.
func TestOlderProgramNamesANewerSchema(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec("INSERT INTO bun_migrations (name, group_id, migrated_at) VALUES ('0099', 99, NOW())")
	const want = "a newer program has applied migration 0099"
	if n := s.start(); !strings.Contains(n.Text(), want) {
		t.Errorf("the log does not name the migration:\n%s", n.Text())
	}
	if out, code := s.run("checkconfig"); code != 0 || !strings.Contains(out, want) {
		t.Errorf("checkconfig: %d, want 0 and the migration:\n%s", code, out)
	}
}
