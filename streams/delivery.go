package streams

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// Delivery tells how far the consumers of a partition are. The state is read last: if Redis began another history
// before the other reads, nobody has confirmed it yet, and nothing is told.
func (l *Inventory) Delivery(ctx context.Context, partition int) (app.Delivery, error) {
	k, err := l.keys(partition)
	if err != nil {
		return app.Delivery{}, err
	}
	var stream *redis.XInfoStreamCmd
	var groups *redis.XInfoGroupsCmd
	var pending *redis.XPendingCmd
	_, err = l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		stream, groups = p.XInfoStream(ctx, k.orders), p.XInfoGroups(ctx, k.orders)
		pending = p.XPending(ctx, k.orders, group)
		return nil
	})
	if err != nil {
		return app.Delivery{}, fmt.Errorf("look at the consumers of partition %d: %w", partition, transient(err))
	}
	var d app.Delivery
	d.Newest, _ = entryID(stream.Val().LastGeneratedID)
	if pending.Val().Count > 0 {
		d.Open, _ = entryID(pending.Val().Lower)
	}
	for _, g := range groups.Val() {
		last, _ := entryID(g.LastDeliveredID)
		if g.Name == group && last != d.Newest && d.Open == (app.EntryID{}) {
			// the next one, or one before it, is not delivered
			d.Open = app.EntryID{Time: last.Time, Number: last.Number + 1}
		}
	}
	state, err := l.State(ctx, partition)
	switch {
	case err != nil:
		return app.Delivery{}, err
	case !state.Exists, state.Rebuilding, state.History != state.Confirmed:
		return app.Delivery{}, fmt.Errorf("%w: nobody has looked yet whether Redis has all of partition %d",
			app.ErrTransient, partition)
	}
	d.Epoch = state.Epoch
	return d, nil
}
