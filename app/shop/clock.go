package shop

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Millis is an instant: milliseconds since the Unix epoch, the only form of time on wires, in Redis and in the tables.
// Zero means "not set".
type Millis int64

// MillisOf converts a time; the fraction below a millisecond is dropped.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time converts back, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add moves the instant by d, which is truncated to milliseconds.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub is the time from o to m.
func (m Millis) Sub(o Millis) time.Duration { return time.Duration(m-o) * time.Millisecond }

// Clock is this node's idea of Redis TIME: the last sample carried on by the monotonic clock. It serves displays and
// early refusals with a margin; scripts decide by Redis TIME itself (I10).
type Clock struct {
	start time.Time
	base  atomic.Int64 // Redis time at start, in milliseconds
}

// NewClock starts from the wall clock until the first sample arrives.
func NewClock() *Clock {
	c := &Clock{start: time.Now()}
	c.base.Store(c.start.UnixMilli())
	return c
}

// Now is the estimated Redis time.
func (c *Clock) Now() Millis { return Millis(c.base.Load() + time.Since(c.start).Milliseconds()) }

// Sample reads Redis TIME once; half of the round trip is taken as the way back.
func (c *Clock) Sample(ctx context.Context, redis interface {
	Now(ctx context.Context) (Millis, error)
},
) error {
	asked := time.Now()
	now, err := redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	middle := asked.Add(time.Since(asked) / 2)
	c.base.Store(int64(now) - middle.Sub(c.start).Milliseconds())
	return nil
}
