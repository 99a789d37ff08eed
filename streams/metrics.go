package streams

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/shop"
)

// Metrics are the counters of this process, a prometheus.Collector. Register it once.
type Metrics struct {
	all []prometheus.Collector

	groupSize   prometheus.Histogram
	gateSeconds prometheus.Histogram
	gateFaults  prometheus.Counter
	verdicts    *prometheus.CounterVec
	byVerdict   [len(verdictNames)]prometheus.Counter // nil: no such verdict

	settled           atomic.Int64
	retried           prometheus.Counter
	failures          prometheus.Counter
	deadLetters       prometheus.Counter
	claimed           prometheus.Counter
	deadlinesFinished prometheus.Counter
	trimmed           prometheus.Counter
	lagFixed          prometheus.Counter
	lostReservations  prometheus.Counter
}

var verdictNames = [...]string{
	shop.VerdictReserved: "reserved", shop.VerdictRepeated: "repeated", shop.VerdictOtherHash: "duplicate_key",
	shop.VerdictNotOpen: "not_open", shop.VerdictClosed: "closed", shop.VerdictPaused: "paused", shop.VerdictLimit: "limit",
	shop.VerdictCap: "cap", shop.VerdictSoldOut: "sold_out", shop.VerdictBacklog: "backlog",
	shop.VerdictCooldown:  "resting",
	shop.VerdictNotLoaded: "not_loaded", shop.VerdictRecovering: "rebuilding", shop.VerdictEpoch: "epoch",
	shop.VerdictPass: "pass", shop.VerdictUsedID: "used_id",
}

// NewMetrics makes metrics that start at zero.
func NewMetrics() *Metrics {
	var counters []prometheus.Collector
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "stampede", Name: name, Help: help})
		counters = append(counters, c)
		return c
	}
	m := &Metrics{
		groupSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "stampede", Name: "gate_group_size", Help: "Buys per script call.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}),
		gateSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "stampede", Name: "gate_call_seconds", Help: "Time to decide a group of buys.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1},
		}),
		gateFaults: counter("gate_faults_total", "Failed script calls of the gate, repeated or abandoned."),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "stampede", Name: "gate_verdicts_total", Help: "Decided buys, by verdict.",
		}, []string{"verdict"}),
		retried:           counter("entries_moment_faults_total", "Batches that had a transient fault and were retried."),
		failures:          counter("entries_failures_total", "Failures caused by a single entry."),
		deadLetters:       counter("entries_buried_total", "Entries moved to the dead letters."),
		claimed:           counter("entries_claimed_total", "Entries claimed from consumers that have stopped."),
		deadlinesFinished: counter("deadlines_finished_total", "Orders that left the delay queue."),
		trimmed:           counter("stream_trimmed_total", "Settled entries trimmed from the streams."),
		lagFixed:          counter("stream_lag_fixed_total", "Corrections of the read counter of a group."),
		lostReservations:  counter("reservations_lost_total", "Confirmed reservations, recorded by this node, that were missing in both the database and Redis when a partition was restored, and entries that vanished from a stream. Use the largest value of all nodes."),
	}
	settled := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: "stampede", Name: "entries_settled_total",
		Help: "Stream entries acknowledged after their row was committed.",
	}, func() float64 { return float64(m.Settled()) })
	m.all = append(counters, m.groupSize, m.gateSeconds, m.verdicts, settled)
	for v, name := range verdictNames {
		if name != "" {
			m.byVerdict[v] = m.verdicts.WithLabelValues(name)
		}
	}
	return m
}

// Settled returns how many entries this process has acknowledged after their row was committed.
func (m *Metrics) Settled() int64 { return m.settled.Load() }

// verdict returns the counter of a verdict. Unknown verdicts count as "epoch", which operators should investigate.
func (m *Metrics) verdict(v shop.Verdict) prometheus.Counter {
	if v < 0 || int(v) >= len(m.byVerdict) || m.byVerdict[v] == nil {
		v = shop.VerdictEpoch
	}
	return m.byVerdict[v]
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(ch)
	}
}

// StreamStats are the numbers of one partition.
type StreamStats struct {
	Partition int
	Lag       int64 // undelivered entries
	Pending   int64 // delivered, not settled entries; Lag + Pending is the number of waiting entries
	Length    int64 // entries in the stream, settled ones included
	Dead      int64 // dead letters
	Deadlines int64 // orders in the delay queue

	Oldest time.Duration // age of the oldest waiting entry; 0: no entry is waiting

	Unreachable bool // the partition does not reply; the other numbers are unset
	Rejects     bool // the partition replies but rejects writes

	ClosedAt shop.Millis // start of its closure for a recovery; 0: open
}

// StreamCollector reads StreamStats at each scrape.
type StreamCollector struct {
	conn      *connection
	up        *prometheus.Desc
	partition *prometheus.Desc
	gauges    []*prometheus.Desc
}

// scrapeTimeout bounds a scrape; scrapers wait for a second or more.
const scrapeTimeout = 250 * time.Millisecond

// NewStreamCollector makes a prometheus.Collector of the stream numbers.
func NewStreamCollector(i *Inventory) *StreamCollector {
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("stampede_"+name, help, []string{"partition"}, nil)
	}
	up := prometheus.NewDesc("stampede_streams_up", "1 if Redis replied to this scrape.", nil, nil)
	partition := gauge("partition_up", "1 if the partition replied to this scrape; the partitions of a cluster can have different values.")
	return &StreamCollector{conn: i.connection, up: up, partition: partition, gauges: []*prometheus.Desc{
		gauge("stream_lag", "Reservations not yet delivered to a consumer (XINFO lag)."),
		gauge("stream_pending", "Reservations delivered and not settled (XINFO pending)."),
		gauge("stream_waiting", "Reservations without a row: lag + pending."),
		gauge("stream_length", "Entries in the stream, settled ones included."),
		gauge("dead_letters", "Entries that failed permanently and wait for an operator."),
		gauge("deadlines", "Orders in the delay queue: each until its payment deadline, also if it is paid before."),
		gauge("stream_oldest_seconds", "Age of the oldest reservation that waits for its row; 0: none waits."),
		gauge("partition_rejects_writes", "1 if the partition replied to this scrape and rejected a write."),
		gauge("partition_closed", "1 if the partition is closed for a recovery, so that buys of its sales return busy."),
	}}
}

// Describe implements prometheus.Collector.
func (c *StreamCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.up
	ch <- c.partition
	for _, d := range c.gauges {
		ch <- d
	}
}

// Collect implements prometheus.Collector. If Redis is unreachable, it collects only stampede_streams_up 0.
func (c *StreamCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	stats, err := Queue{c.conn}.Stats(ctx)
	if err != nil {
		ch <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 1)
	for _, s := range stats {
		name := strconv.Itoa(s.Partition)
		if s.Unreachable {
			ch <- prometheus.MustNewConstMetric(c.partition, prometheus.GaugeValue, 0, name)
			continue
		}
		ch <- prometheus.MustNewConstMetric(c.partition, prometheus.GaugeValue, 1, name)
		for i, v := range []float64{
			float64(s.Lag), float64(s.Pending), float64(s.Lag + s.Pending), float64(s.Length), float64(s.Dead),
			float64(s.Deadlines), s.Oldest.Seconds(), oneIf(s.Rejects), oneIf(s.ClosedAt != 0),
		} {
			ch <- prometheus.MustNewConstMetric(c.gauges[i], prometheus.GaugeValue, v, name)
		}
	}
}

// oneIf is the value of a gauge for a state that holds or not.
func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
