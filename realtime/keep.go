package realtime

import (
	"context"
	"time"
)

// keepOnce pings who is silent and gives up who stays it, and ends sessions whose token has ended or was revoked.
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
		switch who := c.who(); {
		case who.User == 0:
		case h.shop.Revoked(who):
			c.depart(CloseRevoked)
			h.letWritersBegin()
		case now > who.Expires.Add(h.options.TokenGrace):
			c.depart(CloseToken)
		}
	}
	return nil
}
