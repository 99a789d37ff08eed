package api

import (
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"
)

// stranger is a peer that says for whom it asks, and is not believed. If it is the shop's own proxy, everybody behind
// it counts as one address, and the limits by address lock the shop's buyers out.
type stranger struct {
	warn func(peer string)
	once rate.Sometimes // anybody can send such a header
}

func newStranger() *stranger {
	return &stranger{warn: warnOfStranger, once: rate.Sometimes{First: 1, Interval: time.Hour}}
}

func warnOfStranger(peer string) {
	slog.Warn("a request says for whom it was forwarded, and its sender is not named in STAMPEDE_TRUSTED_PROXIES. If that is "+
		"your proxy, name it there: now everybody behind it counts as one address", "peer", peer)
}

// forwarded notices a request whose forwarding headers are not believed, counts it, and warns of the first one in an
// hour.
func (a *api) forwarded(c *fiber.Ctx) error {
	h := &c.Request().Header
	said := len(h.Peek(realIP)) + len(h.Peek(fiber.HeaderXForwardedFor)) + len(h.Peek(fiber.HeaderForwarded))
	if said > 0 && !c.IsProxyTrusted() {
		a.Metrics.strangers.Inc()
		a.stranger.once.Do(func() { a.stranger.warn(c.Context().RemoteIP().String()) })
	}
	return c.Next()
}
