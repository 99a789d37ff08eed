package api

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
	"stampede/app/limits"
)

// limiter is a token bucket per client address. IPv6 clients are counted by their /64.
type limiter struct{ buckets *limits.Table[netip.Addr] }

// newLimiter makes a limiter; a pace without a limit admits everything.
func newLimiter(p limits.Pace) *limiter { return &limiter{limits.NewTable[netip.Addr](p)} }

// take admits one request of the address, or fails with RateLimited and the time until the next one is admitted.
func (l *limiter) take(ip string) error {
	if wait := l.buckets.Take(clientAddr(ip)); wait > 0 {
		return limits.Refused("too many requests from your address", wait)
	}
	return nil
}

// spent reports whether take would fail now, and takes nothing.
func (l *limiter) spent(ip string) bool { return l.buckets.Wait(clientAddr(ip)) > 0 }

// clientAddr is the address under which a client is counted; unreadable ones share one.
func clientAddr(ip string) netip.Addr { return app.CustomerAddr(hostAddr(ip)) }

// hostAddr is the address itself; zero if unreadable.
func hostAddr(ip string) netip.Addr {
	addr, _ := netip.ParseAddr(ip)
	return addr
}

// Counts are the windows in which HTTP requests are counted. Buys have buckets in memory (limits.Buys), because a buy
// must not cost a round trip for its limits.
type Counts struct {
	Windows *limits.Windows // nil: nothing is counted
	// Listing covers offers, Auth logging in, Orders the data of a user.
	Listing, Auth, Orders limits.Class
}

// classOf returns the window of a route, if it is counted.
func (n *Counts) classOf(method, path string) (class limits.Class, counted bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, apiPath+"/"), "/")
	switch first {
	case "auth":
		return n.Auth, true
	case "orders", "me":
		return n.Orders, true
	case "slots", "sales", "products", "categories":
		return n.Listing, method == fiber.MethodGet || method == fiber.MethodHead
	}
	return limits.Class{}, false
}

// counted precedes all routes of the API. With an invalid token only the address is counted; routes that need a user
// reject it.
func (a *api) counted(c *fiber.Ctx) error {
	if a.Counts.Windows == nil {
		return c.Next()
	}
	class, counted := a.Counts.classOf(c.Method(), c.Path())
	if !counted {
		return c.Next()
	}
	var user app.ID
	if token := bearer(c); token != "" && class.User > 0 {
		if who, err := a.Shop.Verify(token); err == nil {
			user = who.User
		}
	}
	if err := a.Counts.Windows.Take(context.Background(), class, user, hostAddr(c.IP())); err != nil {
		return err
	}
	return c.Next()
}
