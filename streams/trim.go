package streams

import (
	"context"
	"errors"
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

// runOnce answers how many entries it has trimmed. A partition that fails keeps the others from nothing.
func (t *Trimmer) runOnce(ctx context.Context) (total int64, err error) {
	var failed []error
	for p := range t.inventory.parts {
		trimmed, err := t.trim(ctx, p)
		total += trimmed
		if err != nil {
			failed = append(failed, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	t.inventory.metrics.trimmed.Add(float64(total))
	return total, errors.Join(failed...)
}

// trim trims one partition, in steps.
func (t *Trimmer) trim(ctx context.Context, partition int) (total int64, err error) {
	for more := true; more && ctx.Err() == nil; {
		key := t.inventory.parts[partition].keys.orders
		reply, err := trimScript.run(ctx, t.inventory.client, []string{key}, t.retention.Milliseconds(), t.length,
			trimChunk)
		if err != nil {
			return total, err
		}
		trimmed, left := integer(reply[0]), integer(reply[1])
		total += trimmed
		more = trimmed > 0 && left > t.length
	}
	return total, nil
}
