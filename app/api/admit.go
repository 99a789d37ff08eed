package api

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/shop"
)

// socketLimitRetry is the retry delay for an address with too many sockets.
const socketLimitRetry = 5 * time.Second

// admitSocket checks a handshake and counts the socket for its address. An Origin, which browsers send, must be
// allowed: otherwise any page could use a buyer's token. Programs send no Origin and are admitted.
func (f *front) admitSocket(c *fiber.Ctx) error {
	if !strings.EqualFold(c.Get(fiber.HeaderUpgrade), "websocket") {
		return fiber.ErrUpgradeRequired
	}
	select {
	case <-f.Closing:
		return shop.FailBusy("this node is shutting down; connect again to reach another node", drainRetry)
	default:
	}
	if origin := c.Get(fiber.HeaderOrigin); origin != "" && !f.originAllowed(origin, c.Get(fiber.HeaderHost)) {
		return shop.Fail(shop.Forbidden, "sockets from this origin are not allowed")
	}
	if err := f.handshakes.take(c.IP()); err != nil {
		return err
	}
	undo, withinLimit := countForClient(c.Context().Conn(), hostAddr(c.IP()))
	if !withinLimit {
		e := shop.Fail(shop.RateLimited, "your address has too many open sockets; close one or try again later")
		e.RetryMS = socketLimitRetry.Milliseconds()
		return e
	}
	err := c.Next()
	if !c.Context().Hijacked() {
		undo()
	}
	return err
}

// rejectBlocked rejects requests of blocked addresses before all routes. The HTTP server serves /healthz and /readyz
// itself, also to blocked addresses. A connection without a proxy is closed.
func (f *front) rejectBlocked(c *fiber.Ctx) error {
	if f.Blocked(hostAddr(c.IP())) {
		if !c.IsProxyTrusted() {
			c.Context().SetConnectionClose()
		}
		return shop.Fail(shop.Forbidden, shop.AddressBlocked)
	}
	return c.Next()
}

// originAllowed accepts the configured origins. It also accepts the host of the request with any scheme: if a proxy
// terminates TLS, the scheme of the request differs from the scheme of the page.
func (f *front) originAllowed(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return sameHost(u.Scheme, u.Host, host) || slices.ContainsFunc(f.origins, func(o url.URL) bool {
		return u.Scheme == o.Scheme && sameHost(o.Scheme, u.Host, o.Host)
	})
}

// originsOf returns the origin of the page and the configured additional origins.
func originsOf(o *Options) []url.URL {
	origins := []url.URL{o.Public}
	for _, text := range o.Origins {
		if u, err := url.Parse(text); err == nil {
			origins = append(origins, *u)
		}
	}
	return origins
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// sameHost compares two texts of the form host[:port] and ignores the default port of the scheme.
func sameHost(scheme, a, b string) bool {
	port := defaultPorts[scheme]
	return strings.EqualFold(strings.TrimSuffix(a, port), strings.TrimSuffix(b, port))
}
