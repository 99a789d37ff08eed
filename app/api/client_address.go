package api

import (
	"bytes"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"
)

// proxyWarnings warns about proxies whose headers are not used. Then all clients behind such a proxy count as one
// address, and the limits of that address reject buyers.
type proxyWarnings struct {
	warn                  func(message, peer string)
	untrusted, unreadable rate.Sometimes // any client can send an untrusted header
}

func newProxyWarnings() *proxyWarnings {
	return &proxyWarnings{
		warn:       func(message, peer string) { slog.Warn(message, "peer", peer) },
		untrusted:  rate.Sometimes{First: 1, Interval: time.Hour},
		unreadable: rate.Sometimes{First: 1, Interval: time.Hour},
	}
}

// setClient is the only place that determines the address of a client: limits, blocks and logs read it with c.IP. A
// trusted proxy passes it in X-Real-IP, or else in X-Forwarded-For. setClient normalises the address and stores it in
// X-Real-IP, where c.IP reads it.
func (f *front) setClient(c *fiber.Ctx) error {
	h := &c.Request().Header
	direct, hops := h.Peek(realIP), h.PeekAll(fiber.HeaderXForwardedFor)
	switch trusted := c.IsProxyTrusted(); {
	case !trusted && len(direct)+len(hops)+len(h.Peek(fiber.HeaderForwarded)) > 0:
		f.Metrics.untrustedForwards.Inc()
		f.proxies.untrusted.Do(func() {
			f.proxies.warn("a request has a forwarding header, but its peer is not in STAMPEDE_TRUSTED_PROXIES. If the peer is "+
				"your proxy, add it to the setting: until then all clients behind it count as one address", c.Context().RemoteIP().String())
		})
	case trusted && len(direct)+len(hops) > 0:
		client, found := clientAddr(string(direct)), true
		if len(direct) == 0 {
			client, found = f.rightmost(hops)
		}
		switch {
		case !found: // a request of a proxy itself, such as a health check
		case client.IsValid():
			h.Set(realIP, client.String())
		default:
			h.Del(realIP)
			f.Metrics.unreadableClients.Inc()
			f.proxies.unreadable.Do(func() {
				f.proxies.warn("a trusted proxy sends a client address that cannot be read; its clients count as one address",
					c.Context().RemoteIP().String())
			})
		}
	}
	return c.Next()
}

// rightmost returns the last address in the X-Forwarded-For headers that is not a trusted proxy. Each proxy appends its
// peer; earlier addresses can be forged by the client. The address is invalid if it cannot be read.
func (f *front) rightmost(values [][]byte) (addr netip.Addr, found bool) {
	hops := strings.Split(string(bytes.Join(values, []byte(","))), ",")
	for _, hop := range slices.Backward(hops) {
		addr := clientAddr(hop)
		if !slices.ContainsFunc(f.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// clientAddr reads an address as proxies write it: also with a port, in brackets, in quotes (RFC 7239), with a zone, or
// an IPv4 address in the form of IPv6. The result is invalid for another text.
func clientAddr(text string) netip.Addr {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone("")
	}
	addr, _ := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return addr.Unmap().WithZone("")
}
