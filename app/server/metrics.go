package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge(registry, "stampede_build", "1, labelled with the version that runs.", func() int { return 1 }, "version", version)
	return registry
}

// counter shows a number that only grows, counted elsewhere. labels are name, value.
func counter(r *prometheus.Registry, name, help string, count func() int64, labels ...string) {
	o := prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labelled(labels)}
	r.MustRegister(prometheus.NewCounterFunc(o, func() float64 { return float64(count()) }))
}

// gauge shows a number that comes and goes.
func gauge[N int | int64 | float64](r *prometheus.Registry, name, help string, read func() N, labels ...string) {
	o := prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labelled(labels)}
	r.MustRegister(prometheus.NewGaugeFunc(o, func() float64 { return float64(read()) }))
}

func labelled(pairs []string) prometheus.Labels {
	labels := prometheus.Labels{}
	for i := 0; i+1 < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

// privateServer is the second listener, for those who look after the node: /metrics /healthz /readyz, and profiles
// where they are asked for.
type privateServer struct {
	listener net.Listener
	server   *http.Server
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
