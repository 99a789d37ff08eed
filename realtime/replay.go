package realtime

import (
	"context"
	"log/slog"
	"slices"

	"stampede/app"
)

// readersAtOnce is how many reads for hellos are under way at once.
const readersAtOnce = 2

// replayAsk is what one hello wants to know: what has changed for a user.
type replayAsk struct {
	ctx    context.Context // when it has ended nobody waits any more
	query  app.ChangesQuery
	answer chan missedRows // has room for the answer
}

// missedRows is what the rows say.
type missedRows struct {
	changes app.Changes
	at      Cursor // when they were read
	err     error
}

// ask waits for an answer, or for the end of ctx, or of the time that a read may take: then nothing is known.
func (h *Hub) ask(ctx context.Context, query app.ChangesQuery) (missedRows, error) {
	ctx, cancel := context.WithTimeout(ctx, h.options.ReadWithin)
	defer cancel()
	ask := &replayAsk{ctx, query, make(chan missedRows, 1)}
	h.hellos.add(ask)
	select {
	case r := <-ask.answer:
		return r, r.err
	case <-ctx.Done():
		return missedRows{}, ctx.Err()
	}
}

// answerHellos reads rows for hellos. Why it cannot, they hear.
func (h *Hub) answerHellos(ctx context.Context, asks []*replayAsk) error {
	asks = slices.DeleteFunc(asks, func(ask *replayAsk) bool { return ask.ctx.Err() != nil })
	if len(asks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.options.ReadWithin)
	defer cancel()
	queries := make([]app.ChangesQuery, len(asks))
	for i, ask := range asks {
		queries[i] = ask.query
	}
	changes, at, err := h.changed(ctx, queries)
	for i, ask := range asks {
		r := missedRows{at: at, err: err}
		if err == nil {
			r.changes = changes[i]
			h.metrics.replays.Inc()
		}
		ask.answer <- r
	}
	return nil
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

// replayOwed reads the rows of connections that are owed them, as often as it takes.
func (h *Hub) replayOwed(ctx context.Context, some []*client) error {
	return again(ctx, func() error { return h.replaySome(ctx, some) })
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
	changes, at, err := h.changed(ctx, queries)
	if err != nil {
		return err
	}
	h.metrics.replays.Add(float64(len(queries)))
	slog.InfoContext(ctx, "rows that could not be read before are told", "connections", len(debtors))
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
