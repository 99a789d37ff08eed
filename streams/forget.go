package streams

import (
	"context"
	"fmt"
	"slices"

	"stampede/app"
)

// ForgetDeadlines takes orders whose rows are about to be removed out of the delay queue. See app.RehearsalKeys.
func (l *Inventory) ForgetDeadlines(ctx context.Context, partition int, orders []app.ID) error {
	k, err := l.keys(partition)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(orders, scheduleChunk) {
		members := make([]any, len(chunk))
		for i, id := range chunk {
			members[i] = id.String()
		}
		if err := l.client.ZRem(ctx, k.deadlines, members...).Err(); err != nil {
			return fmt.Errorf("forget %d deadlines of partition %d: %w", len(chunk), partition, transient(err))
		}
	}
	return nil
}
