package realtime

import (
	"context"
	"log/slog"
	"sync"

	"stampede/app"
)

// readersAtOnce is how many reads for hellos are under way at once.
const readersAtOnce = 2

// replayDesk answers all hellos that ask at the same time with one read: while reads are under way others gather, and
// the next read, which begins after they asked, is for all of them. So who comes alone is answered at once, and when
// thousands come back together, the database is not asked once for each.
type replayDesk struct {
	mu     sync.Mutex
	asks   []*replayAsk
	signal chan struct{}
}

// replayAsk is what one hello wants to know: what has changed for a user, or only what time it is.
type replayAsk struct {
	query  app.ChangesQuery
	rows   bool
	answer chan missedRows // has room for the answer, so that nobody waits for who has gone
	gone   bool            // nobody waits any more; guarded by the desk's mutex
}

// missedRows is what the rows say.
type missedRows struct {
	changes app.Changes
	at      Cursor // when they were read
	err     error
}

func newReplayDesk() replayDesk { return replayDesk{signal: make(chan struct{}, readersAtOnce)} }

// ask waits for an answer, or for the end of ctx, or of the time that a read may take: then nothing is known.
func (h *Hub) ask(ctx context.Context, query app.ChangesQuery, rows bool) (missedRows, error) {
	ctx, cancel := context.WithTimeout(ctx, h.options.ReadWithin)
	defer cancel()
	ask := &replayAsk{query: query, rows: rows, answer: make(chan missedRows, 1)}
	desk := &h.desk
	desk.mu.Lock()
	desk.asks = append(desk.asks, ask)
	desk.mu.Unlock()
	select {
	case desk.signal <- struct{}{}:
	default: // as many readers as there are will look
	}
	select {
	case r := <-ask.answer:
		return r, r.err
	case <-ctx.Done():
		desk.mu.Lock()
		ask.gone = true
		desk.mu.Unlock()
		return missedRows{}, ctx.Err()
	}
}

// take takes out what one read is for.
func (d *replayDesk) take() []*replayAsk {
	d.mu.Lock()
	defer d.mu.Unlock()
	var some []*replayAsk
	i := 0
	for ; i < len(d.asks) && len(some) < groupUsers; i++ {
		if ask := d.asks[i]; !ask.gone {
			some = append(some, ask)
		}
	}
	if d.asks = d.asks[i:]; len(d.asks) == 0 {
		d.asks = nil
	}
	return some
}

// answerHellos reads rows for hellos until ctx ends.
func (h *Hub) answerHellos(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.desk.signal:
		}
		for asks := h.desk.take(); len(asks) > 0; asks = h.desk.take() {
			h.answerSome(ctx, asks)
		}
	}
}

func (h *Hub) answerSome(ctx context.Context, asks []*replayAsk) {
	ctx, cancel := context.WithTimeout(ctx, h.options.ReadWithin)
	defer cancel()
	var queries []app.ChangesQuery
	for _, ask := range asks {
		if ask.rows {
			queries = append(queries, ask.query)
		}
	}
	var changes []app.Changes
	var at Cursor
	var err error
	if len(queries) == 0 {
		at, err = h.clock(ctx)
	} else {
		changes, at, err = h.replayed(ctx, queries)
	}
	for _, ask := range asks {
		r := missedRows{at: at, err: err}
		if ask.rows && err == nil {
			r.changes, changes = changes[0], changes[1:]
		}
		ask.answer <- r
	}
}

// replayed reads rows for connections that came with a cursor.
func (h *Hub) replayed(ctx context.Context, queries []app.ChangesQuery) ([]app.Changes, Cursor, error) {
	changes, at, err := h.changed(ctx, queries)
	if err == nil {
		h.metrics.replays.Add(float64(len(queries)))
	}
	return changes, at, err
}

// follows reports whether rows that were read at an instant tell all that a client with this cursor may have missed.
// Not so when there are too many, when another history of the database answers, or when its clock has gone back since.
func (r *missedRows) follows(after Cursor) bool {
	return !r.changes.More && r.at.History == after.History && r.at.At >= after.At
}

// querySince asks for what has changed since a cursor, and a little before.
func (h *Hub) querySince(user app.ID, after Cursor) app.ChangesQuery {
	return app.ChangesQuery{User: user, Since: after.At.Add(-h.options.Overlap)}
}

// replayOwed reads the rows of connections whose hello could not have them read, until ctx ends.
func (h *Hub) replayOwed(ctx context.Context) error {
	return h.owed.each(ctx, func(some []*client) error { return h.replaySome(ctx, some) })
}

func (h *Hub) replaySome(ctx context.Context, some []*client) error {
	debtors := make([]*client, 0, len(some))
	after := make([]Cursor, 0, len(some))
	queries := make([]app.ChangesQuery, 0, len(some))
	for _, c := range some {
		if user, from, ok := c.owes(); ok {
			debtors, after = append(debtors, c), append(after, from)
			queries = append(queries, h.querySince(user, from))
		}
	}
	if len(queries) == 0 {
		return nil
	}
	changes, at, err := h.replayed(ctx, queries)
	if err != nil {
		return err
	}
	slog.InfoContext(ctx, "rows that hellos could not read are told", "connections", len(debtors))
	for i, c := range debtors {
		c.replay(missedRows{changes: changes[i], at: at}, after[i])
		h.letWritersBegin()
	}
	return nil
}

// owes answers whose rows are yet to be read, and since when.
func (c *client) owes() (user app.ID, from Cursor, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.hearing; p != nil && p.owed && !c.gone && c.out.closing == 0 {
		return c.identity.User, p.from, true
	}
	return 0, Cursor{}, false
}

// replay queues what a connection has missed. One that cannot be told all is sent to hello, which says so.
func (c *client) replay(r missedRows, after Cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.follows(after) {
		c.departLocked(CloseResync, retryLatest)
		return
	}
	for i := range r.changes.Orders {
		c.tellLocked(string(OrderFrame(&r.changes.Orders[i])))
	}
	c.settleLocked(r.at)
}
