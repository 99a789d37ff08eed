package server

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge(registry, "stampede_build", "1, labelled with the running version.", func() int { return 1 }, "version", version)
	return registry
}

// counter exports the counter that the function `count` reads. labels are pairs of name and value.
func counter(r *prometheus.Registry, name, help string, count func() int64, labels ...string) {
	o := prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labelled(labels)}
	r.MustRegister(prometheus.NewCounterFunc(o, func() float64 { return float64(count()) }))
}

// gauge exports a value that can rise and fall. labels are pairs of name and value.
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

// scrapeWait limits the wait of one metric for a store. Many scrapers have a timeout of one second for all metrics
// together.
const scrapeWait = 250 * time.Millisecond

// storeMetrics reads its metrics from the stores at each scrape, concurrently. Unreachable stores delay a scrape by
// scrapeWait in total. Register the collector after all metrics were added.
type storeMetrics struct{ all []prometheus.Collector }

func (m *storeMetrics) add(c prometheus.Collector) { m.all = append(m.all, c) }

// gauge adds a value that can rise and fall. labels are pairs of name and value.
func (m *storeMetrics) gauge(name, help string, read func() float64, labels ...string) {
	m.add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labelled(labels)}, read))
}

// count adds a gauge of the entries in a store. NaN: the store did not reply within scrapeWait.
func (m *storeMetrics) count(name, help string, count func(ctx context.Context) (int64, error), labels ...string) {
	m.gauge(name, help, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeWait)
		defer cancel()
		n, err := count(ctx)
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	}, labels...)
}

// Describe implements prometheus.Collector.
func (m *storeMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *storeMetrics) Collect(ch chan<- prometheus.Metric) {
	var collecting sync.WaitGroup
	for _, c := range m.all {
		collecting.Go(func() { c.Collect(ch) })
	}
	collecting.Wait()
}
