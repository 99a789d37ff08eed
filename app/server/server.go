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
	"stampede/app/store"
)

const (
	// closeTimeout limits each step of a shutdown.
	closeTimeout = 10 * time.Second
	// warmUpTimeout limits one attempt to get ready. It is long, because a recovery reads all orders of all loaded
	// sales.
	warmUpTimeout = 10 * time.Minute
)

// Options are set by commands, not by variables.
type Options struct {
	Version string
	Migrate bool          // migrate real stores at the start; embedded ones always migrate
	Rolling bool          // maintain the rolling demo schedule
	Slot    time.Duration // length of a rolling slot; 0: five minutes
	Fresh   bool          // delete the embedded database before the start
	OnReady func(About)   // called once, when the node is ready; must not block
	// OnMail is called for each e-mail that is written to a file because no mail server is configured. It must not
	// block.
	OnMail func(l outbox.Email, file string)
}

// About contains the addresses of a running node.
type About struct {
	Addr     string // host:port of page, API and sockets
	Metrics  string // host:port of the private listener; "": no private listener
	Redis    string // host:port of the embedded Redis; "": a real Redis
	Database string // file of the embedded database; "": a real database
}

// Local returns the address for clients on this machine: loopback if the node listens on all addresses.
func (a About) Local() string {
	host, port, _ := net.SplitHostPort(a.Addr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return a.Addr
}

// Server is one node. Call New, Run (at most once) and Close in this order.
type Server struct {
	config   Config
	options  Options
	lock     *os.File // lock of the data folder; nil with real stores
	clock    *shop.Clock
	issuer   *account.Issuer
	blocks   *backoffice.BlockList
	registry *prometheus.Registry
	addr     string       // host:port of the public listener
	listener net.Listener // public; nil before openPublic
	public   *api.HTTPServer
	private  *privateServer

	notReady atomic.Pointer[error] // nil: ready
	recovery atomic.Pointer[recovery.Driver]
	closing  chan struct{} // closed when a shutdown begins
	release  func() error  // releases the resources of New, once
}

// New validates the secret and acquires the addresses and the data folder, so that problems with them are reported at
// once. It starts no goroutine. Call Close also if Run is not called.
func New(c Config, o Options) (*Server, error) {
	s := &Server{
		config: c, options: o, clock: shop.NewClock(), closing: make(chan struct{}), registry: newRegistry(o.Version),
	}
	s.blocks = &backoffice.BlockList{Clock: s.clock}
	s.release = sync.OnceValue(s.releaseResources)
	s.setNotReady("starting", nil)
	if err := s.acquire(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// acquire acquires the resources that only one process can hold.
func (s *Server) acquire() (err error) {
	c := &s.config
	if c.Embedded() {
		if err := s.acquireFolder(); err != nil {
			return err
		}
	}
	if s.issuer, err = account.NewIssuer([]byte(c.JWTSecret), s.time); err != nil {
		return fmt.Errorf("STAMPEDE_JWT_SECRET: %w", err)
	}
	// An address in use is reported now. The node listens on it when it is ready, see openPublic.
	first, err := listen(c.Listen, "LISTEN")
	if err != nil {
		return err
	}
	s.addr = first.Addr().String()
	_ = first.Close()
	c.setLocalAddresses(About{Addr: s.Addr()}.Local())
	var metrics net.Listener
	if c.MetricsListen != "off" {
		if metrics, err = listen(c.MetricsListen, "METRICS_LISTEN"); err != nil {
			return err
		}
	}
	s.public = api.NewHTTPServer(c.HeaderLimit, c.IdleTimeout)
	s.public.Ready = s.ready
	s.private = newPrivateServer(metrics, s.registry, s.readyInDetail, c.Profiles)
	return nil
}

// time returns Redis time. All nodes use it for the lifetime of tokens, independently of their wall clocks (I10).
func (s *Server) time() time.Time { return s.clock.Now().Time() }

// releaseResources closes the resources of New. A second Close of a listener has no effect.
func (s *Server) releaseResources() error {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.private != nil {
		_ = s.private.listener.Close()
	}
	if s.lock != nil {
		return s.lock.Close()
	}
	return nil
}

// Addr returns the host:port of the public listener.
func (s *Server) Addr() string { return s.addr }

// Close releases the resources of New. Call it only if Run was not called or has returned.
func (s *Server) Close() error { return s.release() }

// Run serves until ctx ends, then shuts down gracefully and returns nil. An error means that the start failed or that a
// listener failed.
//
// Order of the start: private listener → wait for the stores → schema, partitions, node number → flows → clock,
// catalogue, partitions → background jobs → public listener, ready.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.release()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var serving sync.WaitGroup
	defer serving.Wait()
	for _, w := range s.config.Warnings() {
		slog.WarnContext(ctx, w.Variable+" "+w.Message)
	}
	s.adaptToMachine(ctx)
	serve := func(run func() error) {
		serving.Go(func() {
			if err := run(); err != nil {
				cancel(&listenerError{err})
			}
		})
	}
	serve(s.private.serve)
	defer func() { err = errors.Join(err, s.closeListeners()) }()

	stores, err := openStores(ctx, &s.config, s.setNotReady)
	if err != nil {
		return startResult(ctx, err)
	}
	defer func() { err = errors.Join(err, stores.close()) }()
	return startResult(ctx, s.runWithStores(ctx, stores, serve))
}

// listenerError ends Run because a listener failed.
type listenerError struct{ error }

// startResult returns the result of Run. A start that was interrupted on request is not a failure.
func startResult(ctx context.Context, err error) error {
	var failed *listenerError
	switch {
	case errors.As(context.Cause(ctx), &failed):
		return errors.Join(failed.error, err)
	case ctx.Err() != nil && errors.Is(err, errWaitCancelled):
		return nil
	}
	return err
}

// runWithStores is the part of Run while the stores are open. serve runs a listener.
func (s *Server) runWithStores(ctx context.Context, stores *stores, serve func(run func() error)) error {
	c := &s.config
	if err := s.prepare(ctx, stores); err != nil {
		return err
	}
	lease, err := stores.db.Nodes().LeaseNode(ctx)
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
		p.demoSchedule = &demo.ScheduleJob{
			Seeder: newSeeder(stores.db, lease, c.Partitions), Now: p.clock.Now,
			Slot: cmp.Or(s.options.Slot, demo.RollingSlot),
		}
	}
	// Background jobs outlive ctx: shutDown stops them after the sockets and the gate.
	jobCtx, stopJobs := context.WithCancel(context.WithoutCancel(ctx))
	defer stopJobs()
	d := &jobs{ctx: jobCtx}
	err = waitFor(ctx, "the partitions in Redis", warmUpTimeout, s.setNotReady, p.warmUp)
	if err == nil {
		p.startJobs(d, c)
		if c.Roles.API {
			if err := lease.Serve(ctx); err != nil {
				slog.WarnContext(ctx, "cannot record that this node serves; the other nodes do not count it yet", "err", err)
			}
			s.public.IsOperator, s.public.Handler = p.auth.isOperator, p.handler(c, s.closing, s.registry)
		}
		err = s.openPublic(serve)
	}
	if err == nil {
		s.setReady(stores, lease.Node())
		if c.Roles.API {
			s.suggestFirstAdmin(ctx, stores.db)
		}
		<-ctx.Done()
	}
	return errors.Join(err, s.shutDown(p, d, stopJobs))
}

// openPublic opens the public listener. Until then connections are refused, so that a proxy sends every request to
// another node at once. A reply 503 would end at the client: proxies do not repeat a POST that a node has received.
func (s *Server) openPublic(serve func(run func() error)) (err error) {
	if s.listener, err = listen(s.addr, "LISTEN"); err != nil {
		return err
	}
	limited := api.LimitConns(s.listener, s.config.AddrConns, s.config.Proxies)
	serve(func() error { return s.public.Serve(limited) })
	return nil
}

// setReady makes the node ready, logs its addresses and calls Options.OnReady.
func (s *Server) setReady(stores *stores, node int) {
	s.notReady.Store(nil)
	about := About{Addr: s.Addr()}
	if s.private != nil {
		about.Metrics = s.private.listener.Addr().String()
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

// suggestFirstAdmin logs the console's address and the command for its first account while no account may use it.
func (s *Server) suggestFirstAdmin(ctx context.Context, db *store.Store) {
	switch found, err := db.Accounts().HasAdmin(ctx); {
	case err != nil:
		slog.WarnContext(ctx, "cannot search for an admin", "err", err)
	case !found:
		slog.InfoContext(ctx, "this shop has no admin yet: add one, then log in at the console", "console",
			s.config.PublicURL+"/console", "command", "stampede user add EMAIL --role admin --password < password.txt")
	}
}

// shutDown stops the parts of the node in this order, so that no client waits for a stopped part:
//
//  1. readiness off, long polls reply
//  2. the public listener closes, so that proxies use other nodes, and running requests complete; meanwhile sockets
//     receive a request to reconnect to another node and are drained
//  3. the private listener closes
//  4. the gate closes: running calls complete, waiting calls return "unknown, repeat"; the checkout closes after its
//     last reply
//  5. background jobs end: consumers finish their batch and leave the group; published events are marked
//  6. the last spans of traced buys are sent
//  7. the node number is released with the last used millisecond
//  8. the stores close (Run)
func (s *Server) shutDown(p *parts, d *jobs, stopJobs context.CancelFunc) error {
	slog.Info("shutting down")
	s.setNotReady("shutting down", nil)
	close(s.closing)

	drainCtx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var requests sync.WaitGroup
	var requestsErr error
	requests.Go(func() { requestsErr = s.public.Shutdown(drainCtx) })
	err := p.hub.Drain(drainCtx, s.config.ReturnWithin)
	requests.Wait()
	err = errors.Join(err, requestsErr, s.closeListeners())
	p.gate.Close()
	p.services.checkout.Close()
	stopJobs()
	d.wg.Wait()
	if p.traces != nil {
		p.traces.Close()
	}

	releaseCtx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := p.lease.Release(releaseCtx); err != nil {
		slog.Warn("could not release the node number; its lease expires by itself", "err", err)
	}
	return err
}
