package realtime

import (
	"strings"

	"stampede/app"
)

// hearing is what is special about a connection's personal events. Nearly all connections have none: their frames carry
// the node's proven instant, because this node has given them all that came since they said hello. It is guarded by the
// client's mutex.
type hearing struct {
	greets bool     // hello is under way: events wait in held until it is answered
	held   []string // frames without a cursor
	from   Cursor   // what frames carry instead of the proven instant
	owed   bool     // rows since from are yet to be read; until then no frame may carry a later instant
}

// tell queues an order event of a user, unless the connection is no longer that user's. The frame has no cursor yet.
func (c *client) tell(user app.ID, frame string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.identity.User != user: // its hello has failed meanwhile
	case c.hearing != nil && c.hearing.greets:
		c.holdLocked(frame)
	default:
		c.tellLocked(frame)
	}
}

// holdLocked keeps an event until hello is answered.
func (c *client) holdLocked(frame string) {
	if len(c.hearing.held) >= maxQueued {
		c.departLocked(CloseSlow, retryLatest) // it did not get any of them, and comes back with the cursor that it has
		return
	}
	c.hearing.held = append(c.hearing.held, strings.Clone(frame)) // not the whole message with it
}

func (c *client) tellLocked(frame string) {
	cursor, ok := c.cursorLocked()
	if !ok {
		c.departLocked(CloseResync, retryLatest)
		return
	}
	c.sendLocked(withCursor(frame, cursor))
	c.hub.metrics.events.Inc()
}

// cursorLocked is the cursor of the next personal event: up to there everything is queued before it. False: what the
// client knows is of a history of the database that is over.
func (c *client) cursorLocked() (string, bool) {
	proven := c.hub.proven.Load()
	if p := c.hearing; p != nil {
		if p.owed || proven == nil || proven.History != p.from.History {
			return p.from.String(), true
		}
		c.hearing = nil
	}
	if proven == nil {
		return "", false
	}
	return proven.text, true
}

// settleLocked goes on from an instant at which the client knew everything: the node's proven instant takes over, as
// soon as it is of the same history. Which of two is the present one, the next resync finds out.
func (c *client) settleLocked(at Cursor) {
	c.hearing = nil
	proven := c.hub.proven.Load()
	if proven == nil || proven.History != at.History {
		c.hearing = &hearing{from: at}
	}
	if proven != nil && proven.History != at.History {
		c.hub.breakOff("a hello was told another history of the database")
	}
}

// leaveHistory ends a connection whose client knows orders of another history of the database than the present one; its
// cursor says so in its next hello. One whose rows are yet to be read is told when they are.
func (c *client) leaveHistory(present string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stays := c.hub.proven.Load() != nil // who goes with the proven instant
	if p := c.hearing; p != nil {
		stays = p.greets || p.owed || p.from.History == present
	}
	if c.identity.User != 0 && !stays {
		c.departLocked(CloseResync, retryLatest)
	}
}

// withCursor puts the cursor behind the first field, `ev`, of an event.
func withCursor(event, cursor string) []byte {
	first, rest, _ := strings.Cut(event, ",")
	b := make([]byte, 0, len(event)+len(cursor)+len(`,"cursor":""`))
	return appendAll(b, first, `,"cursor":"`, cursor, `",`, rest)
}
