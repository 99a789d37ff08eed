package api

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// crowdedRetry is when an address with too many sockets should try again: some have left by then.
const crowdedRetry = 5 * time.Second

// admitSocket decides who may open a socket, and counts it for its address. Browsers say which page asks (Origin): it
// must be one of ours, or any page could speak with a shopper's token in its storage. Programs send no Origin and may
// pass.
func (a *api) admitSocket(c *fiber.Ctx) error {
	if !strings.EqualFold(c.Get(fiber.HeaderUpgrade), "websocket") {
		return fiber.ErrUpgradeRequired
	}
	select {
	case <-a.Closing:
		return app.FailBusy("this node is closing; another one will answer", drainRetry)
	default:
	}
	if origin := c.Get(fiber.HeaderOrigin); origin != "" && !a.welcome(origin, c.Get(fiber.HeaderHost)) {
		return app.Fail(app.Forbidden, "pages of this origin may not open sockets here")
	}
	if err := a.handshakes.take(c.IP()); err != nil {
		return err
	}
	undo, room := countFor(c.Context().Conn(), clientAddr(c.IP()))
	if !room {
		e := app.Fail(app.RateLimited, "your address has too many sockets open here")
		e.RetryMS = crowdedRetry.Milliseconds()
		return e
	}
	err := c.Next()
	if !c.Context().Hijacked() {
		undo()
	}
	return err
}

// keepOut goes in front of all routes. A connection of a blocked address is closed before a word is said on it; this is
// for those that come through a proxy, and for what was open before.
func (a *api) keepOut(c *fiber.Ctx) error {
	if a.Blocked(hostAddr(c.IP())) {
		return app.Fail(app.Forbidden, "your address is blocked")
	}
	return c.Next()
}

// welcome compares hosts, not schemes: behind a proxy that ends TLS the scheme here is not the page's.
func (a *api) welcome(origin, host string) bool {
	if slices.ContainsFunc(a.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
