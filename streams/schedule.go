package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// scheduleChunk is how many deadlines one ZADD takes.
const scheduleChunk = 1000

// Schedule enters deadlines into the delay queue; one that is there already keeps its score, which may be a
// sweeper's lease. It asks for no epoch: a deadline belongs to a row, whatever Redis has been through, and one
// without a row is swept away.
func (l *Inventory) Schedule(ctx context.Context, partition int, deadlines []app.Deadline) error {
	k, err := l.keys(partition)
	if err != nil {
		return err
	}
	if len(deadlines) == 0 {
		return nil
	}
	_, err = l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for chunk := range slices.Chunk(deadlines, scheduleChunk) {
			members := make([]redis.Z, len(chunk))
			for i, d := range chunk {
				members[i] = redis.Z{Score: float64(d.PayBy), Member: d.Order.String()}
			}
			p.ZAddNX(ctx, k.deadlines, members...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("schedule %d deadlines of partition %d: %w", len(deadlines), partition, transient(err))
	}
	return nil
}
