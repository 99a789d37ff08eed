package realtime

import (
	"context"
	"time"
)

// longestPause keeps a drained client from being away for longer, however long the drain may take.
const longestPause = 5 * time.Second

// answersWithin is how long a drain waits for the answer to an op under way.
const answersWithin = 3 * time.Second

// Drain ends all connections and accepts no new ones. Each client receives the reply to its op under way, then `bye`
// with its own pause of at most within (and at most 5 s), then a close frame. When ctx ends, Drain closes the rest and
// returns its error. Run must still be running, so that no event is missed.
func (h *Hub) Drain(ctx context.Context, within time.Duration) error {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	for _, c := range h.everybody() {
		c.departAnswered(CloseDrain, min(within, longestPause))
		h.letWritersBegin()
	}
	late := time.AfterFunc(answersWithin, func() {
		for _, c := range h.everybody() {
			c.departWithin(CloseDrain, min(within, longestPause))
		}
	})
	defer late.Stop()
	gone := make(chan struct{})
	go func() {
		h.serving.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		for _, c := range h.everybody() {
			_ = c.conn.Close()
		}
		<-gone // a closed connection ends its reader and its writer at once
		return ctx.Err()
	}
}
