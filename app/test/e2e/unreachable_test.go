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

// wired returns a shop that reaches its stores through proxies, which can be cut and stalled.
func wired(t *testing.T, settings ...string) (s *testShop, redis, database *kit.Proxy) {
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
	memory := map[bool]string{true: "1", false: "0"}[on]
	options, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(options)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory", memory).Err(); err != nil {
		t.Fatal(err)
	}
}

// If a store is unreachable, `stampede status` shows the data of its node and an alarm for that store. Without a node
// it fails.
func TestStatusWithoutAStore(t *testing.T) {
	t.Parallel()
	s, redis, database := wired(t)
	sale := s.open(10, 5)
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 3, "three-of-them")
	s.must(err)
	s.drained(sale)

	status := func() (b board.Board, code int) {
		t.Helper()
		out, code := n.run("status", "--json")
		text, _, _ := strings.Cut(out, "\nstampede:") // without the error message
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		return b, code
	}
	becomes := func(want ...string) {
		t.Helper()
		kit.Eventually(t, patience, func() (bool, string) {
			b, code := status()
			var alarms []string
			for _, a := range b.Alarms {
				alarms = append(alarms, a.Name)
			}
			fits := (code == 3) == (len(want) > 0)
			for _, name := range want {
				fits = fits && slices.Contains(alarms, name)
			}
			return fits && (len(want) > 0 || len(alarms) == 0), fmt.Sprintf("exit code %d, alarms %v", code, alarms)
		})
	}
	becomes()
	whole, _ := status()
	i := slices.IndexFunc(whole.Sales, func(x board.Sale) bool { return x.ID == sale.ID })
	if i < 0 || whole.Sales[i].Stock != 7 || whole.Sales[i].Held != 3 || len(whole.Nodes) != 1 {
		t.Fatalf("with both stores: %+v", whole)
	}
	rejectWrites(t, redis.URL, true)
	becomes(board.AlarmWritesRejected)
	rejectWrites(t, redis.URL, false)
	becomes()
	redis.Cut()
	becomes(board.AlarmRedisAway)
	redis.Restore()
	becomes()
	database.Cut()
	becomes(board.AlarmDatabaseAway)
	database.Restore()
	becomes()
	s.audit(sale)
	n.Kill()
	if out, code := n.run("status"); code != 1 || !strings.Contains(out, "cannot reach the server") {
		t.Errorf("status without a node exits %d, want 1:\n%s", code, out)
	}
}

// Stores that do not respond do not delay a scrape. Their metrics are missing, and other metrics report that they are
// unreachable.
func TestMetricsWhileStoresStandStill(t *testing.T) {
	t.Parallel()
	s, redis, database := wired(t)
	s.open(10, 5)
	n := startShipped(t, s.settings...)
	if up := n.metric("stampede_streams_up"); up != 1 {
		t.Fatalf("stampede_streams_up is %v, want 1", up)
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
			t.Errorf("a scrape returned %d after %v, or without the metrics of unreachable stores", status, took)
		}
		quickest = min(quickest, took)
	}
	if quickest > 2*time.Second {
		t.Errorf("the fastest scrape took %v, want at most 2 s", quickest)
	}
	redis.Restore()
	database.Restore()
	kit.Eventually(t, patience, func() (bool, string) {
		return n.metric("stampede_streams_up") == 1, "the streams are not read again"
	})
}
