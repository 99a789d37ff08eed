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

// keepOnce pings who is silent and gives up who stays it, ends sessions whose token has ended, and has logs read in case
// a hint was lost.
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
			continue
		}
		if c.syncedAt == 0 {
			c.syncedAt = time.Duration(c.heardAt.Load()) // spreads the reads over time
		}
		if elapsed-c.syncedAt >= h.options.SyncEvery {
			c.syncedAt = elapsed
			h.behind.add(c)
		}
	}
}
