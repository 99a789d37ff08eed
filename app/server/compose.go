package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"stampede/app"
	"stampede/app/account"
	"stampede/app/api"
	"stampede/app/demo"
	"stampede/app/limits"
	"stampede/app/store"
	"stampede/frontend"
	"stampede/realtime"
	"stampede/streams"
)

// parts are those of a running node, connected. Nothing of it runs yet.
type parts struct {
	stores    *stores
	lease     *store.NodeLease
	inventory *streams.Inventory
	ports     ports
	gate      *streams.Gate
	hub       *realtime.Hub
	shop      *shop
	buys      *limits.Buys
	windows   *limits.Windows

	clock      *app.Clock
	catalogue  *app.Catalogue
	warmer     *app.Warmer
	told       *app.Told
	effects    *app.Effects
	watermark  *app.ToldWatermark
	fulfiller  *app.Fulfiller
	expirer    *app.Expirer
	reconciler *app.Reconciler
	rebuild    *app.Rebuild
	ticker     *app.Ticker
	soldOut    *app.SoldOutFlags
	phases     *app.PhaseWatcher
	passDesk   *app.PassDesk
	money      money
	office     backOffice
	mails      mails
	accounts   *account.Accounts
	keeper     *demo.Keeper // nil: the schedule is not kept rolling

	stale chan int // partitions that are not what this node believes
}

// shop is what routes and sockets ask for: the flows themselves, side by side.
type shop struct {
	*account.Issuer
	blocks *app.BlockList
	*app.Storefront
	*app.Checkout
	*app.PassDesk
	*app.Expirer
	*app.Cashier
	*app.RefundDesk
	*app.AddressBook
}

// Verify is that of the issuer, except that who is blocked is forbidden everything.
func (s *shop) Verify(token string) (app.Identity, error) {
	who, err := s.Issuer.Verify(token)
	if err == nil && s.blocks.User(who.User) {
		return app.Identity{}, app.Fail(app.Forbidden, "this account is blocked")
	}
	return who, err
}

// blocked reports whether the user, or who is at the address, is kept out.
func (s *shop) blocked(user app.ID, addr netip.Addr) bool {
	return s.blocks.User(user) || s.blocks.Address(addr)
}

// compose connects the parts. Ports point from the flows outward: streams and realtime meet only here.
func compose(
	c *Config, s *stores, lease *store.NodeLease, clock *app.Clock, issuer *account.Issuer, blocks *app.BlockList,
	registry *prometheus.Registry,
) (*parts, error) {
	p := &parts{stores: s, lease: lease, clock: clock, stale: make(chan int, c.Partitions)}
	metrics := streams.NewMetrics()
	inventory, err := streams.New(streams.Options{
		Client: s.client, BlockingClient: s.blocking, Partitions: c.Partitions, Backlog: c.Backlog,
		Namespace: s.namespace(), Frame: realtime.OrderFrame, OnStale: p.onStale, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(metrics, streams.NewStreamCollector(inventory))
	p.inventory, p.gate = inventory, streams.NewGate(inventory)
	gateway, err := c.gateway()
	if err != nil {
		return nil, err
	}
	p.office.paid = streams.NewPaidStream(s.client)
	p.ports = newPorts(s.db, inventory, p.office.paid, gateway)

	// The storefront asks the hub's audience for nothing, but the ticker tells it everything; the hub asks the shop.
	p.shop = &shop{Issuer: issuer, blocks: blocks}
	p.buys, p.windows = limits.NewBuys(c.buyPaces()), limits.NewWindows(s.client, c.Window)
	counter(registry, "stampede_http_counted_alone_total",
		"HTTP requests that this node counted by itself, because Redis did not answer.", p.windows.CountedAlone)
	p.hub = realtime.NewHub(realtime.Options{
		Shop: p.shop, Redis: s.client, Namespace: s.namespace(), Partitions: c.Partitions, Orders: s.db,
		Chains:  inventory,
		Metrics: registry, MaxClients: c.MaxConns, MaxPerUser: c.UserConns,
		OpsPerSecond: float64(c.OpsRate), OpsBurst: c.OpsBurst,
		Blocked: p.shop.blocked, MayBuy: p.buys.Take,
	})
	blocks.Store, blocks.OnChange = s.db, p.hub.CloseBlocked

	p.catalogue = app.NewCatalogue(s.db, newIDFilter, c.TimeZone.Location)
	p.warmer = &app.Warmer{
		Catalogue: p.catalogue, Sales: p.ports.sales, Inventory: p.ports.inventory, Clock: p.clock, OnLost: p.onLost,
	}
	p.told = &app.Told{Orders: p.ports.orders}
	p.effects = &app.Effects{
		Inventory: p.ports.inventory, Notifier: p.ports.notifier, Orders: p.ports.orders, Told: p.told,
	}
	p.watermark = &app.ToldWatermark{
		Partitions: c.Partitions, Inventory: p.ports.inventory, Orders: s.db, Sales: p.ports.sales,
	}
	p.soldOut = app.NewSoldOutFlags(inventory)
	p.gate.TurnsAway = p.soldOut.TurnsAway
	counter(registry, "stampede_soldout_turned_away_total",
		"Buys answered sold_out by a flag of this node, without Redis.", p.soldOut.Turned)
	p.ticker = &app.Ticker{
		Node: nodeName(lease), Catalogue: p.catalogue, Inventory: inventory, Audience: p.hub,
		Clock: p.clock,
	}
	storefront := &app.Storefront{
		Catalogue: p.catalogue, Warmer: p.warmer, Inventory: p.ports.inventory, Orders: p.ports.orders, Clock: p.clock,
		Ticker: p.ticker,
	}
	p.phases = &app.PhaseWatcher{
		Catalogue: p.catalogue, Inventory: inventory, Storefront: storefront, Audience: p.hub, Clock: p.clock,
	}
	p.fulfiller = &app.Fulfiller{
		Catalogue: p.catalogue, Inventory: p.ports.inventory, Orders: p.ports.orders, Effects: p.effects,
		PayWindow: c.PayWindow,
	}
	p.expirer = &app.Expirer{
		Inventory: p.ports.inventory, Orders: p.ports.orders, Effects: p.effects, Storefront: storefront,
	}
	p.reconciler = &app.Reconciler{
		Partitions: c.Partitions, Inventory: p.ports.inventory, Orders: p.ports.orders, Sales: p.ports.sales,
		Effects: p.effects,
	}
	gauge(registry, "stampede_sales_mismatched",
		"Sales whose holds in Redis and rows do not agree, as this node has found: people have to look.",
		func() float64 { return float64(p.reconciler.Mismatched()) })
	counter(registry, "stampede_sale_counts_corrected_total",
		"How often this node has set the counters of a sale to the sums of its holds; each time there was a defect before.",
		p.reconciler.Corrected)
	p.rebuild = &app.Rebuild{
		Partitions: c.Partitions, Redis: p.ports.rebuilder, Inventory: p.ports.inventory,
		Orders: p.ports.orders, Sales: p.ports.sales, Fulfiller: p.fulfiller,
	}
	p.shop.Storefront, p.shop.Expirer = storefront, p.expirer
	p.shop.AddressBook = &app.AddressBook{Store: s.db, Mint: lease.Mint}
	p.composeMoney(c, registry)
	p.composeOutbox(c, registry)
	if err := p.composeMails(c, registry); err != nil {
		return nil, err
	}
	p.composeAccounts(c, issuer)
	passes, err := c.passes()
	if err != nil {
		return nil, err
	}
	p.passDesk = &app.PassDesk{
		Catalogue: p.catalogue, Clock: p.clock, Passes: passes, Captcha: p.accounts.Captchas, Settings: s.db,
	}
	p.shop.PassDesk = p.passDesk
	p.shop.Checkout = &app.Checkout{
		Catalogue: p.catalogue, Passes: passes, Gate: p.decider(), SoldOut: p.soldOut, Warmer: p.warmer,
		Inventory: p.ports.inventory, Orders: p.ports.orders, Clock: p.clock, Mint: lease.Mint,
	}
	return p, nil
}

// seeder writes demo data for this node.
func (p *parts) seeder(partitions int) *demo.Seeder {
	return &demo.Seeder{Catalogue: p.stores.db, Editor: p.stores.db, Mint: p.lease.Mint, Partitions: partitions}
}

// handler makes the routes over the flows. closing ends long polls and refuses sockets.
func (p *parts) handler(c *Config, closing <-chan struct{}, registry *prometheus.Registry) fasthttp.RequestHandler {
	metrics := api.NewMetrics()
	registry.MustRegister(metrics)
	o := api.Options{
		Shop: p.shop, Accounts: p.accounts, Data: p.personalData(), Mount: p.hub.Mount, Page: builtPage(),
		AsyncAPI: realtime.AsyncAPI,
		Origins:  c.Origins, Proxies: c.Proxies, Closing: closing, Metrics: metrics, Blocked: p.shop.blocks.Address,
		Logins:     limits.Pace{Rate: c.AuthRate, Period: time.Minute, Burst: c.AuthBurst},
		Handshakes: limits.Pace{Rate: c.HandshakeRate, Period: time.Second, Burst: c.HandshakeBurst},
		Passes:     c.buyPaces().Addr,
		Buys:       p.buys,
		Counts: api.Counts{
			Windows: p.windows,
			Listing: limits.Class{Name: "list", User: c.ListPerUser, Addr: c.ListPerAddr},
			Auth:    limits.Class{Name: "auth", User: c.AuthPerUser, Addr: c.AuthPerAddr},
			Orders:  limits.Class{Name: "orders", User: c.OrdersPerUser, Addr: c.OrdersPerAddr},
		},
	}
	if c.GuestLogin {
		guests := &account.Guests{Issuer: p.shop.Issuer, Mint: p.lease.Mint}
		o.Guest = func(bearer string) (any, error) {
			if _, err := p.shop.Verify(bearer); errors.Is(err, &app.Error{Code: app.Forbidden}) {
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
	slog.Error("Redis has lost a sale that was loaded; the partition needs a rebuild", "partition", partition)
	p.rebuild.Suspect(partition)
	p.onStale(partition)
}

// lookAfterStale checks partitions as soon as somebody noticed that they are not what they seemed.
func (p *parts) lookAfterStale(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case partition := <-p.stale:
			if err := p.rebuild.Check(ctx, partition); err != nil {
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
	if err := errors.Join(p.shop.blocks.RunOnce(ctx), p.accounts.Watch.RunOnce(ctx)); err != nil {
		return err
	}
	if err := p.catalogue.Refresh(ctx); err != nil {
		return err
	}
	if err := p.rebuild.RunOnce(ctx); err != nil {
		return err
	}
	if p.keeper != nil {
		if err := errors.Join(p.keeper.Seeder.Products(ctx), p.keeper.RunOnce(ctx)); err != nil {
			return err
		}
		if err := p.catalogue.Refresh(ctx); err != nil {
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
