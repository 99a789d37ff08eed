package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"stampede/app/recovery"
)

// listen takes the address at once, so that a taken port is found before anything else is begun.
func listen(address, variable string) (net.Listener, error) {
	flag := "" // of the demo, for the variable
	if variable == "LISTEN" {
		flag = " (demo: --listen)"
	}
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use: stop whoever has it, or choose another with %s%s%s", address,
			prefix, variable, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s: choose a port above 1023 with %s%s", address, prefix, variable)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this machine has no address %s: choose another with %s%s", address, prefix, variable)
	}
	return nil, fmt.Errorf("listen on %s (%s%s): %w", address, prefix, variable, err)
}

// privateServer is the second listener, for those who look after the node: /metrics /healthz /readyz, and profiles
// where they are asked for.
type privateServer struct {
	listener net.Listener
	server   *http.Server
}

func (b *privateServer) serve() error {
	if b == nil {
		return nil
	}
	if err := b.server.Serve(b.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

func (b *privateServer) shutdown(ctx context.Context) error {
	if b == nil {
		return nil
	}
	return b.server.Shutdown(ctx)
}

// newPrivateServer makes nothing of a nil listener: all methods of a nil *privateServer do nothing.
func newPrivateServer(l net.Listener, registry *prometheus.Registry, ready func() error, profiles bool) *privateServer {
	if l == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	if profiles { // without pprof's command line, which may hold secrets
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: longestAnswer}
	return &privateServer{l, server}
}

// longestAnswer is how long an answer of the private listener may take; a profile is of fewer seconds than that.
const longestAnswer = 75 * time.Second

// obstacle is why a node should get no work now.
type obstacle struct {
	what string // in general words, for anybody who asks
	err  error  // with hosts and causes, for those who look after the node; may be nil
}

// ready returns why this node should get no work now, without internal details. An unreachable store does not make it
// unready: the other nodes have lost it too, and a reply of busy is better than none.
func (s *Server) ready() error {
	if o := s.notReady.Load(); o != nil {
		return errors.New(o.what)
	}
	if d := s.recovery.Load(); d != nil && d.Barred() != nil {
		return recovery.ErrReplaced
	}
	return nil
}

// readyInDetail is ready for the listener that is not public.
func (s *Server) readyInDetail() error {
	o, d := s.notReady.Load(), s.recovery.Load()
	switch {
	case o != nil && o.err != nil:
		return fmt.Errorf("%s: %w", o.what, o.err)
	case o == nil && d != nil:
		return d.Barred()
	}
	return s.ready()
}

func (s *Server) setNotReady(what string, err error) { s.notReady.Store(&obstacle{what, err}) }

// closeListeners ends both servers. The Shutdown of fasthttp does not close a listener whose Serve begins later, as it
// may when a store refuses the start at once; that Serve would not return.
func (s *Server) closeListeners() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err := errors.Join(s.front.Shutdown(ctx), s.back.shutdown(ctx))
	_ = s.listener.Close() // already closed, except in this case
	return err
}
