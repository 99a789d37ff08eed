package store_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

// TestMain runs fewer sequences of the model than the default of 100; `-rapid.checks` overrides the number.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	kit.Main(m)
}

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

// onBothShops is onBoth with a shop of one sale per number of units.
func onBothShops(t *testing.T, test func(t *testing.T, h *testShop), units ...int64) {
	t.Helper()
	onBoth(t, func(t *testing.T, s *store.Store) { test(t, newShop(t, s, units...)) })
}

func onMariaDB(t testing.TB) *store.Store {
	t.Helper()
	return migrated(t, openMySQL(t, kit.MySQL(t)))
}

func openMySQL(t testing.TB, dsn string) *store.Store {
	t.Helper()
	s, err := store.OpenMySQL(kit.Context(t), dsn)
	must(t, err)
	t.Cleanup(func() { closed(t, s) })
	return s
}

// templates hold the result of all migrations, which take about a second per MySQL database. The first test of each
// kind runs them, and the others copy it.
var templates struct {
	sync.Mutex
	sqlite []byte   // a database file
	mysql  []string // statements that create the tables and rows
}

func onSQLite(t testing.TB) *store.Store {
	t.Helper()
	open := func(name string) *store.Store {
		s, err := store.OpenSQLite(kit.Context(t), name)
		must(t, err)
		return s
	}
	path := filepath.Join(t.TempDir(), "shop with space?.db")
	templates.Lock()
	defer templates.Unlock()
	if templates.sqlite == nil {
		template := open(path)
		must(t, errOf(migrations.Up(kit.Context(t), template.DB())))
		must(t, template.Close())
		file, err := os.ReadFile(path)
		must(t, err)
		templates.sqlite = file
	}
	must(t, os.WriteFile(path, templates.sqlite, 0o600))
	s := open(path)
	t.Cleanup(func() { closed(t, s) })
	return s
}

func closed(t testing.TB, s *store.Store) {
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// migrated creates the schema in an empty MySQL database.
func migrated(t testing.TB, s *store.Store) *store.Store {
	t.Helper()
	for _, statement := range mysqlSchema(t, s) {
		must(t, errOf(s.DB().ExecContext(kit.Context(t), statement)))
	}
	return s
}

// mysqlSchema returns the statements of the template, or runs the migrations in s and returns none.
func mysqlSchema(t testing.TB, s *store.Store) []string {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	if templates.mysql != nil {
		return templates.mysql
	}
	ctx, db := kit.Context(t), s.DB()
	must(t, errOf(migrations.Up(ctx, db)))
	var tables, statements []string
	must(t, db.NewRaw("SHOW TABLES").Scan(ctx, &tables))
	for _, table := range tables {
		var name, create string
		must(t, db.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&name, &create))
		var columns, rows []string
		must(t, db.NewRaw("SELECT CONCAT('QUOTE(`', column_name, '`)') FROM information_schema.columns"+
			" WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position", table).Scan(ctx, &columns))
		must(t, db.NewRaw("SELECT CONCAT_WS(',', "+strings.Join(columns, ",")+") FROM "+table).Scan(ctx, &rows))
		statements = append(statements, create)
		if len(rows) > 0 {
			statements = append(statements, "INSERT INTO "+table+" VALUES ("+strings.Join(rows, "),(")+")")
		}
	}
	templates.mysql = statements
	return nil
}

// ignoreTouched compares orders without Touched, which is not a column (see TestOnlyNewStatesTouchOrders).
var ignoreTouched = cmpopts.IgnoreFields(shop.Order{}, "Touched")

// lastID generates ids for tests; only their order is relevant. Literal ids in tests are smaller.
var lastID atomic.Int64

func nextID() shop.ID { return shop.ID(10_000 + lastID.Add(1)) }

const (
	opens  shop.Millis = 1_800_000_000_000
	closes shop.Millis = opens + 7_200_000
	payBy  shop.Millis = opens + 300_000
)

// testShop is a schema with one slot and sales that are loaded under epoch 1 of partition 0.
type testShop struct {
	*store.Store
	store.Orders
	store.Changes
	store.OldOrders
	store.Payments
	store.Refunds
	store.Shipments
	store.Outbox
	store.Catalogue
	store.Images
	store.Sales
	store.Withdrawals
	store.Reports
	store.Accounts
	store.Sessions
	store.Addresses
	store.Blocks
	store.PersonalData
	store.Journal
	store.Settings
	store.Partitions
	store.History
	store.Nodes
	store.Durability

	t     testing.TB
	ctx   context.Context
	slot  shop.ID
	sales []shop.ID
	epoch int64

	seq atomic.Int64
}

// newShop creates one sale per number of units.
func newShop(t testing.TB, s *store.Store, units ...int64) *testShop {
	t.Helper()
	h := withTypes(&testShop{Store: s, t: t, ctx: kit.Context(t), slot: nextID(), epoch: 1})
	h.must(s.Partitions().EnsurePartitions(h.ctx, 2))
	h.must(s.Catalogue().AddSlots(h.ctx, []shop.Slot{{ID: h.slot, OpensAt: opens, ClosesAt: closes}}))
	product := shop.Product{ID: nextID(), Name: "Teapot", ListPriceFen: 9900, Images: []shop.Image{{URL: "/teapot.svg"}}}
	h.must(s.Catalogue().AddProducts(h.ctx, []shop.Product{product}))
	for _, n := range units {
		sale := shop.Sale{ID: nextID(), Slot: h.slot, Product: product, PriceFen: 4900, Initial: n, Limit: 2, Cap: 8}
		h.must(s.Sales().AddSales(h.ctx, []shop.Sale{sale}))
		h.must(s.Sales().MarkLoaded(h.ctx, sale.ID, h.epoch, 1))
		h.sales = append(h.sales, sale.ID)
	}
	return h
}

// withTypes sets the types of the shop's store.
func withTypes(h *testShop) *testShop {
	h.Orders = h.Store.Orders()
	h.Changes = h.Store.Changes()
	h.OldOrders = h.Store.OldOrders()
	h.Payments = h.Store.Payments()
	h.Refunds = h.Store.Refunds()
	h.Shipments = h.Store.Shipments()
	h.Outbox = h.Store.Outbox()
	h.Catalogue = h.Store.Catalogue()
	h.Images = h.Store.Images()
	h.Sales = h.Store.Sales()
	h.Withdrawals = h.Store.Withdrawals()
	h.Reports = h.Store.Reports()
	h.Accounts = h.Store.Accounts()
	h.Sessions = h.Store.Sessions()
	h.Addresses = h.Store.Addresses()
	h.Blocks = h.Store.Blocks()
	h.PersonalData = h.Store.PersonalData()
	h.Journal = h.Store.Journal()
	h.Settings = h.Store.Settings()
	h.Partitions = h.Store.Partitions()
	h.History = h.Store.History()
	h.Nodes = h.Store.Nodes()
	h.Durability = h.Store.Durability()
	return h
}

func (s *testShop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// order returns a pending order of a new buyer.
func (s *testShop) order(sale shop.ID, qty int) shop.Order {
	n := s.seq.Add(1)
	id := nextID()
	return shop.Order{
		ID: id, Sale: sale, User: nextID(), ProductName: "Teapot", Qty: qty, PriceFen: 4900,
		AmountFen: 4900 * int64(qty),
		State:     shop.Pending, Ticket: n, Seq: n, Hold: 1, SaleVersion: 1,
		Key: "key-" + id.String(), ContentHash: "0123456789abcdef", CreatedAt: opens + 1, PayBy: payBy,
		Address: &shop.Address{Name: "王小明", Phone: "13800000000", Text: `1 "Long" Road\`},
	}
}

func (s *testShop) orders(n int, sale shop.ID, qty int) []shop.Order {
	out := make([]shop.Order, n)
	for i := range out {
		out[i] = s.order(sale, qty)
	}
	return out
}

func (s *testShop) insert(rows ...shop.Order) []shop.Inserted {
	s.t.Helper()
	out, err := s.Insert(s.ctx, s.epoch, rows)
	s.must(err)
	return out
}

func (s *testShop) read(id shop.ID) shop.Order {
	s.t.Helper()
	o, err := s.Order(s.ctx, id)
	s.must(err)
	return o
}

func (s *testShop) totals(sale shop.ID) shop.SaleTotals {
	s.t.Helper()
	t, err := s.SaleTotals(s.ctx, sale)
	s.must(err)
	return t
}

// wantTaken checks P1 in the database: the guard counts exactly the units that the rows hold.
func (s *testShop) wantTaken(sale shop.ID, units int64) {
	s.t.Helper()
	t := s.totals(sale)
	if t.Taken != units || t.HeldUnits+t.SoldUnits+t.RefundedUnits != units {
		s.t.Errorf("sale %s: got taken %d and %d units in rows, want %d", sale, t.Taken, t.HeldUnits+t.SoldUnits+t.RefundedUnits,
			units)
	}
}

func errOf[T any](_ T, err error) error { return err }

// val(call)(t) returns the value of the call; an error ends the test.
func val[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// must is an alias with a short name, because most lines of these tests begin with it.
var must = kit.Must

// wantEqual compares two values. The wanted value is first, unless the label states another order.
func wantEqual(t testing.TB, label string, a, b any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(a, b, options...); diff != "" {
		t.Errorf("%s:\n%s", label, diff)
	}
}

func wantErr(t testing.TB, label string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", label, err, want)
	}
}

func wantCode(t testing.TB, label string, err error, want shop.Code) {
	t.Helper()
	if code(err) != want {
		t.Errorf("%s: got %v, want code %s", label, err, want)
	}
}
