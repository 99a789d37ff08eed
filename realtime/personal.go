package realtime

import (
	"strings"

	"stampede/app/shop"
)

// hearing is the special state of a connection's personal events. Nearly all have none: their frames carry the node's
// proven instant, because this node has sent all events since their hello. The client's mutex guards it.
type hearing struct {
	greets bool     // hello is under way: events wait in held until it is answered
	held   []string // frames without a cursor
	from   Cursor   // what frames carry instead of the proven instant
	owed   bool     // rows since from are yet to be read; until then no frame may carry a later instant
}

// tell queues an order event, without its cursor, unless the connection is no longer the user's.
func (c *client) tell(user shop.ID, frame string) {
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
		c.departLocked(CloseSlow, retryLatest) // it received none of them and returns with its old cursor
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

// cursorLocked returns the cursor of the next personal event; all events up to it are queued before. False: the
// client's orders are of an earlier history of the database.
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

// settleLocked continues from an instant up to which the client knows everything. The node's proven instant takes over
// once it is of the same history; the next resync finds out which history is the present one.
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

// leaveHistory ends a connection whose client knows orders of another history; its next hello is reset. One that is
// still owed rows continues: its replay decides.
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

// withCursor inserts the cursor after the field `ev` of an event.
func withCursor(event, cursor string) []byte {
	first, rest, _ := strings.Cut(event, ",")
	b := make([]byte, 0, len(event)+len(cursor)+len(`,"cursor":""`))
	return appendAll(b, first, `,"cursor":"`, cursor, `",`, rest)
}
