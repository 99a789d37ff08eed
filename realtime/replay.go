package realtime

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"stampede/app/shop"
)

// readersAtOnce is the number of concurrent reads of rows for the op `hello`.
const readersAtOnce = 2

// replayRequest is a request for the changes of a user. The op `hello` of a connection creates it.
type replayRequest struct {
	ctx    context.Context // context of the op
	query  shop.ChangesQuery
	result chan missedRows // capacity 1
}

type missedRows struct {
	changes shop.Changes
	at      Cursor // instant before the read
	err     error
}

// requestRows queues a read of rows and waits for the result, at most ReadWithin.
func (p *personalEvents) requestRows(ctx context.Context, query shop.ChangesQuery) (missedRows, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadWithin)
	defer cancel()
	req := &replayRequest{ctx, query, make(chan missedRows, 1)}
	p.helloQueue.add(req)
	select {
	case r := <-req.result:
		return r, r.err
	case <-ctx.Done():
		return missedRows{}, ctx.Err()
	}
}

// serveHellos reads the rows for several requests in one statement. Each request receives its rows or the error.
func (p *personalEvents) serveHellos(ctx context.Context, reqs []*replayRequest) error {
	reqs = slices.DeleteFunc(reqs, func(req *replayRequest) bool { return req.ctx.Err() != nil })
	if len(reqs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadWithin)
	defer cancel()
	queries := make([]shop.ChangesQuery, len(reqs))
	for i, req := range reqs {
		queries[i] = req.query
	}
	changes, at, err := p.changed(ctx, queries)
	for i, req := range reqs {
		r := missedRows{at: at, err: err}
		if err == nil {
			r.changes = changes[i]
			p.metrics.replays.Inc()
		}
		req.result <- r
	}
	return nil
}

// covers reports whether the rows contain all changes that a client with this cursor may have missed. It returns false
// if there are too many changes, if the database has another history, or if its clock was set back.
func (r *missedRows) covers(after Cursor) bool {
	return !r.changes.More && r.at.History == after.History && r.at.At >= after.At
}

// querySince returns the query for changes since the cursor minus Overlap.
func (p *personalEvents) querySince(user shop.ID, after Cursor) shop.ChangesQuery {
	return shop.ChangesQuery{User: user, Since: after.At.Add(-p.options.Overlap)}
}

// replayPending reads the missed rows of the connections. It retries until it succeeds or ctx ends.
func (p *personalEvents) replayPending(ctx context.Context, batch []*client) error {
	return retryRead(ctx, func() error { return p.replayBatch(ctx, batch) })
}

func (p *personalEvents) replayBatch(ctx context.Context, batch []*client) error {
	pending := make([]*client, 0, len(batch))
	after := make([]Cursor, 0, len(batch))
	queries := make([]shop.ChangesQuery, 0, len(batch))
	for _, c := range batch {
		if user, from, ok := c.missedSince(); ok {
			pending, after = append(pending, c), append(after, from)
			queries = append(queries, p.querySince(user, from))
		}
	}
	if len(queries) == 0 {
		return nil
	}
	changes, at, err := p.changed(ctx, queries)
	if err != nil {
		return err
	}
	p.metrics.replays.Add(float64(len(queries)))
	slog.InfoContext(ctx, "sending rows that could not be read earlier", "connections", len(pending))
	for i, c := range pending {
		c.replay(missedRows{changes: changes[i], at: at}, after[i])
		p.conns.waitForWriters()
	}
	return nil
}

// missedSince returns the user and the cursor of a connection whose missed rows are still to be read.
func (c *client) missedSince() (user shop.ID, from Cursor, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.state; p != nil && p.rowsPending && !c.gone && c.out.closing == 0 {
		return c.identity.User, p.from, true
	}
	return 0, Cursor{}, false
}

// replay queues the missed changes. If they are incomplete, it closes the connection for a new hello.
func (c *client) replay(r missedRows, after Cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.covers(after) {
		c.startCloseLocked(CloseResync, maxRetryDelay)
		return
	}
	for i := range r.changes.Orders {
		c.sendEventLocked(string(OrderFrame(&r.changes.Orders[i])))
	}
	c.settleLocked(r.at)
}

// queue collects requests for reads, oldest first. Requests that arrive during a read share the next read, with at most
// groupUsers per read. A single request is served immediately, and thousands of concurrent requests need only a few
// statements.
type queue[T any] struct {
	mu      sync.Mutex
	waiting []T
	wakeups chan struct{} // one signal per reader
}

func newQueue[T any](readers int) *queue[T] { return &queue[T]{wakeups: make(chan struct{}, readers)} }

func (q *queue[T]) add(batch ...T) {
	q.mu.Lock()
	q.waiting = append(q.waiting, batch...)
	q.mu.Unlock()
	select {
	case q.wakeups <- struct{}{}:
	default: // all readers have a signal
	}
}

// next removes and returns the requests for one read.
func (q *queue[T]) next() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), groupUsers)
	batch := q.waiting[:n:n]
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	return batch
}

// serve calls read for waiting requests, in groups, until ctx ends or read fails.
func (q *queue[T]) serve(ctx context.Context, read func(ctx context.Context, batch []T) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.wakeups:
		}
		for batch := q.next(); len(batch) > 0; batch = q.next() {
			if err := read(ctx, batch); err != nil {
				return err
			}
		}
	}
}
