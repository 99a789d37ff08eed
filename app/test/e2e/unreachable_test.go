package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"stampede/app/board"
	"stampede/app/test/kit"
)

// newProxiedShop returns a shop that reaches its stores through proxies, which can be cut and stalled.
func newProxiedShop(t *testing.T, settings ...string) (s *testShop, redis, database *kit.Proxy) {
	t.Helper()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	dsn := kit.MySQL(t)
	redis, database = kit.NewProxy(t, server.URL), kit.NewProxy(t, dsn)
	s = openShop(t, server.URL, dsn, settings...)
	s.settings = append(s.settings, "STAMPEDE_REDIS_URL="+redis.URL, "STAMPEDE_MYSQL_DSN="+database.URL)
	return s, redis, database
}

// rejectWrites makes Redis reject writes but serve reads, or restores it.
func rejectWrites(t *testing.T, url string, on bool) {
	t.Helper()
	maxMemory := map[bool]string{true: "1", false: "0"}[on]
	options, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(options)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory", maxMemory).Err(); err != nil {
		t.Fatal(err)
	}
}

// If a store is unreachable, `stampede status` shows the data of its node and an alarm for that store. Without a node
// it fails.
func TestStatusReportsUnreachableStore(t *testing.T) {
	t.Parallel()
	s, redis, database := newProxiedShop(t)
	sale := s.open(10, 5)
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 3, "three-of-them")
	s.must(err)
	s.awaitDrained(sale)

	status := func() (b board.Board, code int) {
		t.Helper()
		out, code := n.run("status", "--json")
		text, _, _ := strings.Cut(out, "\nstampede:") // without the error message
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		return b, code
	}
	awaitAlarms := func(want ...string) {
		t.Helper()
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			b, code := status()
			var alarms []string
			for _, a := range b.Alarms {
				alarms = append(alarms, a.Name)
			}
			matches := (code == 3) == (len(want) > 0)
			for _, name := range want {
				matches = matches && slices.Contains(alarms, name)
			}
			return matches && (len(want) > 0 || len(alarms) == 0), fmt.Sprintf("exit code %d, alarms %v", code, alarms)
		})
	}
	awaitAlarms()
	full, _ := status()
	i := slices.IndexFunc(full.Sales, func(x board.Sale) bool { return x.ID == sale.ID })
	if i < 0 || full.Sales[i].Stock != 7 || full.Sales[i].Held != 3 || len(full.Nodes) != 1 {
		t.Fatalf("with both stores: %+v", full)
	}
	rejectWrites(t, redis.URL, true)
	awaitAlarms(board.AlarmWritesRejected)
	rejectWrites(t, redis.URL, false)
	awaitAlarms()
	redis.Cut()
	awaitAlarms(board.AlarmRedisUnreachable)
	redis.Restore()
	awaitAlarms()
	database.Cut()
	awaitAlarms(board.AlarmDatabaseUnreachable)
	database.Restore()
	awaitAlarms()
	s.audit(sale)
	n.Kill()
	if out, code := n.run("status"); code != 1 || !strings.Contains(out, "cannot reach the server") {
		t.Errorf("status without a node exits %d, want 1:\n%s", code, out)
	}
}

// Stores that do not respond do not delay a scrape. Their metrics are missing, and other metrics report the unreachable
// stores.
func TestScrapeDoesNotWaitForStalledStores(t *testing.T) {
	t.Parallel()
	s, redis, database := newProxiedShop(t)
	s.open(10, 5)
	n := startShipped(t, s.settings...)
	if up := n.metric("stampede_streams_up"); up != 1 {
		t.Fatalf("stampede_streams_up is %v, want 1", up)
	}
	redis.Stall()
	database.Stall()
	fastest := time.Hour
	for range 5 {
		begin := time.Now()
		status, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
		took := time.Since(begin)
		if status != http.StatusOK ||
			!strings.Contains(string(text), "\nstampede_streams_up 0\n") ||
			!strings.Contains(string(text), "\nstampede_database_response_age_seconds ") {
			t.Errorf("a scrape returned %d after %v, or without the metrics of unreachable stores", status, took)
		}
		fastest = min(fastest, took)
	}
	if fastest > 2*time.Second {
		t.Errorf("the fastest scrape took %v, want at most 2 s", fastest)
	}
	redis.Restore()
	database.Restore()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return n.metric("stampede_streams_up") == 1, "the streams are not read again"
	})
}
