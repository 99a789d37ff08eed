package recovery

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/streams"
)

// TestMain discards the log, because the tests force recoveries.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	kit.Main(m)
}

// world is a partition on SQLite and Redis that a node has opened.
type world struct {
	t      *testing.T
	ctx    context.Context
	db     *store.Store
	client *redis.Client
	redis  *streams.Inventory
	driver *Driver
	slot   shop.ID
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ctx: kit.Context(t), db: kit.SQLite(t)}
	kit.Must(t, w.db.Partitions().EnsurePartitions(w.ctx, 1))
	w.slot = kit.OpenSlot(t, w.db).ID
	o, err := redis.ParseURL(kit.Redis(t))
	kit.Must(t, err)
	o.MaxRetries = -1
	w.client = redis.NewClient(o)
	t.Cleanup(func() { _ = w.client.Close() })
	w.redis, err = streams.New(streams.Options{Client: w.client, Partitions: 1})
	kit.Must(t, err)
	w.driver = &Driver{Partitions: 1, Store: w.db, Redis: w.redis, PayWindow: time.Minute}
	w.check()
	return w
}

// check checks the partition like a node, and recovers it if needed.
func (w *world) check() {
	w.t.Helper()
	kit.Must(w.t, w.driver.Check(w.ctx))
}

// offer creates and opens a sale of five units.
func (w *world) offer() shop.Sale {
	w.t.Helper()
	id := kit.Offer(w.t, w.db, shop.Sale{Slot: w.slot, Initial: 5, Limit: 5, Cap: 60}).ID
	sale, err := w.db.Sales().Sale(w.ctx, id)
	kit.Must(w.t, err)
	epoch := w.redis.Epoch(0)
	kit.Must(w.t, w.redis.Stock().Create(w.ctx, epoch, shop.SaleState{Sale: &sale, Stock: sale.Initial}))
	kit.Must(w.t, w.db.Sales().MarkLoaded(w.ctx, id, epoch, 1))
	kit.Must(w.t, w.redis.Stock().Arm(w.ctx, epoch, sale.Ref()))
	return sale
}

// insert writes the row of an order of one unit, with some columns changed. The user id equals the order id.
func (w *world) insert(sale shop.ID, columns string, args ...any) shop.ID {
	w.t.Helper()
	id := kit.NewID()
	_, err := w.db.Orders().Insert(w.ctx, w.redis.Epoch(0), []shop.NewOrder{{
		ID: id, Sale: sale, User: id, ProductName: "Lamp", Qty: 1, PriceFen: 4900, AmountFen: 4900, State: shop.Pending,
		Ticket: 1, Seq: 1, Hold: 1, SaleVersion: 1, Key: "key-" + id.String(), ContentHash: "0123456789abcdef",
		CreatedAt: 1, PayBy: 2,
	}})
	kit.Must(w.t, err)
	w.exec("UPDATE orders SET "+columns+" WHERE id = ?", append(args, id)...)
	return id
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	_, err := w.db.DB().ExecContext(w.ctx, query, args...)
	kit.Must(w.t, err)
}

// lose renames the keys of a sale in Redis until find.
func (w *world) lose(sale *shop.Sale) {
	w.t.Helper()
	kit.Must(w.t, w.client.Rename(w.ctx, kit.SaleKey(sale), "lost").Err())
}

func (w *world) find(sale *shop.Sale) {
	w.t.Helper()
	kit.Must(w.t, w.client.Rename(w.ctx, "lost", kit.SaleKey(sale)).Err())
}

// inspect inspects the partition and returns what Redis has lost.
func (w *world) inspect() string {
	w.t.Helper()
	h, err := w.db.History().Read(w.ctx)
	kit.Must(w.t, err)
	f, err := w.driver.inspect(w.ctx, 0, h)
	kit.Must(w.t, err)
	return f.redisLost
}

func (w *world) effects() *order.Effects {
	return &order.Effects{
		Stock: w.redis.Stock(), Queue: w.redis.Queue(), Notifier: w.redis.Sequences(), Store: w.db.Orders(),
		PublishMarks: &order.PublishMarks{Store: w.db.Orders()},
	}
}
