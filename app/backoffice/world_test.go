package backoffice

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/fakes"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// world is a database with one sale, and a Redis whose clock tests set. Its trace contains the transactions committed
// after startTrace, and the calls to Redis.
type world struct {
	*store.Store
	t     *testing.T
	ctx   context.Context
	sale  shop.ID
	redis *fakes.Redis
	fail  string // the transaction that fails, once
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := kit.SQLite(t)
	w := &world{Store: s, t: t, ctx: kit.Context(t), redis: &fakes.Redis{Trace: &fakes.Trace{}, At: 1_000_000}}
	fakes.Must(t, s.Partitions().EnsurePartitions(w.ctx, 1))
	w.sale = kit.Offer(t, s, shop.Sale{Slot: kit.OpenSlot(t, s).ID, Initial: 100, Limit: 10, Cap: 60}).ID
	fakes.Must(t, s.Sales().MarkLoaded(w.ctx, w.sale, 1, 1))
	return w
}

// startTrace starts the trace.
func (w *world) startTrace() {
	w.WrapTransaction = faults.Transactions(func(_ context.Context, name string, call func() error) error {
		if name == w.fail {
			w.fail = ""
			return shop.ErrTransient
		}
		err := call()
		if err == nil {
			w.redis.Add("%s", name[strings.LastIndex(name, ".")+1:])
		}
		return err
	})
}

// effects returns the effects of committed orders.
func (w *world) effects() *order.Effects {
	return &order.Effects{
		Stock: w.redis, Queue: w.redis, Notifier: &fakes.Notifier{Trace: w.redis.Trace}, Store: w.Store.Orders(),
		PublishMarks: &order.PublishMarks{Store: w.Store.Orders()},
	}
}

// order adds a published order of a user in a state.
func (w *world) order(id, user shop.ID, state shop.OrderState) {
	w.t.Helper()
	fakes.Must(w.t, fakes.ErrOf(w.Orders().Insert(w.ctx, 1, []shop.NewOrder{{
		ID: id, Sale: w.sale, User: user, ProductName: "Lamp", Qty: 1, PriceFen: 4900, AmountFen: 4900,
		State: shop.Pending, Ticket: int64(id), Seq: int64(id), Hold: 1, SaleVersion: 1, Key: "key-" + id.String(),
		ContentHash: "0123456789abcdef", CreatedAt: 1, PayBy: 2,
	}})))
	if state == shop.Shipped {
		w.exec("UPDATE orders SET state = ?, paid_at = 1 WHERE id = ?", shop.Paid, id)
		parcel := store.Parcel{Order: id, Carrier: "SF", Tracking: "SF-1"}
		fakes.Must(w.t, fakes.ErrOf(w.Shipments().Ship(w.ctx, store.Shipping{}, []store.Parcel{parcel})))
	}
	w.exec("UPDATE orders SET state = ?, paid_at = 1, rev = 3, published_rev = 3, unpublished_since = NULL WHERE id = ?", state, id)
}

func (w *world) user(id shop.ID, email, name string) {
	w.t.Helper()
	fakes.Must(w.t, w.Accounts().AddUser(w.ctx, shop.User{
		ID: id, Email: email, Name: name, Role: shop.Shopper, Lang: "en", State: shop.UserActive, CreatedAt: 1,
	}))
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	fakes.Must(w.t, fakes.ErrOf(w.DB().NewRaw(query, args...).Exec(w.ctx)))
}

// journalRows returns the rows of the journal.
func (w *world) journalRows() []journal.Entry {
	w.t.Helper()
	rows, err := w.Journal().JournalFrom(w.ctx, 1, 100)
	fakes.Must(w.t, err)
	return rows
}

var lastKey atomic.Int64

// ada returns an operator with a new key for each operation.
func ada() journal.Actor {
	return journal.Actor{
		User: 5, Name: "ada", Role: shop.Operator, Via: journal.ViaHTTP, Key: fmt.Sprintf("key-%05d", lastKey.Add(1)),
	}
}
