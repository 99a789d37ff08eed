package api

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"stampede/app"
)

// bucketsKept bounds the memory of a limiter: about 5 MB.
const bucketsKept = 65_536

// limiter is a token bucket per client address. IPv6 clients are counted by their /64.
type limiter struct {
	perSecond float64
	burst     float64
	now       func() time.Time

	mu      sync.Mutex
	buckets map[netip.Addr]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// newLimiter admits n in each period, all of them at once if they come so. n ≤ 0: everything passes.
func newLimiter(n int, period time.Duration) *limiter {
	if n <= 0 {
		return nil
	}
	return &limiter{
		perSecond: float64(n) / period.Seconds(), burst: float64(n), now: time.Now,
		buckets: make(map[netip.Addr]bucket),
	}
}

// take admits one request of the address, or fails with RateLimited and the time until the next one.
func (l *limiter) take(ip string) error {
	if l == nil {
		return nil
	}
	addr, _ := netip.ParseAddr(ip) // what cannot be read shares one bucket
	addr = household(addr)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[addr]
	if !ok {
		if len(l.buckets) >= bucketsKept {
			l.shrink(now)
		}
		b = bucket{tokens: l.burst, at: now}
	}
	b.tokens = min(l.burst, b.tokens+now.Sub(b.at).Seconds()*l.perSecond)
	b.at = now
	var err error
	if b.tokens >= 1 {
		b.tokens--
	} else {
		e := app.Fail(app.RateLimited, "too many requests from your address")
		e.RetryMS = int64(math.Ceil((1 - b.tokens) / l.perSecond * 1000))
		err = e
	}
	l.buckets[addr] = b
	return err
}

// spent tells whether take would fail now, and takes nothing.
func (l *limiter) spent(ip string) bool {
	addr, _ := netip.ParseAddr(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[household(addr)]
	return ok && b.tokens+l.now().Sub(b.at).Seconds()*l.perSecond < 1
}

// shrink forgets buckets that are full again, and, under a flood of addresses, any others until half are left.
func (l *limiter) shrink(now time.Time) {
	for addr, b := range l.buckets {
		if b.tokens+now.Sub(b.at).Seconds()*l.perSecond >= l.burst {
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
