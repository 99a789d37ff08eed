package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// probeLife is the TTL of the key with which Stats tries a write.
const probeLife = time.Second

// Stats reads the numbers of all partitions' streams, and tries a write in each: Redis may serve reads while it rejects
// writes (MISCONF, OOM, a replica). Unreachable partitions have
// Unreachable set.
func (q Queue) Stats(ctx context.Context) ([]StreamStats, error) {
	now, err := q.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read stream numbers: %w", err)
	}
	read := func(ctx context.Context, some []int) ([]StreamStats, error) { return q.statsOf(ctx, some, now) }
	groups, err := readPartitions(ctx, q.connection, q.all(), readReplyWait, read)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, fmt.Errorf("read stream numbers: %w", err)
	}
	stats := make([]StreamStats, len(q.parts))
	for p := range stats {
		stats[p] = StreamStats{Partition: p, Unreachable: true}
	}
	for _, group := range groups {
		for _, s := range group {
			stats[s.Partition] = s
		}
	}
	return stats, nil
}

// all lists all partitions.
func (c *connection) all() []int {
	all := make([]int, len(c.parts))
	for p := range all {
		all[p] = p
	}
	return all
}

// statsOf reads the numbers of some partitions in one pipeline.
func (q Queue) statsOf(ctx context.Context, partitions []int, now shop.Millis) ([]StreamStats, error) {
	type reads struct {
		groups    *redis.XInfoGroupsCmd
		pending   *redis.XPendingCmd
		meta      *redis.SliceCmd
		length    *redis.IntCmd
		dead      *redis.IntCmd
		probe     *redis.StatusCmd
		deadlines *redis.IntCmd
	}
	cmds := make([]reads, len(partitions))
	_, _ = q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range partitions {
			k := &q.parts[p].keys
			cmds[i] = reads{
				groups: pipe.XInfoGroups(ctx, k.orders), pending: pipe.XPending(ctx, k.orders, group),
				meta:   pipe.HMGet(ctx, k.meta, "waiting", "closed_at"),
				length: pipe.XLen(ctx, k.orders), dead: pipe.XLen(ctx, k.dead),
				probe:     pipe.Set(ctx, k.prefix+"probe", 1, probeLife),
				deadlines: pipe.ZCard(ctx, k.deadlines),
			}
		}
		return nil
	})
	stats, unread, failed := make([]StreamStats, 0, len(partitions)), make(map[int]string), make(map[int]error)
	for i, c := range cmds {
		// If the partition does not exist yet, all commands but the last may fail.
		if err := c.deadlines.Err(); err != nil {
			failed[partitions[i]] = transient(err)
			continue
		}
		s := StreamStats{
			Partition: partitions[i], Length: c.length.Val(), Dead: c.dead.Val(), Deadlines: c.deadlines.Val(),
			Rejects: c.probe.Err() != nil,
		}
		meta := [2]int64{}
		for i, value := range c.meta.Val() {
			meta[i] = number(text(value))
		}
		s.ClosedAt = shop.Millis(meta[1])
		for _, g := range c.groups.Val() {
			if g.Name != group {
				continue
			}
			s.Pending, s.Lag = g.Pending, g.Lag
			if g.EntriesRead == 0 || g.Lag < 0 {
				// XINFO does not report the lag (after a restart, or in the embedded Redis)
				s.Lag = max(0, meta[0]-g.Pending)
			}
			if s.Lag > 0 {
				unread[s.Partition] = g.LastDeliveredID
			}
		}
		if p := c.pending.Val(); p != nil && p.Count > 0 {
			s.Oldest = age(now, p.Lower)
		}
		stats = append(stats, s)
	}
	if len(stats) == 0 {
		return nil, partialError(failed, true)
	}
	if err := q.setOldestUnread(ctx, stats, unread, now); err != nil {
		return nil, err
	}
	return stats, partialError(failed, false)
}

// setOldestUnread sets Oldest for streams without pending entries: the age of the first entry after the last delivered
// one.
func (q Queue) setOldestUnread(
	ctx context.Context, stats []StreamStats, unread map[int]string, now shop.Millis,
) error {
	next := make(map[int]*redis.XMessageSliceCmd, len(unread))
	for _, s := range stats {
		if _, isUnread := unread[s.Partition]; isUnread && s.Oldest == 0 {
			next[s.Partition] = nil
		}
	}
	if len(next) == 0 {
		return nil
	}
	_, err := q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range next {
			next[p] = pipe.XRangeN(ctx, q.parts[p].keys.orders, "("+unread[p], "+", 1)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the oldest entries: %w", transient(err))
	}
	for i := range stats {
		if found := next[stats[i].Partition]; found != nil && len(found.Val()) > 0 {
			stats[i].Oldest = age(now, found.Val()[0].ID)
		}
	}
	return nil
}

// age returns the age of an entry, at least 1 ms.
func age(now shop.Millis, entry string) time.Duration {
	id, _ := entryID(entry)
	return max(time.Millisecond, now.Sub(shop.Millis(id.Time)))
}

// Delivery returns the progress of a partition's consumers, at one instant. It fails while a new history of Redis is
// not confirmed.
func (q Queue) Delivery(ctx context.Context, partition int) (shop.Delivery, error) {
	k, err := q.keys(partition)
	if err != nil {
		return shop.Delivery{}, err
	}
	reply, err := deliveryScript.run(ctx, q.client, []string{k.meta, k.orders})
	if err != nil {
		return shop.Delivery{}, fmt.Errorf("read the consumers of partition %d: %w", partition, err)
	}
	if code := integer(reply[0]); code != codeDone {
		return shop.Delivery{}, fmt.Errorf("%w: partition %d was not checked for lost writes yet (code %d)",
			shop.ErrTransient, partition, code)
	}
	d := shop.Delivery{Epoch: number(text(reply[1]))}
	d.Newest, _ = entryID(text(reply[2]))
	pending := text(reply[3])
	delivered, _ := entryID(text(reply[4]))
	switch {
	case pending != "":
		d.OldestUnacknowledged, _ = entryID(pending)
	case delivered != d.Newest: // a later entry is not delivered; its id is at least OldestUnacknowledged
		d.OldestUnacknowledged = shop.EntryID{Time: delivered.Time, Number: delivered.Number + 1}
	}
	return d, nil
}
