package streams

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// claimIdle takes over entries that have been idle for longer than any living consumer leaves them, and handles
// them. The delivery counts do not rise by it: nobody failed.
func (c *Consumer) claimIdle(ctx context.Context) error {
	if time.Now().Before(c.claimAt) {
		return nil
	}
	entries, err := c.claim(ctx)
	if err != nil {
		return err
	}
	if c.claimFrom == claimStart {
		c.claimAt = time.Now().Add(c.goneIdle() / 2)
	}
	if len(entries) == 0 {
		return nil
	}
	c.inventory.metrics.claimed.Add(float64(len(entries)))
	slog.InfoContext(ctx, "claimed entries of a consumer that is gone", "partition", c.partition, "entries",
		len(entries), "entry", entries[0].StreamID, "order", entries[0].Order)
	return c.process(ctx, entries)
}

// goneIdle is how long entries must be idle to be taken from a worker that says nothing any more: longer than a living
// one leaves them (see process), so that one that works and cannot say so loses nothing to others.
func (c *Consumer) goneIdle() time.Duration {
	if c.options.Workers == nil {
		return c.options.ClaimIdle
	}
	return c.options.ClaimIdle / 2
}

// claim takes over the claimable entries of the next page that has any. It continues where the last call stopped and
// begins again after the last page, so that idle entries that wait for a retry do not hide the ones behind them.
func (c *Consumer) claim(ctx context.Context) ([]app.Entry, error) {
	var ids []string
	for more := true; more && len(ids) == 0; more = c.claimFrom != claimStart {
		pending, err := c.inventory.client.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: c.keys.orders, Group: group, Idle: c.goneIdle(), Start: c.claimFrom, End: "+",
			Count: c.options.Batch,
		}).Result()
		if err != nil && !noGroup(err) {
			return nil, fmt.Errorf("look for idle entries: %w", transient(err))
		}
		c.claimFrom = claimStart
		if err != nil {
			return nil, c.ensureGroup(ctx)
		}
		if n := len(pending); int64(n) == c.options.Batch {
			c.claimFrom = followingID(pending[n-1].ID)
		}
		for _, p := range pending {
			_, mine := c.later[p.ID]
			if !mine && (p.Idle >= c.options.ClaimIdle || c.options.Workers.gone(p.Consumer)) {
				ids = append(ids, p.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	// Redis checks the idle time once more: of two who claim at once, one gets the entry.
	ids, err := c.inventory.client.XClaimJustID(ctx, &redis.XClaimArgs{
		Stream: c.keys.orders, Group: group, Consumer: c.name, MinIdle: c.goneIdle(), Messages: ids,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("claim idle entries: %w", transient(err))
	}
	refs := make([]entryRef, len(ids))
	for i, id := range ids {
		refs[i] = entryRef{c.partition, id}
	}
	return c.inventory.fetch(ctx, refs)
}

// renew keeps others from claiming entries that are still being worked on. A failure is left to the next time:
// the worst that comes of it is that someone does the same once more.
func (c *Consumer) renew(ctx context.Context, entries []app.Entry) {
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].StreamID
	}
	_ = c.inventory.client.XClaimJustID(ctx, &redis.XClaimArgs{
		Stream: c.keys.orders, Group: group, Consumer: c.name, Messages: ids,
	}).Err()
}
