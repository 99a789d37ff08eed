package realtime

import (
	"context"
	"time"
)

// keep looks after all connections from time to time, until ctx ends.
func (h *Hub) keep(ctx context.Context) error {
	return h.fromTimeToTime(ctx, func(context.Context) { h.keepOnce() })
}

// fromTimeToTime does something every KeepEvery, until ctx ends.
func (h *Hub) fromTimeToTime(ctx context.Context, do func(ctx context.Context)) error {
	beat := time.NewTicker(h.options.KeepEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beat.C:
			do(ctx)
		}
	}
}

// keepOnce pings who is silent and gives up who stays it, and ends sessions whose token has ended.
func (h *Hub) keepOnce() {
	elapsed, now := h.elapsed(), h.shop.Now()
	for _, c := range h.everybody() {
		silent := elapsed - time.Duration(c.heardAt.Load())
		if silent >= h.options.PingEvery && elapsed-c.pingedAt >= h.options.PingEvery {
			c.pingedAt = elapsed
			c.offerPing()
			h.letWritersBegin()
		}
		if silent >= h.options.IdleAfter && c.isGreeted() { // before hello there is a deadline
			c.depart(CloseIdle)
			continue
		}
		user, expires := c.user()
		if user == 0 {
			continue
		}
		if now > expires.Add(h.options.TokenGrace) {
			c.depart(CloseToken)
		}
	}
}
