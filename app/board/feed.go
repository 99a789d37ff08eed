package board

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"stampede/app/shop"
)

// boardTimeout limits the Redis calls of one RunOnce, which must end before the next one.
const boardTimeout = 800 * time.Millisecond

// Feed publishes the figures of this node once a second and sends the board to its viewers on this node. For each point
// of the history, the first node that claims it writes it.
type Feed struct {
	Reader   *Reader
	Figures  FigureStore
	Audience Audience
	// Sample returns the state of this node, the part of its report that is a state, and its counts since the start.
	Sample func() (NodeFigures, NodeReport, Flow)

	mu               sync.Mutex
	samples          []sampleTotals // the newest last
	nodeFigures      NodeFigures    // as last published
	duePoint         shop.Millis    // the newest claimed point of the history
	unreachableSince shop.Millis    // since when Redis is unreachable; 0: reachable
	// The following fields raise alarms that figures in Redis cannot raise while Redis rejects writes.
	writtenAt shop.Millis   // when this node's figures were last written, initially its start
	busySince shop.Millis   // since when buys on this node were busy and none was reserved; 0: buys are not busy
	roundTrip time.Duration // to Redis, smoothed over the last seconds
	slowSince shop.Millis   // since when roundTrip is at least SlowRedis; 0: it is not
}

// sampleTotals has the totals of this node at an instant.
type sampleTotals struct {
	at    time.Time
	total Flow
}

// Run calls RunOnce every UpdateInterval until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	ticker := time.NewTicker(UpdateInterval)
	defer ticker.Stop()
	for {
		if err := f.RunOnce(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "live board", "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// RunOnce publishes the figures of this node, writes a point of the history if this node claims it, and sends the
// board. While Redis is unavailable, the board has only the figures of this node.
func (f *Feed) RunOnce(ctx context.Context) error {
	figures, duePoint := f.sample(time.Now())
	report := f.publish(ctx, figures, duePoint)
	f.recordRedisState(report)
	if f.Audience == nil || !f.Audience.BoardWatched() {
		return report
	}
	b := f.Read(ctx)
	f.Audience.ShowBoard(&b)
	return report
}

// publish publishes this node's figures, and writes a point from the figures of all nodes if this node claims it first.
func (f *Feed) publish(ctx context.Context, figures NodeFigures, duePoint shop.Millis) error {
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	roundTrip, readErr := f.Figures.RoundTrip(ctx) // first: a call after another one would miss a stall
	first, err := f.Figures.PublishFigures(ctx, figures, duePoint)
	f.mu.Lock()
	if err == nil {
		f.writtenAt = figures.Report.At
	}
	if readErr == nil {
		f.roundTrip += (roundTrip - f.roundTrip) / 4
	}
	f.mu.Unlock()
	if err != nil || !first {
		return err
	}
	b, gone, err := f.Reader.figures(ctx)
	if err != nil {
		return err
	}
	return f.Figures.AddPoint(ctx, b.point(duePoint), gone)
}

// Read returns the current board. It never fails: without Redis, it returns the figures of this node.
func (f *Feed) Read(ctx context.Context) Board {
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	b, err := f.Reader.Read(ctx)
	f.recordRedisState(err)
	if err == nil {
		f.addNodeAlarms(&b)
		return b
	}
	partitions := f.reachablePartitions(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	b = Board{Now: f.Reader.Now()}
	b.sum([]NodeFigures{f.nodeFigures})
	b.Partitions = append(b.Partitions, partitions...)
	b.Alarms = append(alarmsOf(nil, &b), redisUnreachable(f.unreachableSince))
	b.Alarms = append(b.Alarms, f.Reader.partitionAlarms(partitions, b.Now)...)
	b.removeReports()
	return b
}

// addNodeAlarms adds the alarms from this node's memory that the figures in Redis have not raised.
func (f *Feed) addNodeAlarms(b *Board) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raised := func(name string) bool {
		return slices.ContainsFunc(b.Alarms, func(a Alarm) bool { return a.Name == name })
	}
	if b.Now.Sub(f.writtenAt) > figuresLife && !raised(AlarmWritesRejected) {
		b.Alarms = append(b.Alarms,
			writesRejected("Redis responds, but this node could not write its figures for 5 s.", f.writtenAt))
	}
	if f.busySince != 0 && b.Now.Sub(f.busySince) >= standstillMin && !raised(AlarmStandstill) {
		b.Alarms = append(b.Alarms, busyNode(f.busySince))
	}
}

// reachablePartitions reads the reachable partitions while the figures of the nodes cannot be read: in a cluster the
// figures are on one server and the partitions on all. Nil if none is reachable.
func (f *Feed) reachablePartitions(ctx context.Context) []PartitionFigures {
	if ctx.Err() != nil {
		return nil
	}
	partitions, err := f.Reader.Figures.PartitionFigures(ctx)
	if err != nil {
		return nil
	}
	return partitions
}

// RoundTrip returns the longest round trip to a Redis server, smoothed over the last seconds.
func (f *Feed) RoundTrip() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.roundTrip
}

// History returns the board with the last 15 minutes.
func (f *Feed) History(ctx context.Context) History {
	return History{Board: f.Read(ctx), History: f.Points(ctx)}
}

// Points returns the points of the last 15 minutes, the oldest first; empty while Redis is unreachable.
func (f *Feed) Points(ctx context.Context) []Point {
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	points, err := f.Figures.Points(ctx, Points)
	if err != nil {
		return []Point{}
	}
	return points
}

// recordRedisState stores since when Redis is unreachable.
func (f *Feed) recordRedisState(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.unreachableSince = 0
	case f.unreachableSince == 0 && !errors.Is(err, context.Canceled):
		f.unreachableSince = f.Reader.Now()
	}
}

// sample takes a sample and returns the figures to publish and the due point of the history; 0: none.
func (f *Feed) sample(now time.Time) (figures NodeFigures, duePoint shop.Millis) {
	figures, state, total := f.Sample()
	f.mu.Lock()
	defer f.mu.Unlock()
	report := &state
	report.At = f.Reader.Now()
	since := sinceFirst(&f.slowSince, f.roundTrip >= SlowRedis, report.At)
	if since != 0 && report.At.Sub(since) >= slowMin {
		report.Faults = append(report.Faults, Fault{Name: AlarmRedisSlow, Since: since})
	}
	if len(f.samples) > 0 {
		last, oldest := f.samples[len(f.samples)-1], f.samples[0]
		report.Second = total.since(&last.total, now.Sub(last.at))
		report.FiveSeconds = total.since(&oldest.total, now.Sub(oldest.at))
	}
	f.samples = append(f.samples, sampleTotals{now, total})
	if limit := int(PointEvery / UpdateInterval); len(f.samples) > limit {
		f.samples = f.samples[len(f.samples)-limit:]
	}
	figures.Report = report
	f.nodeFigures = figures
	if f.writtenAt == 0 {
		f.writtenAt = report.At
	}
	recent := &report.FiveSeconds
	sinceFirst(&f.busySince, recent.Reserved == 0 && recent.Rejected[shop.Busy]+recent.Rejected[shop.Internal] > 0,
		report.At)
	due := report.At - report.At%shop.Millis(PointEvery.Milliseconds())
	if due > f.duePoint {
		f.duePoint, duePoint = due, due
	}
	return figures, duePoint
}

// roundTenth rounds to one decimal.
func roundTenth(rate float64) float64 { return math.Round(rate*10) / 10 }
