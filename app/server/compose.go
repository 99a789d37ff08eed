package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/api"
	"stampede/app/archive"
	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/demo"
	"stampede/app/journal"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/trace"
	"stampede/app/trace/export"
	"stampede/frontend"
	"stampede/realtime"
	"stampede/streams"
)

// parts are those of a running node, connected. Nothing of it runs yet.
type parts struct {
	stores    *stores
	lease     *store.NodeLease
	inventory *streams.Inventory
	workers   *streams.Workers
	gateway   payment.Gateway // nil: nothing can be paid
	gate      *streams.Gate
	hub       *realtime.Hub
	shop      *services
	limits    *limits.Limiter

	clock      *shop.Clock
	catalogue  *catalog.Catalogue
	warmer     *catalog.Warmer
	told       *order.Told
	effects    *order.Effects
	watermark  *order.ToldWatermark
	fulfiller  *order.Fulfiller
	expirer    *order.Expirer
	reconciler *recovery.Reconciler
	recovery   *recovery.Driver
	ticker     *catalog.Ticker
	soldOut    *order.SoldOutFlags
	phases     *catalog.PhaseWatcher
	passDesk   *admission.PassDesk
	switches   *backoffice.Switchboard
	money      money
	office     backOffice
	mails      mails
	finisher   *backoffice.Finisher
	archivist  *archive.Archivist
	accounts   *account.Accounts
	board      liveBoard
	tracer     *trace.Tracer    // nil: no buy is traced
	traces     *export.Exporter // of the tracer
	asked      storeMetrics
	keeper     *demo.Keeper // nil: the schedule is not kept rolling

	stale chan int // partitions that are not what this node believes
}

// shop is what routes and sockets ask for: the flows themselves, side by side.
type services struct {
	*account.Issuer
	blocks *backoffice.BlockList
	*catalog.Storefront
	*order.OrderReader
	*order.Checkout
	*admission.PassDesk
	*order.Expirer
	*payment.Cashier
	*payment.RefundDesk
	*backoffice.ShippingDesk
	*backoffice.SearchDesk
	*backoffice.Leftovers
	*backoffice.ReportDesk
	*account.AddressBook
	*journal.Journal
	*backoffice.SaleDesk
	*backoffice.BlockDesk
	*backoffice.SwitchDesk
	*backoffice.UserService
	*archive.ArchiveDesk
	*outbox.Reposter
	*payment.DailyReconciliation
}

// Verify is that of the issuer, except that who is blocked is forbidden everything.
func (s *services) Verify(token string) (shop.Identity, error) {
	who, err := s.Issuer.Verify(token)
	switch {
	case err != nil:
		return who, err
	case s.blocks.User(who.User):
		return shop.Identity{}, shop.Fail(shop.Forbidden, "this account is blocked")
	}
	return who, nil
}

// isOperator reports whether a token is one of an operator's.
func (s *services) isOperator(token string) bool {
	who, err := s.Verify(token)
	return err == nil && who.Role.Operates()
}

// blocked reports whether the user, or who is at the address, is kept out.
func (s *services) blocked(user shop.ID, addr netip.Addr) bool {
	return s.blocks.User(user) || s.blocks.Address(addr)
}

// compose connects the parts. Ports point from the flows outward: streams and realtime meet only here.
func compose(
	c *Config, s *stores, lease *store.NodeLease, clock *shop.Clock, issuer *account.Issuer,
	blocks *backoffice.BlockList,
	version string, registry *prometheus.Registry,
) (*parts, error) {
	p := &parts{stores: s, lease: lease, clock: clock, stale: make(chan int, c.Partitions)}
	p.board.tally, p.board.press = &board.Tallies{}, &board.PressClock{}
	p.tracer = c.tracer()
	p.board.sales = &board.SaleCounts{
		Process: strconv.Itoa(lease.Node()) + ":" + strconv.FormatInt(time.Now().UnixMilli(), 10), Now: clock.Now,
	}
	metrics := streams.NewMetrics()
	inventory, err := streams.New(streams.Options{
		Client: s.client, BlockingClient: s.blocking, Partitions: c.Partitions, Backlog: c.Backlog, Metrics: metrics,
		Replicas: c.RedisReplicas, Namespace: s.namespace(), Frame: realtime.OrderFrame, OnStale: p.onStale,
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(metrics)
	p.asked.add(streams.NewStreamCollector(inventory))
	p.inventory, p.gate = inventory, streams.NewGate(inventory)
	p.workers = streams.NewWorkers(inventory, nodeName(lease))
	if c.Roles.Worker {
		gauge(registry, "stampede_partitions_attended",
			"Partitions on whose reservations this worker waits; all workers together have each of them once.", p.workers.Attended)
	}
	p.board.sales.Redis = inventory
	gateway, err := c.gateway()
	if err != nil {
		return nil, err
	}
	p.office.paid = streams.NewPaidStream(s.client)
	p.gateway = hookGateway(gateway)

	p.shop = &services{Issuer: issuer, blocks: blocks, Journal: &journal.Journal{Store: p.stores.db}}
	windows := limits.NewWindows(s.client, c.Window)
	p.limits = limits.NewLimiter(c.classes(), windows)
	counter(registry, "stampede_http_counted_alone_total",
		"HTTP requests that this node counted by itself, because Redis did not answer.", windows.CountedAlone)
	p.switches = &backoffice.Switchboard{Store: s.db, Clock: p.clock}
	p.shop.SwitchDesk = &backoffice.SwitchDesk{Journal: p.shop.Journal, Store: s.db}
	p.hub = realtime.NewHub(realtime.Options{
		Shop: p.shop, Redis: s.client, Namespace: s.namespace(), Partitions: c.Partitions, Orders: s.db,
		Chains: inventory, Standing: p.switches.Standing, Metrics: registry, MaxClients: c.MaxConns,
		MaxPerUser: c.UserConns, OpsPerSecond: float64(c.OpsRate), OpsBurst: c.OpsBurst, Blocked: p.shop.blocked,
		MayBuy: p.mayBuy, Admit: p.limits.Take, FirstTold: p.firstTold, Tracer: p.tracer,
		BoardHistory: func(ctx context.Context) []board.BoardPoint { return p.board.feed.Points(ctx) },
	})
	blocks.Store, blocks.OnChange = s.db, p.hub.CloseBlocked

	p.catalogue = catalog.NewCatalogue(s.db, newIDFilter, c.TimeZone.Location)
	p.board.tally.IsHidden = p.catalogue.IsHidden
	p.catalogue.Least = func() shop.Challenge { return p.switches.Now().LeastChallenge }
	p.switches.Say, p.switches.OnChange = p.hub.Say, p.catalogue.Forget
	p.warmer = &catalog.Warmer{
		Catalogue: p.catalogue, Store: p.stores.db, Redis: p.inventory, Clock: p.clock, OnLost: p.onLost,
	}
	p.told = &order.Told{Orders: p.stores.db}
	p.effects = &order.Effects{
		Inventory: p.inventory, Notifier: p.inventory, Orders: p.stores.db, Told: p.told,
	}
	p.watermark = &order.ToldWatermark{
		Partitions: c.Partitions, Inventory: p.inventory, Orders: s.db, Sales: p.stores.db,
	}
	p.soldOut = order.NewSoldOutFlags(inventory)
	p.gate.TurnsAway = p.soldOut.TurnsAway
	counter(registry, "stampede_soldout_turned_away_total",
		"Buys answered sold_out by a flag of this node, without Redis.", p.soldOut.Turned)
	p.ticker = &catalog.Ticker{
		Node: nodeName(lease), Catalogue: p.catalogue, Redis: inventory, Audience: p.hub, Clock: p.clock,
		Every: p.switches.TickEvery,
	}
	storefront := &catalog.Storefront{
		Catalogue: p.catalogue, Warmer: p.warmer, Redis: p.inventory, Clock: p.clock, Ticker: p.ticker,
	}
	reader := &order.OrderReader{Catalogue: p.catalogue, Inventory: p.inventory, Orders: p.stores.db}
	p.phases = &catalog.PhaseWatcher{
		Catalogue: p.catalogue, Redis: inventory, Storefront: storefront, Audience: p.hub, Clock: p.clock,
	}
	p.fulfiller = &order.Fulfiller{
		Catalogue: p.catalogue, Inventory: p.inventory, Orders: p.stores.db, Effects: p.effects,
		PayWindow: c.PayWindow, Tracer: p.tracer,
	}
	p.expirer = &order.Expirer{
		Inventory: p.inventory, Orders: p.stores.db, Effects: p.effects, Reader: reader,
	}
	p.reconciler = &recovery.Reconciler{
		Partitions: c.Partitions, Redis: p.inventory, Store: p.stores.db,
		Effects: p.effects,
	}
	gauge(registry, "stampede_sales_mismatched",
		"Sales whose holds in Redis and rows do not agree, as this node has found: people have to look.", p.reconciler.Mismatched)
	counter(registry, "stampede_sale_counts_corrected_total",
		"How often this node has set the counters of a sale to the sums of its holds; each time there was a defect before.",
		p.reconciler.Corrected)
	p.shop.Storefront, p.shop.OrderReader, p.shop.Expirer = storefront, reader, p.expirer
	p.shop.BlockDesk = &backoffice.BlockDesk{Store: s.db, Journal: p.shop.Journal, Time: p.clock.Now}
	p.shop.SaleDesk = &backoffice.SaleDesk{
		Journal: p.shop.Journal, Store: p.stores.db, Redis: p.inventory, Load: p.warmer.Ensure,
		Guest: (&account.Guests{Issuer: issuer, Mint: lease.Mint}).Bound,
	}
	p.shop.AddressBook = &account.AddressBook{Store: s.db, Mint: lease.Mint}
	p.composeMoney(c, registry)
	p.composeRecovery(c, registry)
	p.composeOutbox(c, registry)
	if err := p.composeMails(c, registry); err != nil {
		return nil, err
	}
	p.composeAfterwards(c)
	registerReplica(registry, p.stores.replica)
	p.composeArchive(c, registry)
	p.composeAccounts(c, issuer)
	p.shop.UserService = &backoffice.UserService{Store: s.db, Data: p.personalData(), Journal: p.shop.Journal}
	passes, err := c.passes()
	if err != nil {
		return nil, err
	}
	p.passDesk = &admission.PassDesk{
		Catalogue: p.catalogue, Clock: p.clock, Passes: passes, Captcha: p.accounts.Captchas, Settings: s.db,
	}
	p.shop.PassDesk = p.passDesk
	p.shop.Checkout = &order.Checkout{
		Catalogue: p.catalogue, Passes: passes, Gate: p.decider(), SoldOut: p.soldOut, Warmer: p.warmer,
		Inventory: p.inventory, Orders: p.stores.db, Clock: p.clock, Mint: lease.Mint,
		Tallies: p.board.tally, Counts: p.board.sales,
	}
	p.composeBoard(c, version, metrics, registry)
	registry.MustRegister(&p.asked)
	return p, p.composeTraces(c, version, registry) // last, because it begins to run at once
}

// newSeeder makes what writes demo data.
func newSeeder(db *store.Store, lease *store.NodeLease, partitions int) *demo.Seeder {
	return &demo.Seeder{Store: db, Mint: lease.Mint, Partitions: partitions}
}

// handler makes the routes over the flows. closing ends long polls and refuses sockets.
func (p *parts) handler(c *Config, closing <-chan struct{}, registry *prometheus.Registry) fasthttp.RequestHandler {
	metrics := api.NewMetrics()
	registry.MustRegister(metrics)
	desk := p.catalogueDesk(c)
	o := api.Options{
		Catalogue: desk, Pictures: backoffice.NewPictures(p.stores.db),
		Readiness: checklist(desk, p.stores, p.inventory, p.gateway, c).Readiness,
		Shop:      p.shop, Accounts: p.accounts, Data: p.personalData(), Mount: p.hub.Mount, Page: builtPage(),
		AsyncAPI: realtime.AsyncAPI, Zone: c.TimeZone.Location,
		Public: c.publicOrigin(), Origins: c.Origins, Proxies: c.Proxies,
		Closing: closing, Metrics: metrics, Blocked: p.shop.blocks.Address, Switches: p.switches.Now,
		Handshakes: limits.Pace{Rate: c.HandshakeRate, Period: time.Second, Burst: c.HandshakeBurst},
		Admit:      p.limits.TakeHTTP, MayBuy: p.mayBuy, Tracer: p.tracer,
		Board: p.board.feed.History,
		NoBuy: func(sale shop.ID, err error) { p.turnAway(sale, shop.LayerNode, err) },
	}
	if c.GuestLogin {
		guests := &account.Guests{Issuer: p.shop.Issuer, Mint: p.lease.Mint}
		o.Guest = func(bearer string) (any, error) {
			if _, err := p.shop.Verify(bearer); errors.Is(err, &shop.Error{Code: shop.Forbidden}) {
				return nil, err // a new token would be of no use either
			}
			return guests.Enter(bearer)
		}
	}
	return api.New(o)
}

func builtPage() fs.FS {
	if dist, ok := frontend.Dist(); ok {
		return dist
	}
	slog.Warn("this binary was made without the page; the API works")
	return nil
}

// onStale asks for a look at the partition soon. It is called on the way of a buy, so it never waits.
func (p *parts) onStale(partition int) {
	select {
	case p.stale <- partition:
	default: // as many looks as there are partitions are already asked for
	}
}

// onLost hears of a sale that the database says was loaded and Redis does not have.
func (p *parts) onLost(partition int) {
	slog.Error("Redis has lost a sale that was loaded; the partition has to be recovered", "partition", partition)
	p.recovery.Suspect(partition)
	p.onStale(partition)
}

// lookAfterStale checks partitions as soon as somebody noticed that they are not what they seemed.
func (p *parts) lookAfterStale(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case partition := <-p.stale:
			if err := p.recovery.Check(ctx); err != nil {
				return fmt.Errorf("look after partition %d: %w", partition, err)
			}
		}
	}
}

// warmUp brings the node to where it can serve: right time, known catalogue, every partition in order.
func (p *parts) warmUp(ctx context.Context) error {
	if err := p.clock.Sample(ctx, p.inventory); err != nil {
		return err
	}
	steps := []func(context.Context) error{
		p.shop.blocks.RunOnce, p.accounts.Watch.RunOnce, p.switches.RunOnce, p.catalogue.Refresh, p.recovery.RunOnce,
	}
	if p.keeper != nil {
		steps = append(steps, p.keeper.Seeder.Products, p.keeper.RunOnce, p.catalogue.Refresh)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// nodeName tells nodes apart in streams and logs: the machine and the leased number.
func nodeName(lease *store.NodeLease) string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return fmt.Sprintf("%s-%d", host, lease.Node())
}
