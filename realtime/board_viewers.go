package realtime

import (
	"maps"
	"slices"
	"sync"

	"stampede/app/board"
	"stampede/app/shop"
)

// boardViewers are the connections of this node that watch the operators' board. Each board is encoded once for all
// viewers. A new board replaces a board that is still queued.
type boardViewers struct {
	conns *connections

	mu       sync.Mutex
	watchers map[*client]struct{}
}

type boardEvent struct {
	Ev string `json:"ev"`
	*board.Board
}

type boardReply struct {
	Now     shop.Millis   `json:"now"`
	History []board.Point `json:"history"`
}

// opBoard starts or stops the live board for an operator. The reply to a start is the history; then a board follows
// every second.
func opBoard(c *client, ctx *opContext, r *request) (any, error) {
	if err := requireOperator(c); err != nil {
		return nil, err
	}
	if c.hub.options.BoardHistory == nil {
		return nil, shop.Fail(shop.UnknownOp, "this node does not serve the board")
	}
	switch string(r.raw("on")) {
	case "true":
		points := c.hub.options.BoardHistory(ctx)
		c.hub.joinBoard(c, encode(reply{r.id, boardReply{c.hub.options.Shop.Now(), points}}))
		return sent, nil
	case "false":
		c.hub.leaveBoard(c)
		return empty{}, nil
	}
	return nil, shop.Fail(shop.BadRequest, "on must be true or false")
}

// requireOperator returns an error unless the user is an operator with a valid token.
func requireOperator(c *client) error {
	if _, err := c.buyer(); err != nil {
		return err
	}
	if identity := c.currentIdentity(); !identity.Role.IsOperator() {
		return shop.Fail(shop.Forbidden, "only operators may watch the board")
	}
	return nil
}

// joinBoard sends the reply under the lock, so that no board precedes it.
func (v *boardViewers) joinBoard(c *client, reply []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c.send(reply)
	v.watchers[c] = struct{}{}
}

// leaveBoard removes a watcher. A board that is already queued is still delivered.
func (v *boardViewers) leaveBoard(c *client) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.watchers, c)
}

// BoardWatched reports whether the board has watchers on this node.
func (v *boardViewers) BoardWatched() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.watchers) > 0
}

// ShowBoard queues the board for all watchers that are still operators and removes the others.
func (v *boardViewers) ShowBoard(b *board.Board) {
	v.mu.Lock()
	watchers := slices.Collect(maps.Keys(v.watchers))
	v.mu.Unlock()
	frame := newPreparedMessage(encode(boardEvent{"board", b}))
	for _, c := range watchers {
		if requireOperator(c) != nil {
			v.leaveBoard(c)
			continue
		}
		c.offerHint("board", frame)
		v.conns.waitForWriters()
	}
}
