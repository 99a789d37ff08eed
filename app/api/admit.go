package api

import (
	"bytes"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"

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

// untrustedProxy warns about a peer that sends untrusted forwarding headers. If the peer is the shop's own proxy, all
// clients behind it count as one address, and the limits of that address reject buyers.
type untrustedProxy struct {
	warn func(peer string)
	once rate.Sometimes // any client can send such a header
}

func newUntrustedProxy() *untrustedProxy {
	return &untrustedProxy{warn: warnUntrustedProxy, once: rate.Sometimes{First: 1, Interval: time.Hour}}
}

func warnUntrustedProxy(peer string) {
	slog.Warn("a request has a forwarding header, but its peer is not in STAMPEDE_TRUSTED_PROXIES. If the peer is your "+
		"proxy, add it to the setting: until then all clients behind it count as one address", "peer", peer)
}

// checkForwarding counts requests with untrusted forwarding headers and warns at most once an hour. If a trusted proxy
// sends no X-Real-IP, checkForwarding sets this header, because c.IP reads it.
func (f *front) checkForwarding(c *fiber.Ctx) error {
	h := &c.Request().Header
	headerBytes := len(h.Peek(realIP)) + len(h.Peek(fiber.HeaderXForwardedFor)) + len(h.Peek(fiber.HeaderForwarded))
	switch trusted := c.IsProxyTrusted(); {
	case headerBytes > 0 && !trusted:
		f.Metrics.untrustedForwards.Inc()
		f.untrustedProxy.once.Do(func() { f.untrustedProxy.warn(c.Context().RemoteIP().String()) })
	case trusted && len(h.Peek(realIP)) == 0:
		if client := f.rightmost(h.PeekAll(fiber.HeaderXForwardedFor)); client.IsValid() {
			h.Set(realIP, client.String())
		}
	}
	return c.Next()
}

// rightmost returns the last address in the X-Forwarded-For headers that is not a trusted proxy. Each proxy appends its
// peer; earlier addresses can be forged by the client. The result is invalid if there is no such address.
func (f *front) rightmost(values [][]byte) netip.Addr {
	hops := strings.Split(string(bytes.Join(values, []byte(","))), ",")
	for _, hop := range slices.Backward(hops) {
		addr := hostAddr(strings.TrimSpace(hop)).Unmap()
		if !slices.ContainsFunc(f.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return addr
		}
	}
	return netip.Addr{}
}
