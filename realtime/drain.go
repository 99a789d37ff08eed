package realtime

import (
	"context"
	"time"
)

// longestPause keeps a drained client from being away for longer, however long the drain may take.
const longestPause = 5 * time.Second

// answersWithin is how long a drain waits for the answer to an op under way.
const answersWithin = 3 * time.Second

// Drain ends all connections: no new ones are taken, everybody hears `bye` with an own pause of at most within (and at
// most 5 s) before coming back elsewhere, then a close frame. Whoever has an op under way hears its answer before that:
// a press of Buy would have to be repeated after the pause. It returns when all connections have ended; when
// ctx ends it closes the rest and returns the error of ctx. Run must still be running, so that no event is missed.
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
