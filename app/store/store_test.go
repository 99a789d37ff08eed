package store_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stampede/app"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

func TestMain(m *testing.M) { kit.Main(m) }

// onBoth runs a contract test on MariaDB and on SQLite, each with an empty schema.
func onBoth(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, onMariaDB(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
}

func onMariaDB(t testing.TB) *store.Store {
	t.Helper()
	return migrated(t, openMySQL(t, kit.MySQL(t)))
}

func openMySQL(t testing.TB, dsn string) *store.Store {
	t.Helper()
	s, err := store.OpenMySQL(kit.Context(t), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	return s
}

func onSQLite(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.OpenSQLite(kit.Context(t), filepath.Join(t.TempDir(), "shop with space?.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	return migrated(t, s)
}

func closed(t testing.TB, s *store.Store) {
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func migrated(t testing.TB, s *store.Store) *store.Store {
	t.Helper()
	if _, err := migrations.Up(kit.Context(t), s.DB()); err != nil {
		t.Fatal(err)
	}
	return s
}

// asRow compares orders as their rows have them: who has changed a row stands in no column (see TestStamped).
var asRow = cmpopts.IgnoreFields(app.Order{}, "Stamped")

// lastID makes ids for tests; only their order matters.
var lastID atomic.Int64

func nextID() app.ID { return app.ID(1000 + lastID.Add(1)) }

const (
	opens  app.Millis = 1_800_000_000_000
	closes app.Millis = opens + 7_200_000
	payBy  app.Millis = opens + 300_000
)

// shop is a schema with one slot and sales that are loaded under epoch 1 of partition 0.
type shop struct {
	*store.Store
	t     testing.TB
	ctx   context.Context
	slot  app.ID
	sales []app.ID
	epoch int64

	seq atomic.Int64
}

// newShop offers one sale per number of units.
func newShop(t testing.TB, s *store.Store, units ...int64) *shop {
	t.Helper()
	h := &shop{Store: s, t: t, ctx: kit.Context(t), slot: nextID(), epoch: 1}
	h.must(s.EnsurePartitions(h.ctx, 2))
	h.must(s.AddSlots(h.ctx, []app.Slot{{ID: h.slot, OpensAt: opens, ClosesAt: closes}}))
	product := app.Product{ID: nextID(), Name: "Teapot", ListPriceFen: 9900, Images: []app.Image{{URL: "/teapot.svg"}}}
	h.must(s.AddProducts(h.ctx, []app.Product{product}))
	for _, n := range units {
		sale := app.Sale{ID: nextID(), Slot: h.slot, Product: product, PriceFen: 4900, Initial: n, Limit: 2, Cap: 8}
		h.must(s.AddSales(h.ctx, []app.Sale{sale}))
		h.must(s.MarkLoaded(h.ctx, sale.ID, h.epoch, 1))
		h.sales = append(h.sales, sale.ID)
	}
	return h
}

func (h *shop) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// order is a pending order of a buyer of its own.
func (h *shop) order(sale app.ID, qty int) app.Order {
	n := h.seq.Add(1)
	id := nextID()
	return app.Order{
		ID: id, Sale: sale, User: nextID(), ProductName: "Teapot", Qty: qty, PriceFen: 4900,
		AmountFen: 4900 * int64(qty),
		State:     app.Pending, Ticket: n, Seq: n, Hold: 1, SaleVersion: 1,
		Key: "key-" + id.String(), ContentHash: "0123456789abcdef", CreatedAt: opens + 1, PayBy: payBy,
		Address: &app.Address{Name: "王小明", Phone: "13800000000", Text: `1 "Long" Road\`},
	}
}

func (h *shop) orders(n int, sale app.ID, qty int) []app.Order {
	out := make([]app.Order, n)
	for i := range out {
		out[i] = h.order(sale, qty)
	}
	return out
}

func (h *shop) insert(rows ...app.Order) []app.Inserted {
	h.t.Helper()
	out, err := h.InsertOrRefuse(h.ctx, h.epoch, rows, "")
	h.must(err)
	return out
}

func (h *shop) read(id app.ID) app.Order {
	h.t.Helper()
	o, err := h.Order(h.ctx, id)
	h.must(err)
	return o
}

func (h *shop) totals(sale app.ID) app.SaleTotals {
	h.t.Helper()
	t, err := h.SaleTotals(h.ctx, sale)
	h.must(err)
	return t
}

// wantTaken checks P1 in the database: the guard counts exactly what the rows hold.
func (h *shop) wantTaken(sale app.ID, units int64) {
	h.t.Helper()
	t := h.totals(sale)
	if t.Taken != units || t.HeldUnits+t.SoldUnits+t.GoneUnits != units {
		h.t.Errorf("sale %s: taken %d, rows hold %d; want %d", sale, t.Taken, t.HeldUnits+t.SoldUnits+t.GoneUnits,
			units)
	}
}
