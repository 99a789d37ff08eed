package money

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/alipay"
	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
	"stampede/migrations"
	"stampede/streams"
)

// TestMain disables the log, because the tests force many faults. It reduces the number of random sequences, because
// each takes half a second; the flag `-rapid.checks` overrides it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	if os.Getenv("STAMPEDE_TEST_LOG") == "" {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	kit.Main(m)
}

// sharedKeys are generated once, because that is slow.
var sharedKeys = sync.OnceValues(sim.NewKeys)

var lastID atomic.Int64

// newID returns ids as large as snowflake ids.
func newID() shop.ID { return shop.ID(1_790_000_000_000_000_000 + lastID.Add(1)) }

const (
	priceFen    = 4990
	payWindow   = 5 * time.Minute
	waitTimeout = time.Minute // long enough for a busy machine
)

// world contains everything that outlives a process: the stores, the gateway, and the events that buyers received.
type world struct {
	t           testing.TB
	ctx         context.Context
	db          *store.Store
	recoveryDB  *store.Store
	client      *redis.Client
	inventory   *streams.Inventory
	gate        *streams.Gate
	buyers      *buyers
	sim         *sim.Simulator
	shop        alipay.Options // the shop's configuration of the gateway
	shopID      string
	slot        shop.ID
	reconcilers []*recovery.Reconciler // of all processes so far

	stopWorker func()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	// No deadline: a test with many scenarios takes long, and each wait has a separate limit.
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, buyers: &buyers{lastEvent: make(map[shop.ID]shop.Order)}}
	w.openStores()
	w.openGateway()
	w.must(errOf(w.db.Settings().EnsureGateway(w.ctx, payment.GatewayIdentity{Name: "alipay", Mode: "simulator", App: w.shop.AppID})))
	shopID, err := w.db.Settings().ShopID(w.ctx)
	w.must(err)
	w.shopID = shopID
	w.openPartition()
	w.slot = newID()
	now, err := w.inventory.Now(w.ctx)
	w.must(err)
	w.must(w.db.Catalogue().AddSlots(w.ctx, []shop.Slot{
		{ID: w.slot, OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(2 * time.Hour)},
	}))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// retry retries calls that a busy machine may reject.
func (w *world) retry(label string, try func() error) {
	w.t.Helper()
	kit.Eventually(w.t, waitTimeout, func() (bool, string) {
		err := try()
		return err == nil, fmt.Sprint(label, ": ", err)
	})
}

func (w *world) openStores() {
	db, err := store.OpenMySQL(w.ctx, database(w.t))
	w.must(err)
	w.t.Cleanup(func() { _ = db.Close() })
	_, err = migrations.Up(w.ctx, db.DB())
	w.must(err)
	w.must(db.Partitions().EnsurePartitions(w.ctx, 1))
	w.db, w.recoveryDB = db, db.ForRecovery()
	w.t.Cleanup(func() { _ = w.recoveryDB.Close() })
	for _, s := range []*store.Store{w.db, w.recoveryDB} {
		s.WrapTransaction = faults.Transactions(faults.OfContext)
		*s.DB() = *s.DB().WithQueryHook(rowsHook{}) // the store keeps this handle
	}

	o, err := redis.ParseURL(kit.Redis(w.t))
	w.must(err)
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	o.ReadTimeout = 30 * time.Second // a disk that is busy with other tests must not cause a failure here
	w.client = redis.NewClient(o)
	w.client.AddHook(faults.Redis(faults.OfContext))
	w.t.Cleanup(func() { _ = w.client.Close() })
	w.inventory, err = streams.New(streams.Options{
		Client: w.client, BlockingClient: w.client, Partitions: 1, Backlog: 2 * crowd,
	})
	w.must(err)
	w.gate = streams.NewGate(w.inventory)
	w.t.Cleanup(w.gate.Close)
}

func (w *world) openGateway() {
	keys, err := sharedKeys()
	w.must(err)
	w.sim, err = sim.New(sim.Options{Keys: keys})
	w.must(err)
	w.t.Cleanup(w.sim.Close)
	server := httptest.NewServer(w.sim)
	w.t.Cleanup(server.Close)
	private, public, err := keys.PEM()
	w.must(err)
	// No address for notifications: tests deliver them explicitly.
	w.shop = alipay.Options{
		Gateway: server.URL + "/gateway.do", AppID: keys.AppID, SellerID: keys.SellerID, PrivateKey: private, PublicKey: public,
	}
}

// openPartition opens the partition like a starting node and consumes its stream until the test ends.
func (w *world) openPartition() {
	n := w.node(nil)
	w.must(n.recoverPartition(nil))
	w.startWorker()
}

// startWorker starts a worker, which stopWorker stops.
func (w *world) startWorker() {
	ctx, cancel := context.WithCancel(w.ctx)
	consumer := streams.NewConsumer(w.inventory, 0, "node", w.node(nil).fulfiller,
		streams.ConsumerOptions{Block: 20 * time.Millisecond})
	var running sync.WaitGroup
	running.Go(func() { _ = consumer.Run(ctx) })
	w.stopWorker = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	w.t.Cleanup(w.stopWorker)
}

// offer creates and opens a sale.
func (w *world) offer(units int64, limit int) shop.SaleRef {
	w.t.Helper()
	product := shop.Product{ID: newID(), Name: "Teapot", ListPriceFen: 9900}
	w.must(w.db.Catalogue().AddProducts(w.ctx, []shop.Product{product}))
	sale := shop.Sale{
		ID: newID(), Slot: w.slot, Product: product, PriceFen: priceFen, Initial: units, Limit: limit, Cap: 100,
	}
	w.must(w.db.Sales().AddSales(w.ctx, []shop.Sale{sale}))
	sale, err := w.db.Sales().Sale(w.ctx, sale.ID)
	w.must(err)
	epoch, _, err := w.db.Partitions().PartitionEpoch(w.ctx, 0)
	w.must(err)
	w.must(w.inventory.Stock().Create(w.ctx, epoch, shop.SaleState{Sale: &sale, Stock: units}))
	w.must(w.db.Sales().MarkLoaded(w.ctx, sale.ID, epoch, 1))
	w.must(w.inventory.Stock().Arm(w.ctx, epoch, sale.Ref()))
	return sale.Ref()
}

// remove removes a sale from Redis. Recoveries and scans read all sales in Redis, so the time of a test with many sales
// would otherwise grow quadratically.
func (w *world) remove(sale shop.SaleRef) {
	w.t.Helper()
	if w.retired(sale.ID) {
		return
	}
	w.must(w.client.HSet(w.ctx, "stampede:{0}:sale:"+sale.ID.String(), "closes", 1000, "held", 0).Err())
	w.retry("the sale is removed from Redis", func() error {
		retired, err := w.inventory.Stock().Retire(w.ctx, sale)
		if err == nil && !retired {
			err = errors.New("some tickets are not settled")
		}
		return err
	})
	w.must(w.db.Sales().MarkRetired(w.ctx, sale.ID, w.sale(sale.ID).Epoch))
}

// buy reserves units and waits for the row; false when the gate rejects the buy.
func (w *world) buy(sale shop.SaleRef, user shop.ID, qty int) (shop.Order, bool) {
	w.t.Helper()
	id := newID()
	d := w.reserve(shop.Buy{
		Order: id, User: user, Sale: sale, Qty: qty, Key: "key-" + id.String(), Hash: "0123456789abcdef",
	})
	if d.Verdict != shop.VerdictReserved && d.Verdict != shop.VerdictRepeated {
		return shop.Order{}, false
	}
	var row shop.Order
	kit.Eventually(w.t, waitTimeout, func() (bool, string) {
		var err error
		row, err = w.db.Orders().Order(w.ctx, id)
		return err == nil, "no row"
	})
	return row, true
}

// decide sends a buy to the gate and waits for the decision.
func (w *world) decide(b shop.Buy) (shop.GateResult, error) {
	return kit.Await(func(then func(shop.GateResult, error)) { w.gate.Reserve(b, time.Now().Add(waitTimeout), then) })
}

// reserve retries until the gate decides: on a busy machine it sometimes stops waiting for Redis (I6).
func (w *world) reserve(b shop.Buy) (d shop.GateResult) {
	kit.Eventually(w.t, waitTimeout, func() (ok bool, why string) {
		var err error
		d, err = w.decide(b)
		return err == nil && d.Verdict != shop.VerdictCooldown, fmt.Sprint("no reply: ", err)
	})
	return d
}

// order buys one unit, or fails the test.
func (w *world) order(sale shop.SaleRef, user shop.ID) shop.Order {
	w.t.Helper()
	row, ok := w.buy(sale, user, 1)
	if !ok {
		w.t.Fatal("not reserved")
	}
	return row
}

func (w *world) read(order shop.ID) shop.Order {
	w.t.Helper()
	row, err := w.db.Orders().Order(w.ctx, order)
	w.must(err)
	return row
}

// exec runs a statement, mostly to simulate passing time.
func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	_, err := w.db.DB().ExecContext(w.ctx, query, args...)
	w.must(err)
}

// passDeadline sets the order's deadline into the past.
func (w *world) passDeadline(order shop.ID) {
	w.t.Helper()
	w.exec("UPDATE orders SET pay_by = ? WHERE id = ?", 1000, order)
}

// makeDue makes all delayed work due.
func (w *world) makeDue() {
	w.t.Helper()
	w.exec("UPDATE trades SET check_at = 1 WHERE check_at IS NOT NULL")
	w.exec("UPDATE payments SET unsettled_since = 1 WHERE unsettled_since IS NOT NULL")
	w.exec("UPDATE refunds SET next_at = 1 WHERE next_at IS NOT NULL")
	w.exec("UPDATE orders SET unpublished_since = 1 WHERE unpublished_since IS NOT NULL")
}

// buyers stores the newest event of each order.
type buyers struct {
	mu        sync.Mutex
	lastEvent map[shop.ID]shop.Order
}

// Publish implements order.Notifier.
func (b *buyers) Publish(ctx context.Context, _ int, _ shop.Millis, rows []*shop.Order) error {
	return faults.OfContext(ctx, "publish", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, o := range rows {
			if o.Rev > b.lastEvent[o.ID].Rev {
				b.lastEvent[o.ID] = *o
			}
		}
		return nil
	})
}

func (b *buyers) lastOf(order shop.ID) shop.Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastEvent[order]
}
