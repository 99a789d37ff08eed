package realtime

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
)

const (
	groupUsers   = 200 // users per statement
	groupsAtOnce = 2   // concurrent statements of a resync
	maxChanges   = 100 // orders per user sent as events; with more, the client reads `orders`
)

// changed reads the changed rows of each query. It also returns an instant that was read before the rows, with the
// history of the database.
func (p *personalEvents) changed(ctx context.Context, queries []shop.ChangesQuery) ([]shop.Changes, Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.OpWithin)
	defer cancel()
	changes, at, err := p.options.Orders.Changed(ctx, queries, maxChanges)
	if err == nil && len(changes) != len(queries) {
		err = fmt.Errorf("got rows of %d users, want %d: %w", len(changes), len(queries), shop.ErrPermanent)
	}
	if err != nil {
		return nil, Cursor{}, fmt.Errorf("read changes of %d users: %w", len(queries), err)
	}
	return changes, Cursor(at), nil
}

// sendRows queues changes since an instant for the connections of the users, in groups. A group that cannot be read is
// retried until ctx ends. Another database history is an error.
func (p *personalEvents) sendRows(ctx context.Context, users []shop.ID, since shop.Millis, history string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(groupsAtOnce)
	for group := range slices.Chunk(users, groupUsers) {
		g.Go(func() error {
			return retryRead(ctx, func() error { return p.sendGroup(ctx, group, since, history) })
		})
	}
	return g.Wait()
}

// retryRead retries with growing delays until success, the end of ctx, or another database history.
func retryRead(ctx context.Context, read func() error) error {
	for wait := minReadRetry; ; wait = min(2*wait, maxReadRetry) {
		err := read()
		if err == nil || err == errOtherHistory {
			return err
		}
		if ctx.Err() == nil {
			slog.WarnContext(ctx, "cannot read changed rows; trying again", "err", err)
		}
		if !shop.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// sendGroup reads and queues the changes of those users that are still connected.
func (p *personalEvents) sendGroup(ctx context.Context, users []shop.ID, since shop.Millis, history string) error {
	queries := make([]shop.ChangesQuery, 0, len(users))
	for _, user := range users {
		if len(p.conns.devices(user)) > 0 {
			queries = append(queries, shop.ChangesQuery{User: user, Since: since})
		}
	}
	if len(queries) == 0 {
		return nil
	}
	changes, at, err := p.changed(ctx, queries)
	if err != nil {
		return err
	}
	if at.History != history {
		return errOtherHistory
	}
	for i := range changes {
		p.sendChanges(queries[i].User, &changes[i])
		p.conns.waitForWriters()
	}
	return nil
}

// sendChanges queues the changes of a user. With too many changes it closes the user's connections for a new hello,
// whose reply makes the client read `orders`.
func (p *personalEvents) sendChanges(user shop.ID, changes *shop.Changes) {
	devices := p.conns.devices(user)
	if changes.More {
		for _, c := range devices {
			c.startClose(CloseResync)
		}
		return
	}
	for i := range changes.Orders {
		frame := string(OrderFrame(&changes.Orders[i]))
		for _, c := range devices {
			c.queueEvent(user, frame)
		}
	}
}
