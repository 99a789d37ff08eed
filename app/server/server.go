package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/account"
	"stampede/app/api"
	"stampede/app/backoffice"
	"stampede/app/demo"
	"stampede/app/outbox"
	"stampede/app/recovery"
	"stampede/app/shop"
)

const (
	// closeWithin bounds each step of a shutdown.
	closeWithin = 10 * time.Second
	// warmUpWithin bounds one try to get ready: a recovery reads every order of every loaded sale.
	warmUpWithin = 10 * time.Minute
)

// Options are what a command decides and no variable does.
type Options struct {
	Version string
	Migrate bool          // bring the schema of real stores up to date first; embedded ones always are
	Rolling bool          // keep the rolling demo schedule going
	Slot    time.Duration // how long a slot of it lasts; 0: five minutes
	Fresh   bool          // forget what the embedded database has
	OnReady func(About)   // called once, when the node is open; must return soon
	// OnMail hears of mails that are written to a file because there is no mail server; must return soon.
	OnMail func(l outbox.Email, file string)
}

// About says where a running node can be found.
type About struct {
	Addr     string // host:port of page, API and sockets
	Metrics  string // host:port, "" for none
	Redis    string // host:port of the embedded Redis, "" with a real one
	Database string // file of the embedded database, "" with a real one
}

// Local is the address as this machine itself reaches it, when the node listens on all of them.
func (a About) Local() string {
	host, port, _ := net.SplitHostPort(a.Addr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return a.Addr
}

// Server is one node. Its life: New, Run, Close; Run at most once.
type Server struct {
	config   Config
	options  Options
	lock     *os.File // on the data folder; nil on real stores
	clock    *shop.Clock
	issuer   *account.Issuer
	blocks   *backoffice.BlockList
	registry *prometheus.Registry
	listener net.Listener
	front    *api.HTTPServer
	back     *privateServer

	notReady atomic.Pointer[obstacle] // nil: ready
	recovery atomic.Pointer[recovery.Driver]
	closing  chan struct{} // closed when a shutdown begins
	release  func() error  // what New took, given back once
}

// New checks the secret and takes the addresses and the data folder, so that these problems end a start at once. It
// starts nothing. Close it, also without Run.
func New(c Config, o Options) (*Server, error) {
	s := &Server{
		config: c, options: o, clock: shop.NewClock(), closing: make(chan struct{}), registry: newRegistry(o.Version),
	}
	s.blocks = &backoffice.BlockList{Clock: s.clock}
	s.release = sync.OnceValue(s.releaseMemory)
	s.setNotReady("starting", nil)
	if err := s.take(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// take gets everything that only one process can have.
func (s *Server) take() (err error) {
	c := &s.config
	if c.Embedded() {
		if err := s.takeFolder(); err != nil {
			return err
		}
	}
	if s.issuer, err = account.NewIssuer([]byte(c.JWTSecret), s.time); err != nil {
		return fmt.Errorf("STAMPEDE_JWT_SECRET: %w", err)
	}
	if s.listener, err = listen(c.Listen, "LISTEN"); err != nil {
		return err
	}
	c.atHome(About{Addr: s.Addr()}.Local())
	var metrics net.Listener
	if c.MetricsListen != "off" {
		if metrics, err = listen(c.MetricsListen, "METRICS_LISTEN"); err != nil {
			return err
		}
	}
	s.front = api.NewHTTPServer(s.ready, c.HeaderLimit, c.IdleTimeout)
	s.back = newPrivateServer(metrics, s.registry, s.readyInDetail, c.Profiles)
	return nil
}

// time is that of Redis, by which all nodes agree how long a token lives, whatever their own clocks say (I10).
func (s *Server) time() time.Time { return s.clock.Now().Time() }

// releaseMemory closes what New took. Listeners that were served are closed already; closing them again does nothing.
func (s *Server) releaseMemory() error {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.back != nil {
		_ = s.back.listener.Close()
	}
	if s.lock != nil {
		return s.lock.Close()
	}
	return nil
}

// Addr is where the node listens, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends what New began. It is for servers that do not run, or run no more.
func (s *Server) Close() error { return s.release() }

// Run serves until ctx ends, then shuts down in order and returns nil. Any other error means that the start failed,
// or that a listener broke.
//
// The start: listeners, so that everybody can see why it is not ready → stores, waited for → schema, partitions,
// node number → flows → clock, catalogue, partitions → duties → open.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.release()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var serving sync.WaitGroup
	defer serving.Wait()
	for _, w := range s.config.Warnings() {
		slog.WarnContext(ctx, w.Variable+" "+w.Message)
	}
	serve := func(run func() error) {
		serving.Go(func() {
			if err := run(); err != nil {
				cancel(&brokenError{err})
			}
		})
	}
	serve(func() error {
		return s.front.Serve(api.LimitConns(s.listener, s.config.AddrConns, s.config.Proxies, s.blocks.Address))
	})
	serve(s.back.serve)
	defer func() { err = errors.Join(err, s.closeListeners()) }()

	stores, err := openStores(ctx, &s.config, s.setNotReady)
	if err != nil {
		return outcome(ctx, err)
	}
	defer func() { err = errors.Join(err, stores.close()) }()
	return outcome(ctx, s.work(ctx, stores))
}

// brokenError ends a run because a listener does not work any more.
type brokenError struct{ error }

// outcome is what Run returns: a start that was interrupted because somebody wanted it to stop is no failure.
func outcome(ctx context.Context, err error) error {
	var broken *brokenError
	switch {
	case errors.As(context.Cause(ctx), &broken):
		return errors.Join(broken.error, err)
	case ctx.Err() != nil && errors.Is(err, errGaveUp):
		return nil
	}
	return err
}

// work is the part of Run between open and closed stores.
func (s *Server) work(ctx context.Context, stores *stores) error {
	c := &s.config
	if err := s.prepare(ctx, stores); err != nil {
		return err
	}
	lease, err := stores.db.LeaseNode(ctx)
	if err != nil {
		return fmt.Errorf("lease a node number: %w", err)
	}
	p, err := s.compose(stores, lease)
	if err != nil {
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	s.recovery.Store(p.recovery)
	if p.mails.folder != nil {
		p.mails.folder.Written = s.options.OnMail
	}
	if s.options.Rolling {
		p.keeper = &demo.Keeper{
			Seeder: newSeeder(stores.db, lease, c.Partitions), Now: p.clock.Now,
			Slot: cmp.Or(s.options.Slot, demo.RollingSlot),
		}
	}
	// Duties outlive ctx: at a shutdown they end in their turn.
	dutyCtx, stopDuties := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDuties()
	d := &duties{ctx: dutyCtx}
	err = waitFor(ctx, "the partitions in Redis", warmUpWithin, s.setNotReady, p.warmUp)
	if err == nil {
		p.startDuties(d, c)
		if c.Roles.API {
			if err := lease.Serve(ctx); err != nil {
				slog.WarnContext(ctx, "the other nodes do not know yet that this one serves", "err", err)
			}
			s.front.AllowLong(p.auth.isOperator)
			s.front.Open(p.handler(c, s.closing, s.registry))
		}
		s.open(stores, lease.Node())
		<-ctx.Done()
	}
	return errors.Join(err, s.shutDown(p, d, stopDuties))
}

func (s *Server) open(stores *stores, node int) {
	s.notReady.Store(nil)
	about := About{Addr: s.Addr()}
	if s.back != nil {
		about.Metrics = s.back.listener.Addr().String()
	}
	if stores.embedded != nil {
		about.Redis, about.Database = stores.embedded.mini.Addr(), folder(s.config.Data).database()
	}
	slog.Info("open", "address", about.Addr, "metrics", about.Metrics, "node", node, "roles", s.config.Roles.String(),
		"version", s.options.Version)
	if s.options.OnReady != nil {
		s.options.OnReady(about)
	}
}

// shutDown ends everything in an order in which nobody is left waiting for someone who has gone:
//
//  1. readiness off, so that no more work is sent here; no new sockets; long polls answer
//  2. sockets are told to reconnect elsewhere, and drained
//  3. HTTP: requests under way are answered, listeners close
//  4. the gate closes: calls under way finish, what waits hears "unknown, repeat"; then the checkout, when all have
//     been told
//  5. duties end: consumers finish their batch and leave the group, events told are marked
//  6. the last spans of traced buys are sent
//  7. the node number is given back, with the last millisecond used
//  8. the stores close (Run)
func (s *Server) shutDown(p *parts, d *duties, stopDuties context.CancelFunc) error {
	slog.Info("shutting down")
	s.setNotReady("shutting down", nil)
	close(s.closing)

	drain, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err := errors.Join(p.hub.Drain(drain, s.config.ReturnWithin), s.closeListeners())
	p.gate.Close()
	p.services.checkout.Close()
	stopDuties()
	d.wg.Wait()
	if p.traces != nil {
		p.traces.Close()
	}

	last, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := p.lease.Release(last); err != nil {
		slog.Warn("the node number could not be given back; its lease will end by itself", "err", err)
	}
	return err
}
