package realtime

import (
	"strings"

	"stampede/app/shop"
)

// personalState is the state of a connection whose personal events do not carry the node's proven instant as their
// cursor. Most connections have no such state: this node has sent all events since their hello, so their events carry
// the proven instant. The mutex of the client guards personalState.
type personalState struct {
	helloRunning bool     // hello is running: events wait in the field held until the reply
	held         []string // events without a cursor
	from         Cursor   // cursor of events, instead of the proven instant
	rowsPending  bool     // rows since the cursor from are still to be read; until then, no event has a later cursor
}

// queueEvent queues an order event that has no cursor yet, unless the connection no longer belongs to the user.
func (c *client) queueEvent(user shop.ID, frame string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.identity.User != user: // hello failed in the meantime
	case c.state != nil && c.state.helloRunning:
		c.bufferEventLocked(frame)
	default:
		c.sendEventLocked(frame)
	}
}

// bufferEventLocked keeps an event until the reply to hello.
func (c *client) bufferEventLocked(frame string) {
	if len(c.state.held) >= maxQueued {
		c.startCloseLocked(CloseSlow, maxRetryDelay) // the client received no event and returns with its old cursor
		return
	}
	c.state.held = append(c.state.held, strings.Clone(frame)) // do not keep the whole message alive
}

func (c *client) sendEventLocked(frame string) {
	cursor, ok := c.cursorLocked()
	if !ok {
		c.startCloseLocked(CloseResync, maxRetryDelay)
		return
	}
	c.sendLocked(withCursor(frame, cursor))
	c.hub.metrics.events.Inc()
}

// cursorLocked returns the cursor of the next personal event; all events up to this cursor are already queued. It
// returns false if the client's orders belong to an earlier history of the database.
func (c *client) cursorLocked() (string, bool) {
	proven := c.hub.proven.Load()
	if p := c.state; p != nil {
		if p.rowsPending || proven == nil || proven.History != p.from.History {
			return p.from.String(), true
		}
		c.state = nil
	}
	if proven == nil {
		return "", false
	}
	return proven.text, true
}

// settleLocked continues from an instant up to which the client has all changes. If the node's proven instant belongs
// to the same history, the next events carry the proven instant. Otherwise, a resync determines which history is
// current.
func (c *client) settleLocked(at Cursor) {
	c.state = nil
	proven := c.hub.proven.Load()
	if proven == nil || proven.History != at.History {
		c.state = &personalState{from: at}
	}
	if proven != nil && proven.History != at.History {
		c.hub.recordGap("a hello read rows of another history of the database")
	}
}

// closeIfOtherHistory closes a connection whose client has orders of another history. The reply to its next hello has
// the field `reset`. A connection whose rows are still to be read stays open: replay decides whether to close it.
func (c *client) closeIfOtherHistory(current string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := c.hub.proven.Load() != nil // the events of this connection carry the proven instant
	if p := c.state; p != nil {
		keep = p.helloRunning || p.rowsPending || p.from.History == current
	}
	if c.identity.User != 0 && !keep {
		c.startCloseLocked(CloseResync, maxRetryDelay)
	}
}

// withCursor inserts the cursor after the field `ev` of an event.
func withCursor(event, cursor string) []byte {
	first, rest, _ := strings.Cut(event, ",")
	b := make([]byte, 0, len(event)+len(cursor)+len(`,"cursor":""`))
	return appendAll(b, first, `,"cursor":"`, cursor, `",`, rest)
}
