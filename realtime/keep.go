package realtime

import (
	"context"
	"time"

	"stampede/app"
)

// keep looks after the connections until ctx ends, for the first time after a pause: nobody is there before.
func (h *Hub) keep(ctx context.Context) error {
	for app.Sleep(ctx, h.options.KeepEvery) {
		h.keepOnce()
	}
	return ctx.Err()
}

// keepOnce pings who is silent and gives up who stays it, and ends sessions whose token has ended or was revoked. Who
// logs in has the tokens of before revoked, and the time between two looks to renew with the new one.
func (h *Hub) keepOnce() {
	elapsed, now := h.elapsed(), h.shop.Now()
	for _, c := range h.everybody() {
		silent := elapsed - time.Duration(c.aliveAt.Load())
		if silent >= h.options.PingEvery && elapsed-c.pingedAt >= h.options.PingEvery {
			c.pingedAt = elapsed
			c.offerPing()
			h.letWritersBegin()
		}
		if silent >= h.options.IdleAfter && c.isGreeted() { // before hello there is a deadline
			c.depart(CloseIdle)
			continue
		}
		who := c.who()
		before := c.revoked
		c.revoked = who.User != 0 && h.shop.Revoked(who)
		switch {
		case who.User == 0:
		case c.revoked && before:
			c.depart(CloseRevoked)
			h.letWritersBegin()
		case now > who.Expires.Add(h.options.TokenGrace):
			c.depart(CloseToken)
		}
	}
}
