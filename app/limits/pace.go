package limits

import (
	"math"
	"time"

	"stampede/app"
)

// Pace is how often something may happen: so many at once, and after that so many in each period.
type Pace struct {
	Rate   int // in each period; 0: no limit
	Period time.Duration
	Burst  int
}

// Shared is the part of one of several nodes that share a pace.
func (p Pace) Shared(nodes int) Pace {
	if nodes <= 1 || p.Rate <= 0 {
		return p
	}
	p.Burst = max(1, p.Burst/nodes)
	p.Period *= time.Duration(nodes)
	return p
}

// steps are a pace as a bucket counts it, in nanoseconds. A bucket is one number: the instant at which all that was
// taken will have come back (the generic cell rate algorithm), so a full one need not be kept at all.
type steps struct {
	every int64 // between two tokens
	slack int64 // how far ahead of now a bucket may be when one more is taken
}

func (p Pace) steps() steps {
	every := max(1, p.Period.Nanoseconds()/int64(p.Rate))
	return steps{every: every, slack: every * int64(max(1, p.Burst)-1)}
}

// take is the bucket after one more was taken, or, with a wait, that one must not be taken yet.
func (s steps) take(bucket, now int64) (next int64, wait time.Duration) {
	bucket = max(bucket, now)
	if early := bucket - now - s.slack; early > 0 {
		return bucket, time.Duration(early)
	}
	return bucket + s.every, 0
}

// Refused says how long to wait, rounded up: not a moment too early.
func Refused(message string, wait time.Duration) *app.Error {
	e := app.Fail(app.RateLimited, message)
	e.RetryMS = int64(math.Ceil(float64(wait) / float64(time.Millisecond)))
	return e
}
