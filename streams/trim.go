package streams

import (
	"context"
	"fmt"
	"time"

	"stampede/app"
)

const (
	trimEvery     = 10 * time.Second
	trimChunk     = 1000      // entries beyond the length bound per call
	trimRetention = time.Hour // the redo log after a failover of the database
	trimLength    = 200_000   // entries per partition, some 60 MB
)

// Trimmer forgets settled entries of all partitions once they are older than the retention, or earlier when a
// stream is longer than its bound. It never touches what is not delivered or not settled.
type Trimmer struct {
	inventory *Inventory
	retention time.Duration
	length    int64
}

// NewTrimmer makes the trimmer of all partitions.
func NewTrimmer(l *Inventory) *Trimmer {
	return &Trimmer{inventory: l, retention: trimRetention, length: trimLength}
}

// Run trims from time to time until ctx ends.
func (t *Trimmer) Run(ctx context.Context) error {
	return app.Repeat(ctx, trimEvery, "trim streams", func(ctx context.Context) error {
		_, err := t.runOnce(ctx)
		return err
	})
}

// runOnce answers how many entries it has trimmed.
func (t *Trimmer) runOnce(ctx context.Context) (int64, error) {
	var total int64
	for p := range t.inventory.parts {
		for more := true; more && ctx.Err() == nil; {
			key := t.inventory.parts[p].keys.orders
			reply, err := trimScript.run(ctx, t.inventory.client, []string{key}, t.retention.Milliseconds(), t.length,
				trimChunk)
			if err != nil {
				return total, fmt.Errorf("partition %d: %w", p, err)
			}
			trimmed, left := integer(reply[0]), integer(reply[1])
			total += trimmed
			more = trimmed > 0 && left > t.length
		}
	}
	t.inventory.metrics.trimmed.Add(float64(total))
	return total, nil
}
