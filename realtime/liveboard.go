package realtime

import (
	"maps"
	"slices"
	"sync"

	"stampede/app/board"
	"stampede/app/shop"
)

// liveBoard holds the connections of this node that watch the operators' board. Each board is encoded once for all
// watchers. A new board replaces a board that is still queued.
type liveBoard struct {
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

// watchBoard starts or stops the live board for an operator. The reply to a start is the history; then a board follows
// every second.
func (c *client) watchBoard(ctx *opContext, r *request) (any, error) {
	if err := c.requireOperator(); err != nil {
		return nil, err
	}
	if c.hub.options.BoardHistory == nil {
		return nil, shop.Fail(shop.UnknownOp, "this node does not serve the board")
	}
	switch string(r.raw("on")) {
	case "true":
		points := c.hub.options.BoardHistory(ctx)
		c.hub.joinBoard(c, encode(reply{r.id, boardReply{c.hub.shop.Now(), points}}))
		return sent, nil
	case "false":
		c.hub.leaveBoard(c)
		return empty{}, nil
	}
	return nil, shop.Fail(shop.BadRequest, "on must be true or false")
}

// requireOperator returns an error unless the user is an operator with a valid token.
func (c *client) requireOperator() error {
	if _, err := c.buyer(); err != nil {
		return err
	}
	if identity := c.currentIdentity(); !identity.Role.IsOperator() {
		return shop.Fail(shop.Forbidden, "only operators may watch the board")
	}
	return nil
}

// joinBoard sends the reply under the lock, so that no board precedes it.
func (h *Hub) joinBoard(c *client, reply []byte) {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	c.send(reply)
	h.live.watchers[c] = struct{}{}
}

// leaveBoard removes a watcher. A board that is already queued is still delivered.
func (h *Hub) leaveBoard(c *client) {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	delete(h.live.watchers, c)
}

// BoardWatched reports whether the board has watchers on this node.
func (h *Hub) BoardWatched() bool {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	return len(h.live.watchers) > 0
}

// ShowBoard queues the board for all watchers that are still operators and removes the others.
func (h *Hub) ShowBoard(b *board.Board) {
	h.live.mu.Lock()
	watchers := slices.Collect(maps.Keys(h.live.watchers))
	h.live.mu.Unlock()
	frame := newPreparedMessage(encode(boardEvent{"board", b}))
	for _, c := range watchers {
		if c.requireOperator() != nil {
			h.leaveBoard(c)
			continue
		}
		c.offerHint("board", frame)
		h.waitForWriters()
	}
}

// Sizes returns the numbers of connections and users of this node.
func (h *Hub) Sizes() (sockets, users int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients), len(h.users)
}
