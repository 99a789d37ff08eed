package api

import (
	"net/netip"

	"stampede/app"
	"stampede/app/limits"
)

// limiter is a token bucket per client address. IPv6 clients are counted by their /64.
type limiter struct{ buckets *limits.Table[netip.Addr] }

// newLimiter makes one through which everything passes for a pace without a limit.
func newLimiter(p limits.Pace) *limiter { return &limiter{limits.NewTable[netip.Addr](p)} }

// take admits one request of the address, or fails with RateLimited and the time until the next one. Who is refused
// owes nothing.
func (l *limiter) take(ip string) error {
	wait := l.buckets.Take(clientAddr(ip))
	if wait == 0 {
		return nil
	}
	return limits.Refused("too many requests from your address", wait)
}

// spent reports whether take would fail now, and takes nothing.
func (l *limiter) spent(ip string) bool { return l.buckets.Wait(clientAddr(ip)) > 0 }

// clientAddr is the address under which a client counts. What cannot be read shares one.
func clientAddr(ip string) netip.Addr { return app.CustomerAddr(hostAddr(ip)) }

// hostAddr is the address itself; zero when it cannot be read.
func hostAddr(ip string) netip.Addr {
	addr, _ := netip.ParseAddr(ip)
	return addr
}
