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

// listen opens the listener before anything else starts, so that an address in use is reported at once.
func listen(address, variable string) (net.Listener, error) {
	flag := "" // option of the demo instead of the variable
	if variable == "LISTEN" {
		flag = " (demo: --listen)"
	}
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use: stop the program that uses it, or choose another address with %s%s%s", address,
			prefix, variable, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s: choose a port above 1023 with %s%s", address, prefix, variable)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this machine has no address %s: choose another address with %s%s", address, prefix, variable)
	}
	return nil, fmt.Errorf("listen on %s (%s%s): %w", address, prefix, variable, err)
}

// privateServer is the second listener, for operators: /metrics, /healthz, /readyz and, if enabled, profiles.
type privateServer struct {
	listener net.Listener
	server   *http.Server
}

func (p *privateServer) serve() error {
	if p == nil {
		return nil
	}
	if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

func (p *privateServer) shutdown(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.server.Shutdown(ctx)
}

// newPrivateServer returns nil for a nil listener. All methods of a nil *privateServer do nothing.
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
	if profiles { // without pprof's cmdline, which may contain secrets
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: maxResponseTime}
	return &privateServer{l, server}
}

// maxResponseTime limits a response of the private listener. It also limits the seconds of a profile.
const maxResponseTime = 75 * time.Second

// ready returns the reason why the node is not ready; nil: ready. After the start an unreachable store does not make
// the node unready: no other node can reach the store either, and the reply busy is better than no reply. The public
// listener opens after the start, so it shows no details of a start.
func (s *Server) ready() error {
	if reason := s.notReady.Load(); reason != nil {
		return *reason
	}
	if d := s.recovery.Load(); d != nil && d.Blocked() != nil {
		return recovery.ErrReplaced
	}
	return nil
}

// readyInDetail is ready with internal details, for the private listener.
func (s *Server) readyInDetail() error {
	err := s.ready()
	if errors.Is(err, recovery.ErrReplaced) {
		return s.recovery.Load().Blocked()
	}
	return err
}

// setNotReady sets the reason and its cause, which may be nil.
func (s *Server) setNotReady(reason string, cause error) {
	err := errors.New(reason)
	if cause != nil {
		err = fmt.Errorf("%s: %w", reason, cause)
	}
	s.notReady.Store(&err)
}

// closeListeners shuts down both servers. The Shutdown of fasthttp does not close a listener whose Serve starts later.
// This order occurs if a store rejects the start at once. Therefore closeListeners also closes the listener, so that
// Serve returns.
func (s *Server) closeListeners() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := errors.Join(s.public.Shutdown(ctx), s.private.shutdown(ctx))
	if s.listener != nil {
		_ = s.listener.Close() // already closed, except in the case above
	}
	return err
}
