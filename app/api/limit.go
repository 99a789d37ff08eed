package api

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"stampede/app"
)

// bucketsKept bounds the memory of a limiter: about 10 MB.
const bucketsKept = 65_536

// Pace is how often something may happen: so many at once, and after that so many in each period.
type Pace struct {
	Rate   int // in each period; 0: no limit
	Period time.Duration
	Burst  int
}

// limiter is a token bucket per client address. IPv6 clients are counted by their /64.
type limiter struct {
	limit rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	buckets map[netip.Addr]*rate.Limiter
}

// newLimiter answers nil, through which everything passes, for a pace without a limit.
func newLimiter(p Pace) *limiter {
	if p.Rate <= 0 {
		return nil
	}
	return &limiter{
		limit: rate.Limit(float64(p.Rate) / p.Period.Seconds()), burst: max(1, p.Burst), now: time.Now,
		buckets: make(map[netip.Addr]*rate.Limiter),
	}
}

// take admits one request of the address, or fails with RateLimited and the time until the next one. Who is refused
// owes nothing.
func (l *limiter) take(ip string) error {
	if l == nil {
		return nil
	}
	now := l.now()
	taken := l.bucket(ip, now).ReserveN(now, 1)
	wait := taken.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	taken.CancelAt(now)
	e := app.Fail(app.RateLimited, "too many requests from your address")
	e.RetryMS = int64(math.Ceil(float64(wait) / float64(time.Millisecond)))
	return e
}

// bucket is the one of the address, a new one if it has none.
func (l *limiter) bucket(ip string, now time.Time) *rate.Limiter {
	addr := clientAddr(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[addr]
	if b == nil {
		if len(l.buckets) >= bucketsKept {
			l.shrink(now)
		}
		b = rate.NewLimiter(l.limit, l.burst)
		l.buckets[addr] = b
	}
	return b
}

// spent reports whether take would fail now, and takes nothing.
func (l *limiter) spent(ip string) bool {
	l.mu.Lock()
	b := l.buckets[clientAddr(ip)]
	l.mu.Unlock()
	return b != nil && b.TokensAt(l.now()) < 1
}

// shrink forgets buckets that are full again, and, under a flood of addresses, any others until half are left.
// Callers hold mu.
func (l *limiter) shrink(now time.Time) {
	for addr, b := range l.buckets {
		if b.TokensAt(now) >= float64(l.burst) {
			delete(l.buckets, addr)
		}
	}
	for addr := range l.buckets {
		if len(l.buckets) <= bucketsKept/2 {
			break
		}
		delete(l.buckets, addr)
	}
}

// clientAddr is the address under which a client counts. What cannot be read shares one.
func clientAddr(ip string) netip.Addr { return app.CustomerAddr(hostAddr(ip)) }

// hostAddr is the address itself; zero when it cannot be read.
func hostAddr(ip string) netip.Addr {
	addr, _ := netip.ParseAddr(ip)
	return addr
}
