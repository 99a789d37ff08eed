package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stampede/app/shop"
)

const (
	lagCheckInterval = time.Second
	maxLagCount      = 1000 // undelivered entries that are counted one by one: some milliseconds of Redis
)

// LagFixer keeps XINFO GROUPS correct for all partitions (P7). After Redis 7.0 has replayed its append-only file, lag
// is nil or wrong; LagFixer corrects it within a second.
type LagFixer struct{ conn *connection }

// NewLagFixer makes the LagFixer of all partitions.
func NewLagFixer(i *Inventory) *LagFixer { return &LagFixer{conn: i.connection} }

// Run checks once a second until ctx ends.
func (f *LagFixer) Run(ctx context.Context) error {
	return shop.Repeat(ctx, lagCheckInterval, "correct the lag", func(ctx context.Context) error {
		_, err := f.runOnce(ctx)
		return err
	})
}

// runOnce returns how many groups were corrected.
func (f *LagFixer) runOnce(ctx context.Context) (fixed int, err error) {
	c := f.conn
	groups, err := readPartitions(ctx, c, c.all(), readReplyWait, func(
		ctx context.Context, subset []int,
	) (fixed int, err error) {
		calls := make([]call, len(subset))
		for i, p := range subset {
			keys := &c.parts[p].keys
			calls[i] = call{keys: []string{keys.meta, keys.orders, keys.waiting}, args: []any{maxLagCount}}
		}
		replies, errs := lagScript.runEach(ctx, c.client, calls)
		failed := make(map[int]error)
		for i, reply := range replies {
			if errs[i] != nil {
				failed[subset[i]] = errs[i]
				continue
			}
			if integer(reply[0]) == 1 {
				fixed++
			}
			if n := integer(reply[3]); n > 0 {
				c.metrics.lostReservations.Add(float64(n))
				slog.ErrorContext(ctx, "entries vanished from a stream, and their orders have no row: run `stampede recover`",
					"partition", subset[i], "entries", n)
			}
		}
		return fixed, partialError(failed, len(failed) == len(subset))
	})
	for _, n := range groups {
		fixed += n
	}
	c.metrics.lagFixed.Add(float64(fixed))
	if err != nil && shop.UnreachableIn(err) == nil {
		return fixed, fmt.Errorf("check lag: %w", err)
	}
	return fixed, nil
}

const (
	trimInterval  = 10 * time.Second
	trimChunk     = 1000      // entries beyond the length bound per call
	trimRetention = time.Hour // keeps the evidence for a recovery of the database
	trimLength    = 200_000   // entries per partition, some 60 MB
)

// Trimmer deletes settled entries of all partitions when they are older than the retention, or earlier if a stream is
// longer than maxLength. It never deletes undelivered or unsettled entries. It also deletes consumers without pending
// entries that have been idle for the retention, because killed workers do not remove their consumers.
type Trimmer struct {
	conn      *connection
	retention time.Duration
	maxLength int64
	allowed   func() bool
}

// NewTrimmer makes the trimmer of all partitions. It trims only while the function `allowed` returns true.
func NewTrimmer(i *Inventory, allowed func() bool) *Trimmer {
	return &Trimmer{conn: i.connection, allowed: allowed, retention: trimRetention, maxLength: trimLength}
}

// Run trims every ten seconds until ctx ends.
func (t *Trimmer) Run(ctx context.Context) error {
	return shop.Repeat(ctx, trimInterval, "trim streams", func(ctx context.Context) error {
		_, err := t.runOnce(ctx)
		return err
	})
}

// runOnce returns the number of trimmed entries. A failing partition does not stop the others.
func (t *Trimmer) runOnce(ctx context.Context) (total int64, err error) {
	if !t.allowed() {
		return 0, nil
	}
	var failed []error
	for p := range t.conn.parts {
		trimmed, err := t.trim(ctx, p)
		total += trimmed
		if err != nil {
			failed = append(failed, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	t.conn.metrics.trimmed.Add(float64(total))
	return total, errors.Join(failed...)
}

// trim trims one partition, trimChunk entries beyond the bound per call.
func (t *Trimmer) trim(ctx context.Context, partition int) (total int64, err error) {
	k := &t.conn.parts[partition].keys
	_, err = leaveScript.run(ctx, t.conn.client, []string{k.orders}, group, "", t.retention.Milliseconds())
	if err != nil {
		return 0, err
	}
	for more := true; more && ctx.Err() == nil; {
		reply, err := trimScript.run(ctx, t.conn.client, []string{k.orders, k.meta}, t.retention.Milliseconds(),
			t.maxLength, trimChunk)
		if err != nil {
			return total, err
		}
		trimmed, left := integer(reply[0]), integer(reply[1])
		total += trimmed
		more = trimmed > 0 && left > t.maxLength
	}
	return total, nil
}
