package server

import (
	"context"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/board"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// boardParts holds the counters of this node and the feed of the live board.
type boardParts struct {
	counts  board.BuyCounts
	latency *board.BuyLatency
	feed    *board.Feed

	backlogs backlogs
	// weakSetting is a setting of Redis with which no node would start; "" or nil: none. Only on nodes with the role
	// sweeper.
	weakSetting atomic.Pointer[string]
}

// composeBoard connects the live board and exports its counts as metrics.
func (p *parts) composeBoard(c *Config, version string, streamMetrics *streams.Metrics, registry *prometheus.Registry) {
	b := &p.board
	b.feed = &board.Feed{
		Reader: &board.Reader{
			Figures: p.inventory.Figures(), Counters: p.inventory.Stock().Counters, Catalogue: p.catalogue,
			Now: p.clock.Now,
		},
		Figures: p.inventory.Figures(), Audience: p.hub, Sample: p.sampler(c, version, streamMetrics),
	}
	all := &b.counts.Node.All
	counter(registry, "stampede_buys_total",
		"Buys over sockets and HTTP, rejected ones included, without hidden sales.", all.Attempts)
	counter(registry, "stampede_buys_reserved_total", "Buys that became reservations, without hidden sales.", all.Reserved)
	for code := range all.Rejected() {
		counter(registry, "stampede_buys_rejected_total", "Rejected buys, by the returned code, without hidden sales.",
			func() int64 { return all.Rejected()[code] }, "code", string(code))
	}
	registry.MustRegister(&latencyCollector{b.latency})
	gauge(registry, "stampede_redis_round_trip_seconds",
		"Longest round trip to a Redis server, smoothed over the last seconds.",
		func() float64 { return b.feed.RoundTrip().Seconds() })
	gauge(registry, "stampede_redis_setting_weak", "1: a setting of Redis has become too weak: no node would start with it.",
		func() int { return boolGauge(b.weak() != "") })
	for _, fault := range []store.ServerFault{store.ReadOnly, store.NoConnections} {
		counter(registry, "stampede_database_rejections_total", "Work that the database rejected because of its state.",
			func() int64 { n, _ := p.stores.db.Rejections(fault, 0); return n }, "reason", fault.String())
	}
	p.exportBacklogs(registry)
	p.storeMetrics.count("stampede_sales_stuck",
		"Sales of the open slots and of the next one that wait for an operator after a recovery. NaN: Redis was unreachable.",
		b.feed.Reader.StuckSales)
	p.storeMetrics.gauge("stampede_sales_open", "Sales that are open and not paused, in this node's catalogue.",
		func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), scrapeWait)
			defer cancel()
			return float64(p.catalogue.OpenSales(ctx, p.clock.Now()))
		})
	gauge(registry, "stampede_database_response_age_seconds", "Time since the last response of the database to this node.",
		func() float64 { return p.catalogue.Age().Seconds() })
	counter(registry, "stampede_log_errors_total", "Errors in the log of this process.", loggedErrors.Load)
}

// weak describes a setting of Redis with which no node would start; "": none.
func (b *boardParts) weak() string {
	if text := b.weakSetting.Load(); text != nil {
		return *text
	}
	return ""
}

// firstPublished records the time from buy to order event, for orders whose id this node generated.
func (p *parts) firstPublished(order, sale shop.ID) {
	if age, mintedHere := p.lease.Age(order); mintedHere {
		if !p.catalogue.IsHidden(sale) {
			p.board.latency.Observe(age)
		}
		p.board.counts.Sales.OrderPublished(sale, age)
	}
}

// sampler returns a function that reads the state and the counters of this node. CPU load is measured between two
// calls.
func (p *parts) sampler(
	c *Config, version string, streamMetrics *streams.Metrics,
) func() (board.NodeFigures, board.NodeReport, board.Flow) {
	start, roles, all := time.Now(), c.Roles.names(), &p.board.counts.Node.All
	busy, measuredAt, findFaults := cpuTime(), time.Now(), p.faultFinder()
	return func() (board.NodeFigures, board.NodeReport, board.Flow) {
		n := board.NodeFigures{
			ID: p.lease.Node(), Name: nodeName(p.lease), Version: version, Roles: roles,
			UpSeconds: int64(time.Since(start).Seconds()), Heap: heapBytes(),
			DatabaseMS: p.catalogue.Age().Milliseconds(),
			Leases: []board.Lease{{
				Name: "node " + strconv.Itoa(p.lease.Node()), Until: p.clock.Now().Add(time.Until(p.lease.Until())),
			}},
		}
		n.Sockets, n.Users = p.hub.Sizes()
		n.Risk = p.recovery.Risk()
		n.Problems = p.recovery.Counts().Problems.Load()
		used, now := cpuTime(), time.Now()
		if elapsed := now.Sub(measuredAt); elapsed > 0 {
			n.CPU = float64((used-busy)*100/elapsed) / 100
		}
		busy, measuredAt = used, now
		f := board.Flow{
			Buys: all.Attempts(), Reserved: all.Reserved(), Hidden: p.fulfiller.Hidden(),
			Errors: loggedErrors.Load(), Rejected: all.Rejected(), Latency: p.board.latency.Counts(),
		}
		f.Confirmed = streamMetrics.Settled() - f.Hidden // read after Hidden, so that the difference is never negative
		return n, board.NodeReport{Payments: p.paymentFigures(), Faults: findFaults()}, f
	}
}

// paymentFigures returns the payment figures of this node. They are filled only on nodes with the role sweeper.
func (p *parts) paymentFigures() (f board.PaymentFigures) {
	if p.money.closer != nil {
		f.InDoubt = int64(p.money.closer.Waiting())
	}
	if p.backOffice.refunder != nil {
		f.RefundsStuck = p.backOffice.refunder.Backlog().Stuck
	}
	f.Open, f.Differences = p.board.backlogs.openTrades.Load(), p.board.backlogs.differences.Load()
	return f
}

// heapBytes returns the memory of live objects and of dead objects that are not collected yet, in bytes.
func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// latencyCollector exports the histogram of the time from buy attempt to order event.
type latencyCollector struct{ latency *board.BuyLatency }

var latencyDesc = prometheus.NewDesc("stampede_buy_to_order_seconds",
	"Time from a buy until its order was published to a socket of the buyer on the same node.", nil, nil)

// Describe implements prometheus.Collector.
func (c *latencyCollector) Describe(ch chan<- *prometheus.Desc) { ch <- latencyDesc }

// Collect implements prometheus.Collector.
func (c *latencyCollector) Collect(ch chan<- prometheus.Metric) {
	upTo, count, sum := c.latency.Histogram()
	ch <- prometheus.MustNewConstHistogram(latencyDesc, count, sum, upTo)
}
