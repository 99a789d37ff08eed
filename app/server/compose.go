package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"stampede/app"
	"stampede/app/account"
	"stampede/app/api"
	"stampede/app/seed"
	"stampede/app/store"
	"stampede/frontend"
	"stampede/realtime"
	"stampede/streams"
)

// works are the parts of a running node, connected. Nothing of it runs yet.
type works struct {
	stores *stores
	lease  *store.NodeLease
	ledger *streams.Ledger
	gate   *streams.Gate
	hub    *realtime.Hub
	shop   *shop

	gateway app.Gateway // nil: nothing can be paid

	clock      *app.Clock
	catalogue  *app.Catalogue
	warmer     *app.Warmer
	told       *app.Told
	fulfiller  *app.Fulfiller
	expirer    *app.Expirer
	reconciler *app.Reconciler
	rebuild    *app.Rebuild
	pulse      *app.Pulse
	soldOut    *app.SoldOutFlags
	timetable  *app.Timetable
	money      money
	office     backOffice
	keeper     *seed.Keeper // nil: the schedule is not kept rolling

	stale chan int // partitions that are not what this node believes
}

// compose connects the parts. Ports point from the flows outward: streams and realtime meet only here.
func compose(c *Config, s *stores, lease *store.NodeLease, clock *app.Clock, issuer *account.Issuer, registry *prometheus.Registry) (*works, error) {
	w := &works{stores: s, lease: lease, clock: clock, stale: make(chan int, c.Partitions)}
	metrics := streams.NewMetrics()
	ledger, err := streams.New(streams.Options{
		Client: s.client, BlockingClient: s.blocking, Partitions: c.Partitions, Backlog: c.Backlog,
		OnStale: w.onStale, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(metrics, streams.NewStreamCollector(ledger))
	w.ledger, w.gate = ledger, streams.NewGate(ledger)
	w.gate.Urgency = &s.urgency
	if w.gateway, err = openGateway(c); err != nil {
		return nil, err
	}

	// The floor asks the hub's audience for nothing, but the pulse tells it everything; the hub asks the shop.
	w.shop = &shop{issuer: issuer, book: s.db}
	log := realtime.NewLog(s.client, s.namespace())
	w.hub = realtime.NewHub(realtime.Options{
		Shop: w.shop, Log: log, Metrics: registry, MaxClients: c.MaxConns, MaxPerUser: c.UserConns,
	})

	w.catalogue = app.NewCatalogue(s.db, newIDFilter, c.TimeZone.Location)
	w.warmer = &app.Warmer{Catalogue: w.catalogue, Sales: s.db, Ledger: ledger, Clock: w.clock, OnLost: w.onLost}
	w.told = &app.Told{Orders: s.db}
	w.soldOut = app.NewSoldOutFlags(ledger)
	w.gate.TurnsAway = w.soldOut.TurnsAway
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "stampede_soldout_turned_away_total", Help: "Buys answered sold_out by a flag of this node, without Redis.",
	}, func() float64 { return float64(w.soldOut.Turned()) }))
	w.pulse = &app.Pulse{
		Node: nodeName(lease), Catalogue: w.catalogue, Ledger: ledger, Crowd: ledger, Audience: w.hub, Clock: w.clock,
	}
	floor := &app.Floor{Catalogue: w.catalogue, Warmer: w.warmer, Ledger: ledger, Orders: s.db, Clock: w.clock, Pulse: w.pulse}
	w.timetable = &app.Timetable{Catalogue: w.catalogue, Ledger: ledger, Floor: floor, Audience: w.hub, Clock: w.clock}
	w.fulfiller = &app.Fulfiller{Catalogue: w.catalogue, Ledger: ledger, Orders: s.db, Teller: log, Told: w.told, PayWindow: c.PayWindow}
	w.expirer = &app.Expirer{Ledger: ledger, Orders: s.db, Teller: log, Told: w.told, Floor: floor}
	w.reconciler = &app.Reconciler{Partitions: c.Partitions, Ledger: ledger, Orders: s.db, Sales: s.db, Fulfiller: w.fulfiller}
	registry.MustRegister(recounts(w.reconciler)...)
	w.rebuild = &app.Rebuild{
		Partitions: c.Partitions, Redis: ledger, Ledger: ledger, Epochs: ledger,
		Orders: s.db, Sales: s.db, Fulfiller: w.fulfiller,
	}
	w.shop.Floor, w.shop.expirer = floor, w.expirer
	w.composeMoney(c, log, registry)
	w.composeBackOffice(c, log, registry)
	w.shop.till = &app.Till{
		Catalogue: w.catalogue, Gate: w.decider(), SoldOut: w.soldOut, Warmer: w.warmer, Ledger: ledger, Orders: s.db, Clock: w.clock,
		Mint: lease.Mint,
	}
	return w, nil
}

// seeder writes demo data for this node.
func (w *works) seeder(partitions int) *seed.Seeder {
	return &seed.Seeder{Book: w.stores.db, Editor: w.stores.db, Mint: w.lease.Mint, Partitions: partitions}
}

// handler makes the routes over the flows. closing ends long polls and refuses sockets.
func (w *works) handler(c *Config, closing <-chan struct{}, registry *prometheus.Registry) fasthttp.RequestHandler {
	metrics := api.NewMetrics()
	registry.MustRegister(metrics)
	o := api.Options{
		Shop: w.shop, Verify: w.shop.verify, Operator: w.shop.operator, Mount: w.hub.Mount, Page: builtPage(),
		Notified: w.shop.notified(w.gateway),
		Origins:  c.Origins, Proxies: c.Proxies, Closing: closing, Metrics: metrics,
		Logins: api.Pace{Rate: c.AuthRate, Period: time.Minute, Burst: c.AuthBurst},
		Buys:   api.Pace{Rate: c.BuyRate, Period: time.Second, Burst: c.BuyBurst},
	}
	if c.GuestLogin {
		guests := &account.Guests{Issuer: w.shop.issuer, Mint: w.lease.Mint}
		o.Guest = func(bearer string) (any, error) { return guests.Enter(bearer) }
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
func (w *works) onStale(partition int) {
	select {
	case w.stale <- partition:
	default: // as many looks as there are partitions are already asked for
	}
}

// onLost hears of a sale that the database says was loaded and Redis does not have.
func (w *works) onLost(partition int) {
	slog.Error("Redis has lost a sale that was loaded; the partition needs a rebuild", "partition", partition)
	w.rebuild.Suspect(partition)
	w.onStale(partition)
}

// lookAfterStale checks partitions as soon as somebody noticed that they are not what they seemed.
func (w *works) lookAfterStale(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-w.stale:
			if err := w.rebuild.Check(ctx, p); err != nil {
				return fmt.Errorf("look after partition %d: %w", p, err)
			}
		}
	}
}

// warmUp brings the node to where it can serve: right time, known catalogue, every partition in order.
func (w *works) warmUp(ctx context.Context) error {
	if err := w.clock.Sample(ctx, w.ledger); err != nil {
		return err
	}
	if err := w.catalogue.Refresh(ctx); err != nil {
		return err
	}
	if err := w.rebuild.RunOnce(ctx); err != nil {
		return err
	}
	if w.keeper != nil {
		if err := errors.Join(w.keeper.Seeder.Products(ctx), w.keeper.RunOnce(ctx)); err != nil {
			return err
		}
		if err := w.catalogue.Refresh(ctx); err != nil {
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
