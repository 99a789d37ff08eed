package realtime

import (
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
)

// metrics of one node's sockets.
type metrics struct {
	ticks        prometheus.Counter
	encodedTicks prometheus.Counter
	frames       prometheus.Counter
	skipped      prometheus.Counter
	events       prometheus.Counter
	resyncs      prometheus.Counter
	replays      prometheus.Counter
	closed       *prometheus.CounterVec
	refused      *prometheus.CounterVec
	soldOut      prometheus.Counter // of refused; at a hot sale it is nearly all of them
}

func newMetrics(to prometheus.Registerer, h *Hub) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "stampede", Subsystem: "live", Name: name, Help: help,
		})
	}
	vector := func(name, label, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "stampede", Subsystem: "live", Name: name, Help: help,
		}, []string{label})
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "stampede", Subsystem: "live", Name: name, Help: help,
		}, value)
	}
	m := &metrics{
		ticks:        counter("ticks_total", "Ticks of the ticker."),
		encodedTicks: counter("tick_frames_encoded_total", "Tick frames encoded: per watch set, not per client."),
		frames:       counter("frames_total", "Frames written to sockets."),
		skipped:      counter("ticks_skipped_total", "Ticks that a client did not take before the next one."),
		events:       counter("events_total", "Personal events queued for connections."),
		resyncs:      counter("resyncs_total", "Times that rows were read because messages may have been lost."),
		replays:      counter("replays_total", "Connections whose rows were read because they came with a cursor."),
		closed:       vector("closed_total", "reason", "Connections ended by the server, by reason."),
		refused:      vector("refused_total", "code", "Ops refused, by error code."),
	}
	m.soldOut = m.refused.WithLabelValues(string(app.SoldOut))
	if to == nil {
		return m
	}
	to.MustRegister(
		m.ticks, m.encodedTicks, m.frames, m.skipped, m.events, m.resyncs, m.replays, m.closed, m.refused,
		gauge("clients", "Connections of this node.", func() float64 {
			h.mu.Lock()
			defer h.mu.Unlock()
			return float64(len(h.clients))
		}),
		gauge("users", "Users with a connection to this node.", func() float64 {
			h.mu.Lock()
			defer h.mu.Unlock()
			return float64(len(h.users))
		}),
		gauge("watch_sets", "Different watch sets on this node.", func() float64 {
			h.setsMu.Lock()
			defer h.setsMu.Unlock()
			return float64(len(h.sets))
		}),
	)
	return m
}

// refusedAs counts the ops that were refused with the code. Looking the counter up costs as much as writing the frame.
func (m *metrics) refusedAs(code app.Code) prometheus.Counter {
	if code == app.SoldOut {
		return m.soldOut
	}
	return m.refused.WithLabelValues(string(code))
}
