package realtime

import "time"

// bucket is a token bucket that allows debt. Rejected ops also take a token. A debt as large as the burst closes the
// connection. Not safe for concurrent use.
type bucket struct {
	tokens float64
	burst  float64
	rate   float64 // tokens per second
	at     time.Time
}

func newBucket(perSecond float64, burst int, now time.Time) bucket {
	return bucket{tokens: float64(burst), burst: float64(burst), rate: perSecond, at: now}
}

// spend takes one token. If wait is greater than 0, the op is rejected, and an op after this wait is accepted.
// exhausted reports whether the debt has reached the burst.
func (b *bucket) spend(now time.Time) (wait time.Duration, exhausted bool) {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	b.tokens--
	if b.tokens >= 0 {
		return 0, false
	}
	return time.Duration((1 - b.tokens) / b.rate * float64(time.Second)), b.tokens <= -b.burst
}

// errorCount counts errors within unreadableWindow from the first error.
type errorCount struct {
	n     int
	since time.Time
}

const (
	maxUnreadable    = 5
	unreadableWindow = time.Minute
)

// add counts an error and reports whether the limit is reached.
func (e *errorCount) add(now time.Time) (exhausted bool) {
	if now.Sub(e.since) > unreadableWindow {
		e.n, e.since = 0, now
	}
	e.n++
	return e.n >= maxUnreadable
}
