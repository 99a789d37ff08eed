package streams

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// claimIdle takes over and handles idle entries whose consumer counts as dead. Their delivery counts do not increase.
func (c *Consumer) claimIdle(ctx context.Context) error {
	if time.Now().Before(c.nextClaim) {
		return nil
	}
	entries, err := c.claim(ctx)
	if err != nil {
		return err
	}
	if c.claimFrom == claimStart {
		c.nextClaim = time.Now().Add(c.minClaimIdle() / 2)
	}
	if len(entries) == 0 {
		return nil
	}
	c.conn.metrics.claimed.Add(float64(len(entries)))
	slog.InfoContext(ctx, "claimed entries of a stopped consumer", "partition", c.partition, "entries",
		len(entries), "entry", entries[0].StreamID, "order", entries[0].Order)
	return c.process(ctx, entries)
}

// minClaimIdle is the idle time after which entries of a silent worker are taken over. A live worker renews its claims
// earlier (see process).
func (c *Consumer) minClaimIdle() time.Duration {
	if c.options.Workers == nil {
		return c.options.ClaimIdle
	}
	return c.options.ClaimIdle / 2
}

// claim takes over entries of the next page with claimable entries. It continues where the last call stopped, so that
// idle entries that wait for a retry do not hide later ones.
func (c *Consumer) claim(ctx context.Context) ([]shop.Entry, error) {
	var ids []string
	for more := true; more && len(ids) == 0; more = c.claimFrom != claimStart {
		pending, err := c.conn.client.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: c.keys.orders, Group: group, Idle: c.minClaimIdle(), Start: c.claimFrom, End: "+",
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
			_, waitsForRetry := c.retries[p.ID]
			if !waitsForRetry && (p.Idle >= c.options.ClaimIdle || c.options.Workers.isUnregistered(p.Consumer)) {
				ids = append(ids, p.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	// Redis checks the idle time again: of two concurrent claims, one gets the entry.
	ids, err := c.conn.client.XClaimJustID(ctx, &redis.XClaimArgs{
		Stream: c.keys.orders, Group: group, Consumer: c.name, MinIdle: c.minClaimIdle(), Messages: ids,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("claim idle entries: %w", transient(err))
	}
	refs := make([]entryRef, len(ids))
	for i, id := range ids {
		refs[i] = entryRef{c.partition, id}
	}
	return Queue{c.conn}.fetch(ctx, refs)
}

// renew prevents claims of entries that are being processed. A failure is ignored: at worst another consumer repeats
// the work.
func (c *Consumer) renew(ctx context.Context, entries []shop.Entry) {
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].StreamID
	}
	_ = c.conn.client.XClaimJustID(ctx, &redis.XClaimArgs{
		Stream: c.keys.orders, Group: group, Consumer: c.name, Messages: ids,
	}).Err()
}
