//go:build crashpoints

package crash

import (
	"database/sql"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

const partitions = 8

// world is one run: two stores, sales, buyers and their history.
type world struct {
	t            *testing.T
	name         string
	rng          *rand.Rand
	folder       string
	program      string   // path of the nodes' binary
	settings     []string // settings of every node
	nodesStarted int      // nodes started so far

	store *store.Store
	db    *sql.DB
	redis *redis.Client

	slot     shop.Slot
	sales    []shop.Sale
	buyers   []*buyer
	memory   memory
	absences absences
	final    Final                      // the last collected state
	allow    func(h *History, f *Final) // removes the losses that this run allows; nil: none
	began    time.Time
}

// newWorld starts a run on the shared test stores.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	return openWorld(t, kit.Redis(t), kit.MySQL(t), settings...)
}

// openWorld creates the tables in an empty database. Every node gets the settings.
func openWorld(t *testing.T, redisURL, dsn string, settings ...string) *world {
	t.Helper()
	w := &world{
		t: t, name: t.Name(), rng: newRNG(t.Name()), folder: createFolder(t), program: binary,
		began: time.Now(),
	}
	w.memory.history.Seed = *seedFlag
	t.Cleanup(w.keepFailedRun)
	w.settings = append([]string{
		"STAMPEDE_REDIS_URL=" + redisURL, "STAMPEDE_MYSQL_DSN=" + dsn, "STAMPEDE_PAY_WINDOW=2s",
	}, settings...)
	ctx := kit.Context(t)
	var err error
	w.store, err = store.OpenMySQL(ctx, dsn)
	w.must(err)
	t.Cleanup(func() { _ = w.store.Close() })
	w.db, err = sql.Open("mysql", dsn)
	w.must(err)
	t.Cleanup(func() { _ = w.db.Close() })
	options, err := redis.ParseURL(redisURL)
	w.must(err)
	w.redis = redis.NewClient(options)
	t.Cleanup(func() { _ = w.redis.Close() })
	_, err = migrations.Up(ctx, w.store.DB())
	w.must(err)
	w.must(w.store.Partitions().EnsurePartitions(ctx, partitions))
	w.slot = kit.OpenSlot(t, w.store)
	return w
}

// keepFailedRun keeps the files of a failed run and logs how to repeat it.
func (w *world) keepFailedRun() {
	if !w.t.Failed() {
		_ = os.RemoveAll(w.folder)
		return
	}
	w.write("history.json", w.memory.copy())
	w.write("final.json", w.final)
	w.t.Logf("history, final state and logs are in %s; to repeat: just crash --seed %d --run '%s'", w.folder, *seedFlag,
		w.name)
	report.line("FAILED  %s, kept in %s", w.name, w.folder)
}

func (w *world) write(name string, v any) {
	text, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(w.folder, name), text, 0o644)
	}
	if err != nil {
		w.t.Errorf("keep %s: %v", name, err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	kit.Must(w.t, err)
}

// offer adds an open sale of one hour in this partition.
func (w *world) offer(units int64, limit, partition int) shop.Sale {
	w.t.Helper()
	sale := w.addSale(units, limit, partition, -time.Second, time.Hour)
	w.sales = append(w.sales, sale)
	return sale
}

// addSale adds a sale that opens and closes after these durations. Buyers do not use it unless it is added to sales.
func (w *world) addSale(units int64, limit, partition int, opens, closes time.Duration) shop.Sale {
	w.t.Helper()
	now := shop.MillisOf(time.Now())
	return kit.Offer(w.t, w.store, shop.Sale{
		Slot: w.slot.ID, Partition: partition, Initial: units, Limit: limit, Cap: 10_000, Challenge: shop.ChallengeNone,
		OpensAt: now.Add(opens), ClosesAt: now.Add(closes),
	})
}

// count returns the result of a query for one number.
func (w *world) count(query string, args ...any) int64 {
	w.t.Helper()
	return kit.Count(w.t, w.db, query, args...)
}

// uncommitted counts the accepted reservations without a row.
func (w *world) uncommitted() int {
	w.t.Helper()
	return len(w.uncommittedOrders())
}

func (w *world) uncommittedOrders() []shop.ID {
	w.t.Helper()
	written := kit.IDs(w.t, w.db, "SELECT id FROM orders")
	return slices.DeleteFunc(w.memory.acceptedOrders(), func(id shop.ID) bool { return written[id] })
}
