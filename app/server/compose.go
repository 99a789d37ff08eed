package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/api"
	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/demo"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/privacy"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/trace"
	"stampede/app/trace/export"
	"stampede/realtime"
	"stampede/streams"
)

// parts holds the connected parts of a node. No part runs before startJobs, except the exporter of traces.
type parts struct {
	stores    *stores
	lease     *store.NodeLease
	inventory *streams.Inventory
	workers   *streams.Workers
	gateway   payment.Gateway // nil: the shop takes no payments
	gate      *streams.Gate
	hub       *realtime.Hub
	services  services
	auth      auth
	limits    *limits.Limiter

	clock        *shop.Clock
	catalogue    *catalog.Catalogue
	warmer       *catalog.Warmer
	publishMarks *order.PublishMarks
	effects      *order.Effects
	watermark    *order.PublishedWatermark
	fulfiller    *order.Fulfiller
	expirer      *order.Expirer
	reconciler   *recovery.Reconciler
	recovery     *recovery.Driver
	ticker       *catalog.Ticker
	soldOut      *order.SoldOutFlags
	phases       *catalog.PhaseWatcher
	passService  *admission.PassService
	switches     *backoffice.Switchboard
	texts        *backoffice.TextBoard
	money        money
	backOffice   backOffice
	mails        mails
	finisher     *backoffice.FinisherJob
	blanker      *privacy.BlankerJob
	accounts     *account.Accounts
	board        boardParts
	certificates certificates
	httpMetrics  *api.Metrics
	tracer       *trace.Tracer    // nil: no buy is traced
	traces       *export.Exporter // exporter of the tracer's spans
	storeMetrics storeMetrics
	demoSchedule *demo.ScheduleJob // nil: no rolling demo schedule

	stale chan int // partitions whose state in Redis differs from this node's view
}

// compose connects the parts. The packages of the flows define interfaces; compose implements them with streams, store
// and realtime.
func (s *Server) compose(stores *stores, lease *store.NodeLease) (*parts, error) {
	c, registry, version := &s.config, s.registry, s.options.Version
	p := &parts{
		stores: stores, lease: lease, clock: s.clock, stale: make(chan int, c.Partitions),
		httpMetrics: api.NewMetrics(),
	}
	p.board.latency = &board.BuyLatency{}
	p.tracer = c.tracer()
	p.board.counts = board.BuyCounts{Node: &board.Counters{}, Sales: &board.SaleCounts{
		Process: strconv.Itoa(lease.Node()) + ":" + strconv.FormatInt(time.Now().UnixMilli(), 10), Now: s.clock.Now,
	}}
	metrics := streams.NewMetrics()
	inventory, err := streams.New(streams.Options{
		Client: stores.client, BlockingClient: stores.blocking, Partitions: c.Partitions, Backlog: c.Backlog,
		Metrics: metrics, Replicas: c.RedisReplicas, Namespace: stores.namespace(), Frame: realtime.OrderFrame,
		OnStale: p.onStale,
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(metrics)
	p.storeMetrics.add(streams.NewStreamCollector(inventory))
	p.inventory, p.gate = inventory, streams.NewGate(inventory)
	p.workers = streams.NewWorkers(inventory, nodeName(lease))
	if c.Roles.Worker {
		gauge(registry, "stampede_partitions_owned",
			"Partitions that this worker processes; each partition has one worker.", p.workers.OwnedPartitions)
	}
	p.board.counts.Sales.Figures = inventory.Figures()
	gateway, err := c.gateway()
	if err != nil {
		return nil, err
	}
	p.backOffice.paid = streams.NewPaidStream(stores.client)
	p.gateway = hookGateway(gateway)

	p.auth = auth{s.issuer, s.blocks}
	windows := limits.NewWindows(stores.client, c.Window)
	p.limits = limits.NewLimiter(c.classes(), windows)
	counter(registry, "stampede_http_counted_locally_total",
		"HTTP requests that only this node counted, because Redis was unreachable.", windows.CountedLocally)
	p.switches = &backoffice.Switchboard{Store: stores.db, Clock: p.clock}
	p.texts = &backoffice.TextBoard{Store: stores.db}
	p.services.switches = &backoffice.SettingsService{Store: stores.db}
	s.blocks.Store = stores.db

	p.catalogue = catalog.NewCatalogue(stores.db.Catalogue(), stores.db.Sales(), newIDFilter, c.TimeZone.Location)
	p.board.counts.Node.IsHidden = p.catalogue.IsHidden
	p.catalogue.MinChallenge = func() shop.Challenge { return p.switches.Now().LeastChallenge }
	p.switches.OnChange = p.catalogue.Invalidate
	p.warmer = &catalog.Warmer{
		Catalogue: p.catalogue, Sales: stores.db.Sales(), PartitionEpoch: stores.db.Partitions().PartitionEpoch,
		Stock: p.inventory.Stock(), Clock: p.clock, OnLost: p.onLost,
	}
	p.publishMarks = &order.PublishMarks{Store: stores.db.Orders()}
	p.effects = &order.Effects{
		Stock: p.inventory.Stock(), Queue: p.inventory.Queue(), Notifier: p.inventory.Sequences(),
		Store: stores.db.Orders(), PublishMarks: p.publishMarks,
	}
	p.watermark = &order.PublishedWatermark{
		Partitions: c.Partitions, Queue: p.inventory.Queue(), Clock: stores.db.Clock,
		SetPublishedUntil: stores.db.Partitions().SetPublishedUntil,
	}
	p.soldOut = order.NewSoldOutFlags(inventory.Stock())
	p.gate.Rejects = p.soldOut.Rejects
	counter(registry, "stampede_buys_rejected_locally_total",
		"Buys rejected with sold_out by a flag of this node, without Redis.", p.soldOut.Rejected)
	p.ticker = &catalog.Ticker{
		Node: nodeName(lease), Catalogue: p.catalogue, Stock: inventory.Stock(), Clock: p.clock,
		Interval: p.switches.TickEvery,
	}
	storefront := &catalog.Storefront{
		Catalogue: p.catalogue, Warmer: p.warmer, Stock: p.inventory.Stock(), Clock: p.clock, Ticker: p.ticker,
	}
	reader := &order.Reader{
		Catalogue: p.catalogue, Stock: p.inventory.Stock(), Queue: p.inventory.Queue(), Store: stores.db.Orders(),
	}
	p.phases = &catalog.PhaseWatcher{
		Catalogue: p.catalogue, Stock: inventory.Stock(), Storefront: storefront, Clock: p.clock,
	}
	p.fulfiller = &order.Fulfiller{
		Catalogue: p.catalogue, Stock: p.inventory.Stock(), Store: stores.db.Orders(), Effects: p.effects,
		PayWindow: c.PayWindow, Tracer: p.tracer,
	}
	p.expirer = &order.Expirer{
		Stock: p.inventory.Stock(), Store: stores.db.Orders(), Effects: p.effects, Reader: reader,
	}
	p.reconciler = &recovery.Reconciler{
		Partitions: c.Partitions, Store: stores.db, Redis: p.inventory,
		Effects: p.effects,
	}
	gauge(registry, "stampede_sales_mismatched",
		"Sales whose holds in Redis do not match their rows, as found by this node: inspect them.", p.reconciler.Mismatched)
	counter(registry, "stampede_sale_counts_corrected_total",
		"Corrections of the counters of a sale to the sums of its holds by this node. Each one indicates an earlier defect.",
		p.reconciler.Corrected)
	p.services.storefront, p.services.orders = storefront, reader
	p.services.blocks = &backoffice.BlockService{Store: stores.db, Time: p.clock.Now}
	p.services.sales = &backoffice.SaleService{
		Store: stores.db, Redis: p.inventory, Load: p.warmer.Ensure,
		Guest: (&account.Guests{Issuer: s.issuer, Mint: lease.Mint}).BoundToken,
	}
	p.services.orderAddresses = &order.Addresses{
		Stock: p.inventory.Stock(), Store: stores.db.Orders(), Effects: p.effects, Reader: reader,
		PayWindow: c.PayWindow,
	}
	p.services.addresses = &account.AddressBook{Store: stores.db, Mint: lease.Mint}
	p.composeMoney(c, registry)
	p.composeRecovery(c, registry)
	p.composeOutbox(c, registry)
	if err := p.composeMails(c, registry); err != nil {
		return nil, err
	}
	p.composeAfterSale(c)
	registerReplica(registry, stores.replica)
	p.composeBlanker(c, registry)
	p.composeAccounts(c, s.issuer)
	p.services.users = &backoffice.UserService{Store: stores.db, Data: p.personalData()}
	passes, err := c.passes()
	if err != nil {
		return nil, err
	}
	p.passService = &admission.PassService{
		Catalogue: p.catalogue, Clock: p.clock, Passes: passes, Captcha: p.accounts.Captchas,
		WorkBits: stores.db.Settings().WorkBits,
	}
	p.services.checkout = &order.Checkout{
		Catalogue: p.catalogue, Passes: passes, Gate: p.checkoutGate(), SoldOut: p.soldOut, Warmer: p.warmer,
		Queue: p.inventory.Queue(), Store: stores.db.Orders(), Clock: p.clock, Mint: lease.Mint,
		Counts: &p.board.counts,
	}
	p.composeHub(c, registry)
	p.certificates.compose(c, registry)
	p.composeBoard(c, version, metrics, registry)
	registry.MustRegister(&p.storeMetrics)
	return p, p.composeTraces(c, version, registry) // last, because the exporter starts immediately
}

// composeHub connects the sockets to the services that they call. Parts composed earlier publish to the hub.
func (p *parts) composeHub(c *Config, registry *prometheus.Registry) {
	s := &p.services
	p.hub = realtime.NewHub(realtime.Options{
		Shop: realtime.Shop{
			Now: p.clock.Now, Verify: p.auth.verify, Revoked: p.auth.issuer.Revoked,
			PendingReservations: s.orders.ReservationsOf,
			Watch:               s.storefront.Watch, BuyAsync: s.checkout.BuyAsync,
			RequestPass: p.passService.RequestPass,
			SolvePass:   p.passService.SolvePass, Cancel: p.expirer.Cancel, Pay: s.payments.Pay,
			RequestRefund: s.refundRequests.RequestRefund,
			SetAddress:    s.orderAddresses.SetAddress,
			OrdersOf:      s.orders.OrdersOf,
		},
		Redis: p.stores.client, Namespace: p.stores.namespace(), Partitions: c.Partitions,
		Orders:       p.stores.db.Changes(),
		SequenceEnds: p.inventory.Sequences().SequenceEnds, CurrentBanner: p.switches.CurrentBanner, Metrics: registry,
		MaxClients: c.MaxConns,
		MaxPerUser: c.UserConns, OpsPerSecond: float64(c.OpsRate), OpsBurst: c.OpsBurst, Blocked: p.auth.blocked,
		AdmitBuy: p.buyLimiter().Admit, Admit: p.limits.Take, FirstPublished: p.firstPublished, Tracer: p.tracer,
		BoardHistory: func(ctx context.Context) []board.Point { return p.board.feed.Points(ctx) },
	})
	p.auth.blocks.OnChange, p.switches.OnBanner = p.hub.CloseBlocked, p.hub.SendBanner
	p.ticker.Audience, p.phases.Audience = p.hub, p.hub
}

// newSeeder returns the writer of demo data.
func newSeeder(db *store.Store, lease *store.NodeLease, partitions int) *demo.Seeder {
	return &demo.Seeder{Store: db, Mint: lease.Mint, Partitions: partitions}
}

// onStale requests a check of the partition. It never blocks, because buys call it.
func (p *parts) onStale(partition int) {
	select {
	case p.stale <- partition:
	default: // the queue is full: at least one check per partition is already requested
	}
}

// onLost requests the recovery of a partition. It is called for a sale that is loaded according to the database, but
// missing in Redis.
func (p *parts) onLost(partition int) {
	slog.Error("Redis has lost a loaded sale; the partition needs a recovery", "partition", partition)
	p.recovery.Suspect(partition)
	p.onStale(partition)
}

// checkStale checks partitions as soon as onStale reports them.
func (p *parts) checkStale(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case partition := <-p.stale:
			if err := p.recovery.Check(ctx); err != nil {
				return fmt.Errorf("check partition %d: %w", partition, err)
			}
		}
	}
}

// warmUp makes the node ready to serve: it reads Redis time and the catalogue and checks every partition.
func (p *parts) warmUp(ctx context.Context) error {
	if err := p.clock.Sample(ctx, p.inventory); err != nil {
		return err
	}
	steps := []func(context.Context) error{
		p.auth.blocks.RunOnce, p.accounts.Watch.RunOnce, p.switches.RunOnce, p.catalogue.Refresh, p.recovery.RunOnce,
	}
	if p.demoSchedule != nil {
		seeder := p.demoSchedule.Seeder
		steps = append(steps, seeder.Products, seeder.Texts, p.demoSchedule.RunOnce, p.catalogue.Refresh)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// nodeName identifies the node in streams and logs: host name and leased number.
func nodeName(lease *store.NodeLease) string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return fmt.Sprintf("%s-%d", host, lease.Node())
}
