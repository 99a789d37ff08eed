package board

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// latencyBounds has the upper bounds, in milliseconds, of the histogram classes for times from buy attempt to order;
// one more class has all longer times. The bounds are closer together where people notice a difference.
var latencyBounds = [...]float64{
	2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 10_000, 30_000,
}

// LatencyCounts has the number of orders per class: up to each bound, and beyond the last one.
type LatencyCounts [len(latencyBounds) + 1]int64

// LatencyTimes has the times from the buy attempt to the order event, in milliseconds.
type LatencyTimes struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	N   int64 `json:"n"` // number of orders; 0: the other fields are 0
}

// BuyLatency counts the times from the buy attempt, when the order id is minted, until the order event is sent to a
// socket of the same node. Both times come from the same clock. Counting allocates nothing.
type BuyLatency struct {
	counts [len(latencyBounds) + 1]atomic.Int64
	sum    atomic.Int64 // milliseconds
}

// Observe counts one order.
func (l *BuyLatency) Observe(duration time.Duration) {
	ms := float64(duration) / float64(time.Millisecond)
	i, _ := slices.BinarySearch(latencyBounds[:], ms)
	l.counts[i].Add(1)
	l.sum.Add(max(0, duration.Milliseconds()))
}

// Counts returns the counts since the start.
func (l *BuyLatency) Counts() (counts LatencyCounts) {
	for i := range counts {
		counts[i] = l.counts[i].Load()
	}
	return counts
}

// Histogram returns the counts for Prometheus: cumulative counts by upper bound in seconds, the total count, and the
// sum in seconds.
func (l *BuyLatency) Histogram() (upTo map[float64]uint64, count uint64, sum float64) {
	upTo = make(map[float64]uint64, len(latencyBounds))
	counts := l.Counts()
	for i, bound := range latencyBounds {
		count += uint64(counts[i])
		upTo[bound/1000] = count
	}
	return upTo, count + uint64(counts[len(latencyBounds)]), float64(l.sum.Load()) / 1000
}

// add adds the counts of another node.
func (c *LatencyCounts) add(other *LatencyCounts) {
	for i := range c {
		c[i] += other[i]
	}
}

// times returns the quantiles of the counts.
func (c *LatencyCounts) times() LatencyTimes {
	var t LatencyTimes
	for _, n := range c {
		t.N += max(0, n)
	}
	if t.N > 0 {
		t.P50, t.P99 = c.quantile(t.N, .5), c.quantile(t.N, .99)
	}
	return t
}

// quantile interpolates linearly between two bounds.
func (c *LatencyCounts) quantile(all int64, q float64) int64 {
	rank, below, lower := q*float64(all), 0.0, 0.0
	for i, bound := range latencyBounds {
		n := float64(max(0, c[i]))
		if n > 0 && below+n >= rank {
			return int64(math.Round(lower + (bound-lower)*(rank-below)/n))
		}
		below, lower = below+n, bound
	}
	return int64(lower)
}
