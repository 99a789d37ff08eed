//go:build cluster

package cluster

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

const (
	partitions    = 6      // two per primary
	units         = 20_000 // per sale; more than are bought
	settleTimeout = 60 * time.Second
)

// world is a shop on several Redis servers: a sale in each partition, two nodes that accept buys, a worker and a
// sweeper.
type world struct {
	t        *testing.T
	settings []string
	store    *store.Store
	db       *sql.DB
	slot     shop.Slot
	sales    [partitions]shop.Sale

	apiNodes []*node // accept buys
	worker   *node
	sweeper  *node
}

// open creates the shop and starts its processes. All of them get the settings.
func open(t *testing.T, redisURL string, settings ...string) *world {
	t.Helper()
	dsn := kit.MySQL(t)
	w := &world{t: t, settings: append([]string{
		"STAMPEDE_REDIS_URL=" + redisURL, "STAMPEDE_MYSQL_DSN=" + dsn, "STAMPEDE_JWT_SECRET=" + secret,
		fmt.Sprintf("STAMPEDE_PARTITIONS=%d", partitions), "STAMPEDE_PAY_WINDOW=1h",
	}, settings...)}
	ctx := kit.Context(t)
	var err error
	w.store, err = store.OpenMySQL(ctx, dsn)
	w.must(err)
	t.Cleanup(func() { _ = w.store.Close() })
	_, err = migrations.Up(ctx, w.store.DB())
	w.must(err)
	w.must(w.store.Partitions().EnsurePartitions(ctx, partitions))
	w.db, err = sql.Open("mysql", dsn)
	w.must(err)
	t.Cleanup(func() { _ = w.db.Close() })
	w.slot = kit.OpenSlot(t, w.store)
	for p := range w.sales {
		w.sales[p] = w.offer(p)
	}
	for i := range 2 {
		w.apiNodes = append(w.apiNodes, w.start(fmt.Sprintf("api-%d", i), "api"))
	}
	w.worker, w.sweeper = w.start("worker", "worker"), w.start("sweeper", "sweeper")
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	kit.Must(w.t, err)
}

// offer puts a product on sale in the partition for one hour.
func (w *world) offer(partition int) shop.Sale {
	w.t.Helper()
	now := shop.MillisOf(time.Now())
	return kit.Offer(w.t, w.store, shop.Sale{
		Slot: w.slot.ID, Partition: partition, Initial: units, Limit: units, Cap: units, Challenge: shop.ChallengeNone,
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(time.Hour),
	})
}

// rows returns the ids of all orders in the database.
func (w *world) rows() map[shop.ID]bool {
	w.t.Helper()
	return kit.IDs(w.t, w.db, "SELECT id FROM orders")
}

// primaries returns the primary of each partition in a cluster, host:port, as `checkconfig` lists them.
func (w *world) primaries() (addrs [partitions]string) {
	w.t.Helper()
	out, code := w.run("checkconfig", "--json")
	var result struct {
		Partitions []struct {
			Partition int    `json:"partition"`
			Primary   string `json:"primary"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.Partitions) != partitions {
		w.t.Fatalf("checkconfig exits %d: %v\n%s", code, err, out)
	}
	for _, p := range result.Partitions {
		addrs[p.Partition] = p.Primary
	}
	return addrs
}

// awaitDrained waits until no reservation waits for its row.
func (w *world) awaitDrained() {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		up, waiting := w.sweeper.metric("stampede_streams_up"), w.sweeper.metric("stampede_stream_waiting")
		return up == 1 && waiting == 0, fmt.Sprintf("%v reservations wait for their rows, want 0; Redis up: %v, want 1", waiting, up)
	})
}

// awaitAudit waits until the stock equation holds in every sale, in Redis and in the database.
func (w *world) awaitAudit() {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		out, code := w.run("audit")
		return code == 0, fmt.Sprintf("audit exits %d:\n%s", code, out)
	})
}
