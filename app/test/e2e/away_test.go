package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// wired is a shop whose stores are reached through wires that can be cut and stalled.
func wired(t *testing.T, settings ...string) (s *shop, redis, database *kit.Proxy) {
	t.Helper()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	dsn := kit.MySQL(t)
	redis, database = kit.NewProxy(t, server.URL), kit.NewProxy(t, dsn)
	s = openShop(t, server.URL, dsn, settings...)
	s.settings = append(s.settings, "STAMPEDE_REDIS_URL="+redis.URL, "STAMPEDE_MYSQL_DSN="+database.URL)
	return s, redis, database
}

// With a store away `stampede status` shows what the other one knows and says which is missing; with both it says so.
func TestStatusWithoutAStore(t *testing.T) {
	t.Parallel()
	s, redis, database := wired(t)
	sale := s.open(10, 5)
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 3, "three-of-them")
	s.must(err)
	s.drained(sale)

	status := func(want int) (b app.Board) {
		t.Helper()
		out, code := s.run("status", "--json")
		if code != want {
			t.Fatalf("status exits %d, want %d:\n%s", code, want, out)
		}
		text, _, _ := strings.Cut(out, "\nstampede:") // what else is said
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		return b
	}
	alarms := func(b *app.Board) (names []string) {
		for _, a := range b.Alarms {
			names = append(names, a.Name)
		}
		return names
	}
	shown := func(b *app.Board) app.BoardSale {
		t.Helper()
		i := slices.IndexFunc(b.Sales, func(x app.BoardSale) bool { return x.ID == sale.ID })
		if i < 0 {
			t.Fatalf("the sale is not among %+v", b.Sales)
		}
		return b.Sales[i]
	}
	whole := status(0)
	if got := shown(&whole); got.Stock != 7 || got.Held != 3 || len(whole.Nodes) != 1 {
		t.Fatalf("with both stores: %+v, nodes %+v", got, whole.Nodes)
	}

	redis.Cut()
	books := status(3)
	if got := shown(&books); got.Stock != 7 || got.Initial != 10 || got.Name != "Lamp" ||
		!slices.Contains(alarms(&books), app.AlarmRedisAway) || len(books.Nodes) != 0 {
		t.Errorf("without Redis: %+v, alarms %v", got, alarms(&books))
	}
	if out, code := s.run("status"); code != 3 || !strings.Contains(out, "this is what the database knows") ||
		!strings.Contains(out, "Lamp") {
		t.Errorf("without Redis it exits %d:\n%s", code, out)
	}
	redis.Restore()

	database.Cut()
	kit.Eventually(t, patience, func() (bool, string) { // the node says its figures again
		b := status(3)
		return len(b.Nodes) == 1 && len(b.Partitions) == 8, "without the database: no nodes"
	})
	if b := status(3); !slices.Contains(alarms(&b), app.AlarmDatabaseAway) ||
		slices.Contains(alarms(&b), app.AlarmRedisAway) {
		t.Errorf("without the database: alarms %v", alarms(&b))
	}

	redis.Cut()
	out, code := s.run("status", "--json")
	if code != 1 || !strings.Contains(out, "no store answers") || !strings.Contains(out, "Redis") ||
		!strings.Contains(out, "database") || strings.Contains(out, secret) {
		t.Errorf("without both it exits %d:\n%s", code, out)
	}
	redis.Restore()
	database.Restore()
	s.audit(sale)
}

// Stores that do not answer do not delay a scrape. Their figures are missing, and metrics report that they are away.
func TestMetricsWhileStoresStandStill(t *testing.T) {
	t.Parallel()
	s, redis, database := wired(t)
	s.open(10, 5)
	n := startShipped(t, s.settings...)
	if up := n.metric("stampede_streams_up"); up != 1 {
		t.Fatalf("streams up %v", up)
	}
	redis.Stall()
	database.Stall()
	quickest := time.Hour
	for range 5 {
		begin := time.Now()
		status, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
		took := time.Since(begin)
		if status != http.StatusOK ||
			!strings.Contains(string(text), "\nstampede_streams_up 0\n") ||
			!strings.Contains(string(text), "\nstampede_database_silent_seconds ") {
			t.Errorf("a scrape answers %d after %v", status, took)
		}
		quickest = min(quickest, took)
	}
	if quickest > 2*time.Second {
		t.Errorf("the quickest scrape took %v", quickest)
	}
	redis.Restore()
	database.Restore()
	kit.Eventually(t, patience, func() (bool, string) {
		return n.metric("stampede_streams_up") == 1, "the streams are not read again"
	})
}
