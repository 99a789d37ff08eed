package e2e

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// A database that becomes read-only is named on the board and in the log, with the text of the server and without a
// flood of lines. Reservations wait, and get their rows when the database accepts writes.
func TestReadOnlyDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	server := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openShop(t, kit.Redis(t), server.Database())
	sale := s.open(100, 5)
	n := s.start("STAMPEDE_MYSQL_DSN=" + kit.Account(t, s.dsn, "SELECT, INSERT, UPDATE, DELETE"))
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 1, "before-read-only") // loads the sale
	s.must(err)
	s.exec("SET GLOBAL read_only = 1") // root is exempt
	receipt, err := c.BuyUntilKnown(sale.ID, 1, "while-read-only")
	s.must(err)
	alarm := func() bool {
		out, _ := n.run("status")
		return strings.Contains(out, "The database is read-only for")
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) { return alarm(), "the board has no alarm" })
	const period, linesOfAMinute = 10_000, 20
	before := len(n.Text())
	s.must(sleep(kit.Context(t), period))
	lines := strings.Count(n.Text()[before:], "\n")
	if text := n.Text(); !strings.Contains(text, "Error 1290") || lines > linesOfAMinute {
		t.Errorf("%d lines in %d ms, want at most %d, with Error 1290:\n%s", lines, period, linesOfAMinute, text)
	}
	s.exec("SET GLOBAL read_only = 0")
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		o, err := s.store.Orders().Order(kit.Context(t), receipt.Order)
		return err == nil && !alarm(), fmt.Sprintf("after the database became writable: %v, %v", o.State, err)
	})
}

// A setting of Redis with which no node would start raises an alarm when it changes while nodes run.
func TestWeakSettingOfARunningRedisRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	s := openShop(t, server.URL, kit.MySQL(t))
	n := s.start()
	alarm := func() bool {
		out, _ := n.run("status")
		return strings.Contains(out, "maxmemory-policy is allkeys-lru")
	}
	if alarm() {
		t.Error("an alarm before the change")
	}
	s.must(s.redis.ConfigSet(kit.Context(t), "maxmemory-policy", "allkeys-lru").Err())
	kit.Eventually(t, waitTimeout, func() (bool, string) { return alarm(), "no alarm after the change" })
	s.must(s.redis.ConfigSet(kit.Context(t), "maxmemory-policy", "noeviction").Err())
	kit.Eventually(t, waitTimeout, func() (bool, string) { return !alarm(), "the alarm does not end" })
}
