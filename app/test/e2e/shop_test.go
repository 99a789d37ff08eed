package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"stampede/app/account"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

// testShop is one pair of stores and the sales in these stores.
type testShop struct {
	t        *testing.T
	redisURL string
	dsn      string
	store    *store.Store
	db       *sql.DB
	redis    *redis.Client
	settings []string
	slot     shop.Slot // one long slot; sales are open for a shorter time
}

// openShop creates the tables in a new database. Every node gets the settings.
func openShop(t *testing.T, redisURL, dsn string, settings ...string) *testShop {
	t.Helper()
	ctx := kit.Context(t)
	database, err := store.OpenMySQL(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	if _, err := migrations.Up(ctx, database.DB()); err != nil {
		t.Fatal(err)
	}
	if err := database.Partitions().EnsurePartitions(ctx, 8); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	stores := []string{"STAMPEDE_REDIS_URL=" + redisURL, "STAMPEDE_MYSQL_DSN=" + dsn}
	return &testShop{
		t: t, redisURL: redisURL, dsn: dsn, store: database, db: db, redis: plainRedis(t, redisURL),
		settings: append(stores, settings...),
	}
}

// plainRedis returns a client of the single server at the URL. It returns nil for a cluster, because tests read no
// keys of a cluster.
func plainRedis(t *testing.T, url string) *redis.Client {
	t.Helper()
	if strings.HasPrefix(url, "redis-cluster:") {
		return nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// newShop returns a shop on the shared test stores.
func newShop(t *testing.T, settings ...string) *testShop {
	t.Helper()
	return openShop(t, kit.Redis(t), kit.MySQL(t), settings...)
}

// withTest returns the shop for a subtest, which reports its own failures.
func (s *testShop) withTest(t *testing.T) *testShop {
	own := *s
	own.t = t
	return &own
}

func (s *testShop) start(settings ...string) *node {
	s.t.Helper()
	return start(s.t, append(s.settings, settings...)...)
}

func (s *testShop) run(args ...string) (string, int) {
	s.t.Helper()
	return run(s.t, s.settings, args...)
}

// offer puts one product on sale between the two times and returns the sale.
func (s *testShop) offer(units int64, limit int, opens, closes time.Time) shop.Sale {
	s.t.Helper()
	return s.add(shop.Sale{
		Initial: units, Limit: limit, Cap: max(10, limit), Challenge: shop.ChallengeNone,
		OpensAt: shop.MillisOf(opens), ClosesAt: shop.MillisOf(closes),
	})
}

// add completes the sale with a new product and stores both.
func (s *testShop) add(sale shop.Sale) shop.Sale {
	s.t.Helper()
	sale.Slot, sale.Partition = s.openSlot().ID, int(kit.NewID())%8
	return kit.Offer(s.t, s.store, sale)
}

func (s *testShop) openSlot() shop.Slot {
	s.t.Helper()
	if s.slot.ID == 0 {
		s.slot = kit.OpenSlot(s.t, s.store)
	}
	return s.slot
}

func (s *testShop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// open adds a sale that has just opened and stays open for an hour.
func (s *testShop) open(units int64, limit int) shop.Sale {
	s.t.Helper()
	now := time.Now()
	return s.offer(units, limit, now.Add(-time.Second), now.Add(time.Hour))
}

// token returns an access token as the server issues it.
func token(t *testing.T, user shop.ID) string {
	t.Helper()
	return issue(t, user, "Tester", shop.Shopper)
}

func operatorToken(t *testing.T) string {
	t.Helper()
	return issue(t, kit.NewID(), "Operator", shop.Operator)
}

func issue(t *testing.T, user shop.ID, name string, role shop.Role) string {
	t.Helper()
	issuer, err := account.NewIssuer([]byte(secret), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := issuer.Issue(user, name, role, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// count returns the single number that a query selects.
func (s *testShop) count(query string, args ...any) int64 {
	s.t.Helper()
	return kit.Count(s.t, s.db, query, args...)
}

// counter reads one counter of a sale from Redis.
func (s *testShop) counter(sale shop.Sale, field string) int64 {
	s.t.Helper()
	n, err := s.redis.HGet(kit.Context(s.t), kit.SaleKey(&sale), field).Int64()
	if err != nil {
		s.t.Fatalf("read %s of sale %s: %v", field, sale.ID, err)
	}
	return n
}

func streamKey(sale shop.Sale) string { return fmt.Sprintf("stampede:{%d}:orders", sale.Partition) }

// awaitDrained waits until every reservation of the sale is settled.
func (s *testShop) awaitDrained(sale shop.Sale) {
	s.t.Helper()
	kit.Eventually(s.t, waitTimeout, func() (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		values, err := s.redis.HMGet(ctx, kit.SaleKey(&sale), "tickets", "done").Result()
		if err != nil {
			return false, err.Error()
		}
		return values[0] != nil && values[0] == values[1], fmt.Sprintf("tickets %v, done %v", values[0], values[1])
	})
}

// audit runs `stampede audit` and checks that it passes.
func (s *testShop) audit(sale shop.Sale) {
	s.t.Helper()
	out, code := s.run("audit", "--sale", sale.ID.String())
	if code != 0 {
		s.t.Errorf("audit of sale %s exits %d:\n%s", sale.ID, code, out)
	}
}

// deadLetters returns the dead letters that `stampede dead list` prints as JSON.
func (s *testShop) deadLetters() []shop.DeadLetter {
	s.t.Helper()
	out, code := s.run("dead", "list", "--json")
	var letters []shop.DeadLetter
	if err := json.Unmarshal([]byte(out), &letters); err != nil || code != 0 {
		s.t.Fatalf("dead list exits %d, %v:\n%s", code, err, out)
	}
	return letters
}

// rowsOf counts the orders of a sale.
func (s *testShop) rowsOf(sale *shop.Sale) int64 {
	return s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID)
}
