package api

import (
	"net/netip"

	"github.com/gofiber/fiber/v2"

	"stampede/app/limits"
	"stampede/app/shop"
)

// limiter is a token bucket per client address; unreadable addresses share one bucket.
type limiter struct{ buckets *limits.Addrs }

// newLimiter creates a limiter; if p sets no limit, all requests are admitted.
func newLimiter(p limits.Pace) *limiter { return &limiter{limits.NewAddrs(p)} }

// take admits one request of the address, or fails with RateLimited and the time until the next admission.
func (l *limiter) take(ip string) error {
	if wait := l.buckets.Take(hostAddr(ip)); wait > 0 {
		return limits.RateLimitError("too many requests from your address", wait)
	}
	return nil
}

// exhausted reports whether take would fail now. It takes no token from the bucket.
func (l *limiter) exhausted(ip string) bool { return l.buckets.Wait(hostAddr(ip)) > 0 }

// hostAddr parses an address. It returns the zero Addr for an invalid address.
func hostAddr(ip string) netip.Addr {
	addr, _ := netip.ParseAddr(ip)
	return addr
}

// limit returns a handler that applies the limits of a class. For a request with an invalid token only the address is
// counted; routes that need a user reject the token later.
func (f *front) limit(class limits.Class) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var user shop.ID
		if bearer(c) != "" {
			if who, err := f.identity(c); err == nil {
				user = who.User
			}
		}
		if err := f.Admit(class, user, hostAddr(c.IP())); err != nil {
			return err
		}
		return c.Next()
	}
}
