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

// MillisOf converts a time. It drops fractions of a millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time converts the instant to UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add returns m + d; d is truncated to milliseconds.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub returns the duration m - o.
func (m Millis) Sub(o Millis) time.Duration { return time.Duration(m-o) * time.Millisecond }

// Clock estimates Redis TIME on this node: the last sample plus the elapsed monotonic time. It is used for displays and
// for early rejections, which have a safety margin. Scripts use Redis TIME itself (I10).
type Clock struct {
	start time.Time
	base  atomic.Int64 // Redis time at start, in milliseconds
}

// NewClock returns a clock that uses the wall clock until the first sample arrives.
func NewClock() *Clock {
	c := &Clock{start: time.Now()}
	c.base.Store(c.start.UnixMilli())
	return c
}

// Now returns the estimated Redis time.
func (c *Clock) Now() Millis { return Millis(c.base.Load() + time.Since(c.start).Milliseconds()) }

// Sample reads Redis TIME once. It assumes that the reply takes half of the round trip.
func (c *Clock) Sample(ctx context.Context, redis interface {
	Now(ctx context.Context) (Millis, error)
},
) error {
	sent := time.Now()
	now, err := redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	midpoint := sent.Add(time.Since(sent) / 2)
	c.base.Store(int64(now) - midpoint.Sub(c.start).Milliseconds())
	return nil
}
