package realtime

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"stampede/app/shop"
)

// metrics contains the metrics of this node's sockets.
type metrics struct {
	ticks        prometheus.Counter
	encodedTicks prometheus.Counter
	frames       prometheus.Counter
	skipped      prometheus.Counter
	events       prometheus.Counter
	resyncs      prometheus.Counter
	replays      prometheus.Counter
	closed       *prometheus.CounterVec
	rejected     *prometheus.CounterVec
	soldOut      prometheus.Counter // rejected with SoldOut: nearly all failed ops during a busy sale
}

func newMetrics(to prometheus.Registerer, h *Hub) *metrics {
	factory := promauto.With(to) // with nil, the metrics are counted but not published
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Namespace: "stampede", Subsystem: "live", Name: name, Help: help})
	}
	vector := func(name, label, help string) *prometheus.CounterVec {
		opts := prometheus.CounterOpts{Namespace: "stampede", Subsystem: "live", Name: name, Help: help}
		return factory.NewCounterVec(opts, []string{label})
	}
	gauge := func(name, help string, lock sync.Locker, size func() int) {
		opts := prometheus.GaugeOpts{Namespace: "stampede", Subsystem: "live", Name: name, Help: help}
		factory.NewGaugeFunc(opts, func() float64 {
			lock.Lock()
			defer lock.Unlock()
			return float64(size())
		})
	}
	gauge("clients", "Connections of this node.", &h.connections.mu, func() int { return len(h.clients) })
	gauge("users", "Users with a connection to this node.", &h.connections.mu, func() int { return len(h.users) })
	gauge("watch_sets", "Different watch sets on this node.", &h.watchSets.mu, func() int { return len(h.sets) })
	m := &metrics{
		ticks:        counter("ticks_total", "Ticks of this node; each sends the newest counters to the watch sets."),
		encodedTicks: counter("tick_frames_encoded_total", "Encoded tick frames: one per watch set, not per client."),
		frames:       counter("frames_total", "Frames written to sockets."),
		skipped:      counter("ticks_skipped_total", "Ticks that a slow client did not receive before the next one."),
		events:       counter("events_total", "Personal events queued for connections."),
		resyncs:      counter("resyncs_total", "Reads of rows because messages may have been lost."),
		replays:      counter("replays_total", "Connections that sent a cursor and for which rows were read."),
		closed:       vector("closed_total", "reason", "Connections closed by the server, by reason."),
		rejected:     vector("rejected_total", "code", "Rejected ops, by error code."),
	}
	for code := range closeReasons {
		m.closed.WithLabelValues(code.String()) // 0 from the start, so that increase() sees the first one
	}
	for _, code := range shop.Codes {
		m.rejected.WithLabelValues(string(code))
	}
	m.soldOut = m.rejected.WithLabelValues(string(shop.SoldOut))
	return m
}

// rejectedCounter returns the counter of ops rejected with the code. The counter for SoldOut is cached, because a label
// look-up costs as much as writing the frame.
func (m *metrics) rejectedCounter(code shop.Code) prometheus.Counter {
	if code == shop.SoldOut {
		return m.soldOut
	}
	return m.rejected.WithLabelValues(string(code))
}
