package api

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/backoffice"
	"stampede/app/catalog"
	"stampede/app/markup"
	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/picture"
	"stampede/app/privacy"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
	"stampede/streams"
)

const testPassword = "seven green horses"

// world is a small shop on SQLite and miniredis. Its first objects have the ID 7: a category, a product, an open slot
// with a sale, and a pending order of user 42 with the address 7. User 42 is Ada, user 7 another account, user 43 a
// guest with order 6. Sale 8 requires a pass. Slot 8 has no sale.
type world struct {
	t         testing.TB
	ctx       context.Context
	db        *store.Store
	redis     *redis.Client
	inventory *streams.Inventory
	payments  *payment.PaymentService
	clock     *shop.Clock
	services  *Options
}

// shopFile returns the file of a database with the objects of the world. All tests copy it.
var shopFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "shop.db")
	ctx := context.Background()
	db, err := store.OpenSQLite(ctx, path)
	if err != nil {
		return nil, err
	}
	_, err = migrations.Up(ctx, db.DB())
	err = errors.Join(err, db.Partitions().EnsurePartitions(ctx, 1), fill(ctx, db), db.Close())
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// fill inserts the objects of the world.
func fill(ctx context.Context, db *store.Store) error {
	now := shop.MillisOf(time.Now().Truncate(time.Second))
	hash, err := account.NewHasher().Hash(ctx, testPassword)
	if err != nil {
		return err
	}
	product := shop.Product{
		ID: 7, Name: "=Lamp", CategoryID: 7, ListPriceFen: 9900, Rules: "One lamp per person.",
		Images: []shop.Image{{URL: "/products/lamp.svg", Alt: "A lamp"}},
		Texts:  map[string]shop.ProductText{"zh": {Name: "灯", Rules: "每人一盏。"}},
	}
	pot := shop.Product{ID: 8, Name: "Pot", ListPriceFen: 100}
	ada := shop.User{
		ID: 42, Email: "ada@shop.example", Name: "Ada", Role: shop.Shopper, Password: hash, Lang: "en",
		State: shop.UserActive, CreatedAt: now, ActivatedAt: now,
	}
	eve := ada
	eve.ID, eve.Email, eve.Name = 7, "eve@shop.example", "Eve"
	err = errors.Join(
		db.Catalogue().AddCategories(ctx, []shop.Category{
			{ID: 7, Name: "Light", Texts: map[string]shop.CategoryText{"zh": {Name: "灯具"}}},
		}),
		db.Catalogue().AddProducts(ctx, []shop.Product{product, pot}),
		db.Catalogue().AddSlots(ctx, []shop.Slot{
			{ID: 7, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(2 * time.Hour)},
			{ID: 8, OpensAt: now.Add(50 * time.Hour), ClosesAt: now.Add(51 * time.Hour)},
		}),
		db.Sales().AddSales(ctx, []shop.Sale{{
			ID: 7, Slot: 7, Product: product, PriceFen: 4900, Initial: 10, Limit: 2, Cap: 20, Version: 1,
		}, {
			ID: 8, Slot: 7, Product: pot, PriceFen: 90, Initial: 10, Limit: 2, Cap: 20, Version: 1,
			Challenge: shop.ChallengePass,
		}}),
		db.Accounts().AddUser(ctx, ada), db.Accounts().AddUser(ctx, eve),
		db.Sessions().AddDevice(ctx, shop.Device{
			ID: 7, User: 42, Name: "Phone", RefreshHash: strings.Repeat("a", 64), CreatedAt: now, LastSeenAt: now,
			ExpiresAt: now.Add(time.Hour),
		}, &ada),
	)
	_, addressErr := db.Addresses().AddAddress(ctx, 42, shop.SavedAddress{
		ID: 7, Address: shop.Address{Name: "Ada", Phone: "1", Text: "Road 1"}, Default: true,
	}, 10)
	epoch, epochErr := db.Partitions().AdvanceEpoch(ctx, 0, 0)
	loadErr := db.Sales().MarkLoaded(ctx, 7, epoch, 1)
	adas := shop.NewOrder{
		ID: 7, Sale: 7, User: 42, ProductName: "Lamp", Qty: 1, PriceFen: 4900, AmountFen: 4900, State: shop.Pending,
		Ticket: 1, Seq: 1, Hold: 1, SaleVersion: 1, Key: "key-00000007", ContentHash: strings.Repeat("a", 16),
		CreatedAt: now, PayBy: now.Add(time.Hour),
	}
	guests := adas
	guests.ID, guests.User, guests.Ticket, guests.Seq, guests.Key = 6, 43, 2, 2, "key-00000006"
	_, insertErr := db.Orders().Insert(ctx, epoch, []shop.NewOrder{adas, guests})
	return errors.Join(err, addressErr, epochErr, loadErr, insertErr)
}

// gateway signs payments and has no trades. Its other methods panic.
type gateway struct{ payment.Gateway }

func (gateway) Pay(_ context.Context, r payment.PayRequest) (payment.Payment, error) {
	return payment.Payment{URL: "https://pay.example/?via=" + string(r.Via)}, nil
}

func (gateway) Query(context.Context, shop.ID) (payment.Trade, error) { return payment.Trade{}, nil }

func (gateway) SoldTrades(context.Context, shop.Millis, shop.Millis, int) ([]payment.ListedTrade, bool, error) {
	return nil, false, nil
}

func (gateway) RefundLog(context.Context, shop.Millis, shop.Millis, int) ([]payment.ListedRefund, bool, error) {
	return nil, false, nil
}

// discardMailer accepts e-mails and sends none.
type discardMailer struct{}

func (discardMailer) Send(context.Context, ...outbox.Email) error { return nil }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// pay marks order 7 as paid by the trade T7.
func (w *world) pay() {
	w.t.Helper()
	w.must(w.payments.Settle(w.ctx, payment.Trade{
		Order: 7, No: "T7", State: payment.TradePaid, AmountFen: 4900, PaidAt: w.clock.Now(),
	}))
}

// mint returns unused IDs.
func mint() (shop.ID, error) { return kit.NewID(), nil }

// openWorld starts the services on a copy of the database and sets them in the options.
func openWorld(t testing.TB, o *Options) *world {
	t.Helper()
	w := &world{t: t, ctx: kit.Context(t), services: o}
	file, err := shopFile()
	w.must(err)
	path := filepath.Join(t.TempDir(), "shop.db")
	w.must(os.WriteFile(path, file, 0o600))
	db, err := store.OpenSQLite(w.ctx, path)
	w.must(err)
	w.db = db
	t.Cleanup(func() { _ = db.Close() })
	w.redis = redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = w.redis.Close() })
	w.inventory, err = streams.New(streams.Options{
		Client: w.redis, BlockingClient: w.redis, Partitions: 1, Backlog: 100,
	})
	w.must(err)
	gate := streams.NewGate(w.inventory)
	t.Cleanup(gate.Close)
	w.clock = shop.NewClock()
	w.must(w.clock.Sample(w.ctx, w.inventory))
	catalogue := catalog.NewCatalogue(db.Catalogue(), db.Sales(), func(ids []shop.ID) catalog.IDFilter {
		return func(id shop.ID) bool { return slices.Contains(ids, id) }
	}, time.UTC)
	w.must(catalogue.Refresh(w.ctx))
	warmer := &catalog.Warmer{
		Catalogue: catalogue, Sales: db.Sales(), PartitionEpoch: db.Partitions().PartitionEpoch,
		Stock: w.inventory.Stock(),
		Clock: w.clock,
	}
	reader := &order.Reader{
		Catalogue: catalogue, Stock: w.inventory.Stock(), Queue: w.inventory.Queue(), Store: db.Orders(),
	}
	effects := &order.Effects{
		Stock: w.inventory.Stock(), Queue: w.inventory.Queue(), Notifier: w.inventory.Sequences(), Store: db.Orders(),
		PublishMarks: &order.PublishMarks{Store: db.Orders()},
	}
	w.payments = &payment.PaymentService{
		Gateway: gateway{}, Stock: w.inventory.Stock(), Waiting: w.inventory.Queue().Waiting, Trades: db.Payments(),
		Refunds: db.Refunds(), Orders: db.Orders(),
		Sale: db.Sales().Sale, Effects: effects, Margin: time.Second,
	}
	w.must((&recovery.Driver{
		Partitions: 1, Store: db, Redis: w.inventory,
		PayWindow: time.Hour, Margin: time.Second, Spread: time.Millisecond,
		Trust: func(_ context.Context, server string, generation int64) error {
			db.History().Trust(server, generation)
			return nil
		},
	}).RunOnce(w.ctx))
	w.must(warmer.Ensure(w.ctx, 7))
	passes := admission.NewPasses(make([]byte, 32))
	issuer, err := account.NewIssuer(make([]byte, account.MinKeyBytes),
		func() time.Time { return w.clock.Now().Time() })
	w.must(err)
	counters := account.NewCounters(w.redis)
	o.Accounts = &account.Accounts{
		Store: db, Mailer: discardMailer{}, Issuer: issuer, Hasher: account.NewHasher(),
		Captchas: account.NewCaptchas(counters, w.clock.Now), Counters: counters,
		Watch: &account.Watch{Store: db, Issuer: issuer}, Mint: mint, Now: w.clock.Now, Public: "https://shop.example",
	}
	o.Addresses = &account.AddressBook{Store: db, Mint: mint}
	o.Data = &privacy.PersonalData{
		Store: db, Now: w.clock.Now, CheckPassword: o.Accounts.VerifyPassword,
	}

	o.Now = w.clock.Now
	o.Storefront = &catalog.Storefront{
		Catalogue: catalogue, Warmer: warmer, Stock: w.inventory.Stock(), Clock: w.clock,
		Ticker: &catalog.Ticker{
			Node: "node", Catalogue: catalogue, Stock: w.inventory.Stock(), Clock: w.clock,
			Interval: func() time.Duration { return time.Second },
		},
	}
	o.Pictures = backoffice.NewPictures(db)
	o.Passes = &admission.PassService{
		Catalogue: catalogue, Clock: w.clock, Passes: passes, Captcha: o.Accounts.Captchas,
		WorkBits: db.Settings().WorkBits,
	}
	o.Buy = (&order.Checkout{
		Catalogue: catalogue, Passes: passes, Gate: gate, SoldOut: order.NewSoldOutFlags(w.inventory.Stock()),
		Warmer: warmer,
		Queue:  w.inventory.Queue(), Store: db.Orders(), Clock: w.clock, Mint: mint,
	}).Buy
	o.Orders = reader
	o.Expirer = &order.Expirer{Stock: w.inventory.Stock(), Store: db.Orders(), Effects: effects, Reader: reader}
	o.Payments = w.payments
	o.OrderAddresses = &order.Addresses{
		Stock: w.inventory.Stock(), Store: db.Orders(), Effects: effects, Reader: reader, PayWindow: time.Minute,
	}
	o.RefundRequests = &payment.RefundRequests{
		Policy: payment.RefundByOperator, Stock: w.inventory.Stock(), Refunds: db.Refunds(), Effects: effects,
	}
	o.Refunds = &backoffice.RefundService{Store: db, RedisTime: w.inventory.Now, Effects: effects}
	o.Shipping = &backoffice.ShippingService{
		Store: db, RedisTime: w.inventory.Now, Effects: effects, FinishAfter: time.Hour,
	}
	o.Catalogue = &backoffice.CatalogueService{
		Store: db, MakeImage: picture.NewMaker().Make, Clean: markup.Clean, Mint: mint, Now: w.clock.Now,
		Zone: time.UTC,
	}
	o.Sales = &backoffice.SaleService{
		Store: db, Redis: w.inventory, Load: warmer.Ensure,
		Guest: func(sale shop.ID) (string, error) { return "bound to " + sale.String(), nil },
	}
	o.Search = &backoffice.SearchService{Reader: db.Reports(), Store: db, Clock: w.clock}
	o.Reports = &backoffice.ReportService{
		Reader: db.Reports(), Redis: w.inventory, Clock: w.clock,
		Auditor: &recovery.Auditor{Store: db, Redis: w.inventory},
	}
	paid := streams.NewPaidStream(w.redis)
	o.FailedJobs = &backoffice.FailedJobs{
		Store: db,
		Letters: &recovery.DeadLetters{
			Store: db, Redis: w.inventory, Effects: effects, PayWindow: time.Hour,
		},
		Postings: paid, Mails: streams.NewMailStream(w.redis),
	}
	o.Users = &backoffice.UserService{Store: db, Data: o.Data}
	o.Blocks = &backoffice.BlockService{Store: db, Time: w.clock.Now}
	o.Settings = &backoffice.SettingsService{Store: db}
	o.Journal = db.Journal()
	o.Reconciliation = &payment.DailyReconciliation{
		Trades: db.Payments(), Orders: db.Orders(), Gateway: gateway{}, Zone: time.UTC,
	}
	o.Listing = &payment.Listing{
		Payments: &payment.PaymentService{
			Gateway: gateway{}, Stock: w.inventory.Stock(), Trades: db.Payments(), Orders: db.Orders(),
			Lost: db.LostOrders(),
		},
		Daily: o.Reconciliation, Window: time.Hour, Lag: payment.ListLag, Zone: time.UTC,
	}
	o.Differences = db.Differences()
	o.Readiness = func(ctx context.Context, sale shop.ID) (backoffice.Readiness, error) {
		record, err := o.Catalogue.Schedule().SaleRecord(ctx, sale)
		return backoffice.Readiness{Sale: record, Checks: []backoffice.Check{}}, err
	}
	return w
}
