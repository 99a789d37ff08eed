package e2e

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

func (s *testShop) exec(statement string) {
	s.t.Helper()
	_, err := s.db.ExecContext(kit.Context(s.t), statement)
	s.must(err)
}

// If a store is unreachable at start, the program logs it and is not ready. It continues by itself when the store
// returns.
func TestNodeWaitsForUnreachableStoresAtStart(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	mariadb := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openShop(t, server.URL, mariadb.Database())
	sale := s.open(5, 1)
	for label, store := range map[string]struct{ stop, start func() }{
		"redis": {server.Kill, server.Start},
		"mysql": {mariadb.Kill, mariadb.Start},
	} {
		store.stop()
		n := launch(t, s.settings...)
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			return strings.Contains(strings.ToLower(n.Text()), label), "the log does not name " + label + ": " +
				n.Text()
		})
		if kit.Ready(n.t, n.addr) {
			t.Errorf("ready without %s", label)
		}
		store.start()
		n.waitReady()
		c, _ := login(t, n, kit.NewID(), "")
		_, err := c.BuyUntilKnown(sale.ID, 1, "first-"+label)
		s.must(err)
		n.stop()
	}
}

// The number of partitions is stored. A start with another number is rejected.
func TestChangedPartitionCountIsRejected(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	out, code := run(t, append(s.settings, "STAMPEDE_PARTITIONS=4"), "serve")
	if code == 0 || !strings.Contains(out, "STAMPEDE_PARTITIONS") || !strings.Contains(out, "8") {
		t.Errorf("exit code %d, want a failure that names STAMPEDE_PARTITIONS and 8:\n%s", code, out)
	}
}
