package server

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// storeMetrics are the metrics for which a store is asked at each scrape: all at the same time, so that stores that do
// not answer hold a scrape up once (scrapeWait) and not once for each. Register it when all are added.
type storeMetrics struct{ all []prometheus.Collector }

func (m *storeMetrics) add(c prometheus.Collector) { m.all = append(m.all, c) }

// gauge adds a number that comes and goes.
func (m *storeMetrics) gauge(name, help string, read func() float64, labels ...string) {
	m.add(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labelled(labels)}, read))
}

// Describe implements prometheus.Collector.
func (m *storeMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *storeMetrics) Collect(ch chan<- prometheus.Metric) {
	var asked sync.WaitGroup
	for _, c := range m.all {
		asked.Go(func() { c.Collect(ch) })
	}
	asked.Wait()
}
