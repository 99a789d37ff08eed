package realtime

import (
	"maps"
	"slices"
	"sync"

	"stampede/app"
)

// liveBoard is who looks at the board of operators on this node. The board is encoded once for all of them, and the
// newest wins: whoever has not taken one gets the next in its place.
type liveBoard struct {
	mu       sync.Mutex
	watchers map[*client]struct{}
}

type boardEvent struct {
	Ev string `json:"ev"`
	*app.Board
}

type boardReply struct {
	Now     app.Millis       `json:"now"`
	History []app.BoardPoint `json:"history"`
}

// watchBoard begins or ends the feed of the live board, which is for operators. The history is told once; a board comes
// every second from then on.
func (c *client) watchBoard(ctx *opContext, r *request) (any, error) {
	if err := c.operator(); err != nil {
		return nil, err
	}
	if c.hub.options.BoardHistory == nil {
		return nil, app.Fail(app.UnknownOp, "this node shows no board")
	}
	on, failed := r.flag("on")
	if failed != nil {
		return nil, failed
	}
	if !on {
		c.hub.leaveBoard(c)
		return empty{}, nil
	}
	points := c.hub.options.BoardHistory(ctx)
	c.hub.joinBoard(c, encode(reply{r.id, boardReply{c.hub.shop.Now(), points}}))
	return sent, nil
}

// operator reports whether the connection is one of somebody who looks after the shop, and whose token still holds.
func (c *client) operator() error {
	if _, err := c.buyer(); err != nil {
		return err
	}
	if who := c.who(); !who.Role.Operates() {
		return app.Fail(app.Forbidden, "this is for operators")
	}
	return nil
}

// joinBoard sends the reply in the same step, so that no board comes before it.
func (h *Hub) joinBoard(c *client, reply []byte) {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	c.send(reply)
	h.live.watchers[c] = struct{}{}
}

// leaveBoard forgets the watcher. One that was given the board a moment ago may still get it.
func (h *Hub) leaveBoard(c *client) {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	delete(h.live.watchers, c)
}

// BoardWatched reports whether anybody on this node looks at the board.
func (h *Hub) BoardWatched() bool {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	return len(h.live.watchers) > 0
}

// ShowBoard offers the board to all who look at it and still may: who was an operator may be none any more.
func (h *Hub) ShowBoard(b *app.Board) {
	h.live.mu.Lock()
	watchers := slices.Collect(maps.Keys(h.live.watchers))
	h.live.mu.Unlock()
	frame := prepared(encode(boardEvent{"board", b}))
	for _, c := range watchers {
		if c.operator() != nil {
			h.leaveBoard(c)
			continue
		}
		c.offerNews("board", frame)
		h.letWritersBegin()
	}
}

// Sizes are how many connections this node has, and of how many users.
func (h *Hub) Sizes() (sockets, users int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients), len(h.users)
}
