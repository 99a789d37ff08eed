package realtime

import (
	"context"
	"time"
)

// keepOnce pings who is silent and gives up who stays it, and ends sessions whose token has ended or was revoked. Who
// logs in has the tokens of before revoked, and the time between two looks to renew with the new one.
func (h *Hub) keepOnce(context.Context) error {
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
	return nil
}
