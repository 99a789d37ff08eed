package realtime

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// personal is how far a connection has read its user's log. It is guarded by the client's mutex.
//
// Events come from two sides: hints, which bring the event along, and reads of the log. Both go through take,
// which accepts exactly the next event. So nothing is doubled and nothing is left out, whatever the order in
// which hints and reads arrive; a gap only means that the log has to be read.
type personal struct {
	at     Cursor // the last event that was queued for this connection
	greets bool   // hello is under way: events are not taken, only noted as behind
	behind bool   // there may be more in the log than was taken
}

// hear offers an event that a hint brought along. It reports whether the log has to be read.
func (c *client) hear(h *hint) (behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch p := &c.personal; {
	case c.identity.User != h.user || p.at.covers(h.cursor):
		return false
	case !p.greets && !p.behind && c.takeLocked(&h.kept):
		return false
	default:
		p.behind = true
		return !p.greets
	}
}

// takeLocked queues the event if it is the very next one.
func (c *client) takeLocked(k *kept) bool {
	if !c.personal.at.followedBy(k.cursor) {
		return false
	}
	c.personal.at = k.cursor
	c.sendLocked(k.event.frame(k.cursor))
	c.hub.metrics.events.Inc()
	return true
}

// read takes what the log holds after the cursor it was asked for. A log that broke off ends the
// connection: with its cursor the client learns of the reset in its next hello.
func (c *client) read(s span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.personal.behind = false
	if s.reset {
		c.departLocked(CloseResync, retryLatest)
		return
	}
	for i := range s.events {
		k := &s.events[i]
		if c.personal.at.covers(k.cursor) {
			continue
		}
		if !c.takeLocked(k) {
			c.personal.behind = true // hints overtook the read across a new log; read again
			c.hub.behind.add(c)
			return
		}
	}
}

// question asks the log for what this connection has not taken yet; false: it has no user or is not ready.
func (c *client) question() (question, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.personal
	if c.gone || c.out.closing != 0 || p.greets || p.at.isZero() {
		return question{}, false
	}
	p.behind = true // hints wait until the read is in
	return question{user: c.identity.User, after: p.at}, true
}

// heardEvents gives the events of a message to their users' connections.
func (h *Hub) heardEvents(hints []hint) {
	for i := range hints {
		for _, c := range h.devices(hints[i].user) {
			if c.hear(&hints[i]) {
				h.behind.add(c)
			}
		}
	}
}

func (h *Hub) heardNotice(n noticeEvent) { h.say(n) }

// heardNothing has every log read: hints may have been lost.
func (h *Hub) heardNothing() {
	h.metrics.resyncs.Inc()
	for _, c := range h.everybody() {
		h.behind.add(c)
	}
}

// behindQueue holds the connections whose log has to be read, each once.
type behindQueue struct {
	mu      sync.Mutex
	waiting map[*client]struct{}
	signal  chan struct{}
}

func newBehindQueue() behindQueue {
	return behindQueue{waiting: make(map[*client]struct{}), signal: make(chan struct{}, 1)}
}

func (q *behindQueue) add(c *client) {
	q.mu.Lock()
	q.waiting[c] = struct{}{}
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// takeSome takes out at most n.
func (q *behindQueue) takeSome(n int) []*client {
	q.mu.Lock()
	defer q.mu.Unlock()
	some := make([]*client, 0, min(n, len(q.waiting)))
	for c := range q.waiting {
		if len(some) == n {
			break
		}
		some = append(some, c)
		delete(q.waiting, c)
	}
	return some
}

const (
	catchUpBatch = 64 // logs per read
	catchUpPause = 200 * time.Millisecond
)

// catchUp reads the logs of connections that are behind, in batches, until ctx ends.
func (h *Hub) catchUp(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.behind.signal:
		}
		for some := h.behind.takeSome(catchUpBatch); len(some) > 0; some = h.behind.takeSome(catchUpBatch) {
			err := h.catchUpSome(ctx, some)
			if err == nil {
				continue
			}
			if ctx.Err() == nil {
				slog.WarnContext(ctx, "read personal logs; trying again", "err", err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(catchUpPause):
			}
		}
	}
}

func (h *Hub) catchUpSome(ctx context.Context, some []*client) error {
	readers := make([]*client, 0, len(some))
	questions := make([]question, 0, len(some))
	for _, c := range some {
		if q, ok := c.question(); ok {
			readers = append(readers, c)
			questions = append(questions, q)
		}
	}
	if len(questions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.options.OpWithin)
	defer cancel()
	spans, err := h.log.Since(ctx, questions...)
	if err != nil {
		for _, c := range readers {
			h.behind.add(c)
		}
		return err
	}
	for i, c := range readers {
		c.read(spans[i])
	}
	return nil
}
