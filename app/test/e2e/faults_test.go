package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// MySQL goes away in mid-sale: reservations go on up to the backlog, then busy; it comes back, everything is
// written, nothing is dead-lettered, and the deadlines lie in the future.
func TestMySQLDownInMidSale(t *testing.T) {
	t.Parallel()
	maria := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openShop(t, kit.Redis(t), maria.Database(), "STAMPEDE_PAY_WINDOW=30s", "STAMPEDE_BACKLOG=40")
	sale := s.open(1000, 1000)
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 1, "before-it-went")
	s.must(err)
	s.drained(sale, 10*time.Second)

	maria.Kill()
	reserved := s.buyUntilBusy(c, sale, "while-it-is-away")
	if reserved < 30 || reserved > 45 {
		t.Errorf("%d reservations were taken with MySQL away, want about the backlog of 40", reserved)
	}
	maria.Start()
	s.drained(sale, 60*time.Second)
	s.settledWell(sale, reserved+1)
	_, err = c.BuyUntilKnown(sale.ID, 1, "after-it-came-back")
	s.must(err)
}

// The same with a MySQL that answers but does not write.
func TestMySQLReadOnlyInMidSale(t *testing.T) {
	t.Parallel()
	maria := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openShop(t, kit.Redis(t), maria.Database(), "STAMPEDE_PAY_WINDOW=30s", "STAMPEDE_BACKLOG=40")
	sale := s.open(1000, 1000)
	// root may write to a read-only server, so the program gets a user of its own
	s.exec("CREATE USER 'shop'@'127.0.0.1' IDENTIFIED BY 'shop'")
	s.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO 'shop'@'127.0.0.1'")
	n := s.start("STAMPEDE_MYSQL_DSN=" + strings.Replace(s.dsn, "root", "shop:shop", 1))
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 1, "before-it-went")
	s.must(err)
	s.drained(sale, 10*time.Second)

	s.exec("SET GLOBAL read_only = 1")
	reserved := s.buyUntilBusy(c, sale, "while-read-only")
	s.exec("SET GLOBAL read_only = 0")
	s.drained(sale, 60*time.Second)
	s.settledWell(sale, reserved+1)
}

// buyUntilBusy buys until the backlog is full and answers how many were reserved.
func (s *shop) buyUntilBusy(c *client, sale app.Sale, key string) int64 {
	s.t.Helper()
	for i := range int64(500) {
		_, err := c.Buy(sale.ID, 1, fmt.Sprintf("%s-%d", key, i))
		var e *app.Error
		switch {
		case err == nil:
		case errors.As(err, &e) && e.Code == app.Busy:
			if e.RetryMS <= 0 {
				s.t.Errorf("busy without retry_ms")
			}
			return i
		case errors.As(err, &e) && e.Code == app.RateLimited:
			c.Pause(e.RetryMS)
		default:
			s.t.Fatalf("buy: %v", err)
		}
		c.Pause(0)
	}
	s.t.Fatal("the backlog was never full")
	return 0
}

// settledWell demands that every reservation is a pending order with its deadline ahead, and no dead letters.
func (s *shop) settledWell(sale app.Sale, orders int64) {
	s.t.Helper()
	now := app.MillisOf(time.Now())
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ? AND state IN ('pending', 'expired')", sale.ID); n < orders {
		s.t.Errorf("%d orders, want at least %d", n, orders)
	}
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ? AND state NOT IN ('pending', 'expired')", sale.ID); n != 0 {
		s.t.Errorf("%d orders were refused", n)
	}
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ? AND ticket > 1 AND pay_by <= ?", sale.ID, now); n != 0 {
		s.t.Errorf("%d orders were past their deadline before anyone could pay", n)
	}
	if letters := s.deadLetters(); len(letters) != 0 {
		s.t.Errorf("%d dead letters, first %+v", len(letters), letters[0])
	}
	s.audit(sale)
}

func (s *shop) exec(statement string) {
	s.t.Helper()
	_, err := s.db.ExecContext(kit.Context(s.t), statement)
	s.must(err)
}

// Redis goes away in mid-sale: buys are answered busy with a pause, never lost; it comes back and the same key
// finds its order or makes it.
func TestRedisDownInMidSale(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	s := openShop(t, server.URL, kit.MySQL(t))
	sale := s.open(100, 100)
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	r, err := c.BuyUntilKnown(sale.ID, 1, "before-it-went")
	s.must(err)
	s.drained(sale, 10*time.Second)

	server.Kill()
	_, err = c.Buy(sale.ID, 1, "while-it-is-away")
	var e *app.Error
	if !errors.As(err, &e) || e.Code != app.Busy || e.RetryMS <= 0 {
		t.Errorf("with Redis away: %v, want busy with retry_ms", err)
	}
	server.Start() // the script cache is empty now: scripts heal
	again, err := c.BuyUntilKnown(sale.ID, 1, "before-it-went")
	if err != nil || again.Order != r.Order {
		t.Errorf("the same key after the restart: %+v, %v", again, err)
	}
	_, err = c.BuyUntilKnown(sale.ID, 1, "while-it-is-away")
	s.must(err)
	s.drained(sale, 30*time.Second)
	if n := s.counter(sale, "stock"); n != 98 {
		t.Errorf("stock %d, want 98", n)
	}
	kit.Eventually(t, 15*time.Second, func() (bool, string) {
		groups, err := s.redis.XInfoGroups(kit.Context(t), streamKey(sale)).Result()
		if err != nil || len(groups) != 1 {
			return false, fmt.Sprint(groups, err)
		}
		return groups[0].Lag == 0 && groups[0].Pending == 0, fmt.Sprintf("P7: lag %d, pending %d", groups[0].Lag,
			groups[0].Pending)
	})
	s.audit(sale)
}

// Stores that cannot be reached at start: the program says so, is not ready, and goes on by itself when they come.
func TestStoresUnreachableAtStart(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	maria := kit.StartMariaDB(t, kit.MariaDBOptions{})
	s := openShop(t, server.URL, maria.Database())
	sale := s.open(5, 1)
	for what, store := range map[string]struct{ away, back func() }{
		"redis": {server.Kill, server.Start},
		"mysql": {maria.Kill, maria.Start},
	} {
		store.away()
		n := launch(t, s.settings...)
		kit.Eventually(t, 20*time.Second, func() (bool, string) {
			return strings.Contains(strings.ToLower(n.log.String()), what), "the log does not name " + what + ": " +
				n.log.String()
		})
		if kit.Ready(n.t, n.addr) {
			t.Errorf("ready without %s", what)
		}
		store.back()
		n.waitReady()
		c, _ := login(t, n, kit.NewID(), "")
		_, err := c.BuyUntilKnown(sale.ID, 1, "first-"+what)
		s.must(err)
		n.stop()
	}
}

// Starting wrongly is explained: which value, which variable, what to do.
func TestStartingWronglyIsExplained(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for name, c := range map[string]struct {
		settings []string
		says     []string
	}{
		"port in use": {
			[]string{"STAMPEDE_LISTEN=" + busy.Addr().String(), "STAMPEDE_DATA=" + t.TempDir()},
			[]string{"STAMPEDE_LISTEN", busy.Addr().String()},
		},
		"only one store": {[]string{"STAMPEDE_REDIS_URL=redis://127.0.0.1:1"}, []string{"STAMPEDE_MYSQL_DSN"}},
		"short secret": {[]string{"STAMPEDE_JWT_SECRET=short", "STAMPEDE_DATA=" + t.TempDir()}, []string{
			"STAMPEDE_JWT_SECRET", "32",
		}},
		"window not a time": {[]string{"STAMPEDE_PAY_WINDOW=soon", "STAMPEDE_DATA=" + t.TempDir()}, []string{
			"STAMPEDE_PAY_WINDOW", "soon",
		}},
		"two wrong at a time": {[]string{"STAMPEDE_PARTITIONS=0", "STAMPEDE_TIME_ZONE=Mars/Olympus"}, []string{
			"STAMPEDE_PARTITIONS", "STAMPEDE_TIME_ZONE",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := run(t, c.settings, "serve")
			if code == 0 {
				t.Error("exit code 0")
			}
			for _, word := range c.says {
				if !strings.Contains(out, word) {
					t.Errorf("does not say %q:\n%s", word, out)
				}
			}
		})
	}
}

// The number of partitions is stored; a start with another one is refused.
func TestOtherPartitionCountIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	out, code := run(t, append(s.settings, "STAMPEDE_PARTITIONS=4"), "serve")
	if code == 0 || !strings.Contains(out, "STAMPEDE_PARTITIONS") || !strings.Contains(out, "8") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
