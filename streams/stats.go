package streams

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Stats reads the streams' numbers of all partitions in one pipeline.
func (l *Inventory) Stats(ctx context.Context) ([]StreamStats, error) {
	type reads struct {
		groups    *redis.XInfoGroupsCmd
		waiting   *redis.StringCmd
		length    *redis.IntCmd
		dead      *redis.IntCmd
		deadlines *redis.IntCmd
	}
	cmds := make([]reads, len(l.parts))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range l.parts {
			k := &l.parts[i].keys
			cmds[i] = reads{
				groups: p.XInfoGroups(ctx, k.orders), waiting: p.HGet(ctx, k.meta, "waiting"),
				length: p.XLen(ctx, k.orders), dead: p.XLen(ctx, k.dead), deadlines: p.ZCard(ctx, k.deadlines),
			}
		}
		return nil
	})
	// A partition that is not there yet makes single commands fail; only the last one always answers.
	if last := cmds[len(cmds)-1].deadlines; last.Err() != nil {
		return nil, fmt.Errorf("read stream numbers: %w", transient(err))
	}
	stats := make([]StreamStats, len(l.parts))
	for i, c := range cmds {
		s := StreamStats{Partition: i, Length: c.length.Val(), Dead: c.dead.Val(), Deadlines: c.deadlines.Val()}
		for _, g := range c.groups.Val() {
			if g.Name != group {
				continue
			}
			s.Pending, s.Lag = g.Pending, g.Lag
			if g.EntriesRead == 0 || g.Lag < 0 {
				// XINFO does not know (just after a restart, or embedded); the scripts' own count does.
				s.Lag = max(0, number(c.waiting.Val())-g.Pending)
			}
		}
		stats[i] = s
	}
	return stats, nil
}
