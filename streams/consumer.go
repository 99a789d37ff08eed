package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// ConsumerOptions configure a consumer. A zero field has its default.
type ConsumerOptions struct {
	Batch      int64         // maximum number of entries per batch, at most 1,000; default 500
	Block      time.Duration // how long a read waits for new entries; bounds the shutdown; default 500 ms
	ClaimIdle  time.Duration // idle time after which the consumer of an entry counts as dead; default 10 s
	Attempts   int           // failures of a single entry until it becomes a dead letter; default 5
	RetryPause time.Duration // pause before the second attempt at a failed entry; it doubles; default 100 ms
	Workers    *Workers      // all workers. nil: this consumer always waits on its partition
}

func (o ConsumerOptions) withDefaults() ConsumerOptions {
	o.Batch = cmp.Or(o.Batch, 500)
	o.Block = cmp.Or(o.Block, 500*time.Millisecond)
	o.ClaimIdle = cmp.Or(o.ClaimIdle, 10*time.Second)
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.RetryPause = cmp.Or(o.RetryPause, 100*time.Millisecond)
	return o
}

// EntryHandler processes the entries that the consumer reads (see order.Fulfiller).
type EntryHandler interface {
	// Fulfil writes the rows of the entries, applies their effects and acknowledges them. Per entry it returns nil
	// (settled), shop.ErrPermanent with the reason (only this entry failed), or shop.ErrTransient (its sale is locked;
	// other entries continue). An error for the whole batch is transient.
	Fulfil(ctx context.Context, entries []shop.Entry) ([]error, error)
	// Refuse writes the row (state refused) of an entry that failed permanently, returns its units and notifies its
	// buyer. Then the entry becomes a dead letter. An entry whose order id belongs to another order gets no row.
	Refuse(ctx context.Context, e shop.Entry, reason string) error
}

// Consumer passes the entries of a partition to their handler. The states of an entry:
//
//	new ── read ─→ pending ── handled, settled ─→ acknowledged
//	                    │  ▲ transient fault: the batch is repeated, its claim renewed
//	                    │  └ failed alone: this entry is retried later, the others are settled
//	                    ├─ failed alone too often: refused row, dead letter
//	                    └─ its consumer is dead: another one claims it (consumer_claim.go)
//
// Any number of nodes may consume a partition, each under its own name. One of them waits on it, the others check it
// once a second (workers.go).
type Consumer struct {
	conn      *connection
	partition int
	keys      *partitionKeys
	name      string
	handler   EntryHandler
	options   ConsumerOptions

	// The following fields belong to the goroutine in Run.
	pendingCursor string           // this consumer's pending entries up to this id were read; "": all of them
	retries       map[string]retry // by stream id, entries that failed alone or whose sale is stuck
	nextClaim     time.Time        // when to check for idle entries again
	nextCheck     time.Time        // when to check a partition of another worker again
	claimFrom     string           // where the next claim continues
}

// retry is an entry before its next attempt. It is retried alone after a failure. If its sale was stuck, it is retried
// in a batch with other entries of stuck sales.
type retry struct {
	entry shop.Entry
	at    time.Time
	stuck bool
}

// NewConsumer makes the consumer of a partition. The name must be unique. It should not change at a restart: then the
// consumer finds its pending entries immediately.
func NewConsumer(i *Inventory, partition int, name string, handler EntryHandler, o ConsumerOptions) *Consumer {
	return &Consumer{
		conn: i.connection, partition: partition, keys: &i.parts[partition].keys, name: name, handler: handler,
		options: o.withDefaults(), pendingCursor: "0", retries: make(map[string]retry), claimFrom: claimStart,
	}
}

// Run consumes until ctx ends. It finishes the running batch within five seconds. A consumer without pending entries
// leaves the group.
func (c *Consumer) Run(ctx context.Context) error {
	delays := backoff{firstDelay: minBackoff, maxDelay: maxBackoff}
	for ctx.Err() == nil {
		if c.conn.Epoch(c.partition) == 0 {
			shop.Sleep(ctx, minBackoff) // the partition was not checked yet
			continue
		}
		if err := c.runOnce(ctx); err != nil {
			if ctx.Err() == nil {
				slog.WarnContext(ctx, "consume", "partition", c.partition, "err", err)
			}
			// All entries are still pending under this name and are read again.
			c.pendingCursor = "0"
			clear(c.retries)
			shop.Sleep(ctx, delays.next())
			continue
		}
		delays.reset()
	}
	leaveCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := leaveScript.run(leaveCtx, c.conn.client, []string{c.keys.orders}, group, c.name); err != nil {
		slog.WarnContext(ctx, "cannot leave the consumer group", "partition", c.partition, "consumer", c.name, "err", err)
	}
	return nil
}

// runOnce takes over entries of dead consumers, retries failed entries, and handles one new batch.
func (c *Consumer) runOnce(ctx context.Context) error {
	if err := c.claimIdle(ctx); err != nil {
		return err
	}
	if err := c.retryFailed(ctx); err != nil {
		return err
	}
	entries, err := c.read(ctx)
	if err != nil {
		return err
	}
	return c.process(ctx, entries)
}

// read returns the next batch: first this consumer's pending entries, then new entries.
func (c *Consumer) read(ctx context.Context) ([]shop.Entry, error) {
	args := &redis.XReadGroupArgs{
		Group: group, Consumer: c.name, Count: c.options.Batch, Block: c.readWait(),
		Streams: []string{c.keys.orders, ">"},
	}
	switch {
	case c.pendingCursor != "":
		args.Streams[1], args.Block = c.pendingCursor, -1
	case c.options.Workers.owns(c.partition):
	case time.Now().Before(c.nextCheck):
		shop.Sleep(ctx, min(time.Until(c.nextCheck), c.readWait()))
		return nil, nil
	default:
		args.Block = -1
		c.nextCheck = time.Now().Add(otherCheckInterval)
	}
	streams, err := c.conn.blocking.XReadGroup(ctx, args).Result()
	switch {
	case errors.Is(err, redis.Nil):
		c.pendingCursor = ""
		return nil, nil
	case noGroup(err):
		return nil, errors.Join(fmt.Errorf("read entries: %w", transient(err)), c.ensureGroup(ctx))
	case err != nil:
		return nil, fmt.Errorf("read entries: %w", transient(err))
	}
	var messages []redis.XMessage
	if len(streams) > 0 {
		messages = streams[0].Messages
	}
	if int64(len(messages)) == c.options.Batch {
		c.nextCheck = time.Time{} // more entries wait than the worker of this partition can handle
	}
	if c.pendingCursor != "" {
		c.pendingCursor = ""
		if len(messages) > 0 {
			c.pendingCursor = messages[len(messages)-1].ID
		}
	}
	return c.parse(messages), nil
}

// readWait returns how long a read may wait: until the next due retry or claim, at most Block.
func (c *Consumer) readWait() time.Duration {
	wait := c.options.Block
	now := time.Now()
	for _, r := range c.retries {
		wait = min(wait, r.at.Sub(now))
	}
	return max(min(wait, c.nextClaim.Sub(now)), time.Millisecond)
}

// parse decodes entries, except those that wait for a retry.
func (c *Consumer) parse(messages []redis.XMessage) []shop.Entry {
	entries := make([]shop.Entry, 0, len(messages))
	for _, m := range messages {
		if _, failed := c.retries[m.ID]; !failed {
			entries = append(entries, parseEntry(c.partition, m))
		}
	}
	return entries
}

// ensureGroup creates a missing group that starts at the first entry. Settled entries are redelivered and recognised.
// It does not create the stream: an absent stream was lost, and an empty one would hide the loss (I7).
func (c *Consumer) ensureGroup(ctx context.Context) error {
	err := c.conn.client.XGroupCreate(ctx, c.keys.orders, group, "0").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		c.conn.onStale(c.partition)
		return fmt.Errorf("make group: %w", transient(err))
	}
	return nil
}

// process handles entries until they are settled or have their next attempt scheduled. After an error all entries are
// still pending.
func (c *Consumer) process(ctx context.Context, entries []shop.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	stopCtx := ctx
	ctx, cancel := drainContext(ctx)
	defer cancel()
	epoch := c.conn.Epoch(c.partition)
	renew := func(ctx context.Context) { c.renew(ctx, entries) }
	return runWithInterval(ctx, c.options.ClaimIdle/3, renew, func(ctx context.Context) error {
		failed := unreadable(entries)
		readable := withoutFailed(entries, failed)
		outcomes, err := c.fulfil(ctx, stopCtx, readable)
		if err != nil {
			return err
		}
		for i, outcome := range outcomes {
			if outcome != nil {
				failed[readable[i].StreamID] = outcome
			}
		}
		for _, e := range withoutFailed(readable, failed) {
			delete(c.retries, e.StreamID) // its handler has acknowledged it
		}
		c.postpone(ctx, entries, failed)
		return c.fail(ctx, epoch, entries, failed)
	})
}

// unreadable returns the errors of unreadable entries by stream id. They fail alone.
func unreadable(entries []shop.Entry) map[string]error {
	failed := make(map[string]error)
	for i := range entries {
		if e := &entries[i]; e.ParseErr != nil {
			failed[e.StreamID] = fmt.Errorf("%w: unreadable entry: %w", shop.ErrPermanent, e.ParseErr)
		}
	}
	return failed
}

// withoutFailed returns the entries that have not failed. If no entry failed, which is usual, it does not copy.
func withoutFailed(entries []shop.Entry, failed map[string]error) []shop.Entry {
	if len(failed) == 0 {
		return entries
	}
	remaining := make([]shop.Entry, 0, len(entries))
	for i := range entries {
		if failed[entries[i].StreamID] == nil {
			remaining = append(remaining, entries[i])
		}
	}
	return remaining
}

// fulfil retries a batch during transient faults. Its entries stay pending and claimed, and no failure is counted. It
// starts no new attempt after stopCtx has ended.
func (c *Consumer) fulfil(ctx, stopCtx context.Context, entries []shop.Entry) ([]error, error) {
	delays := backoff{firstDelay: minBackoff, maxDelay: maxBackoff}
	for len(entries) > 0 {
		outcomes, err := c.handler.Fulfil(ctx, entries)
		if err == nil && len(outcomes) != len(entries) {
			err = fmt.Errorf("%d outcomes for %d entries", len(outcomes), len(entries))
		}
		if err == nil {
			return outcomes, nil
		}
		c.conn.metrics.retried.Inc()
		if errors.Is(err, shop.ErrStaleEpoch) {
			c.conn.onStale(c.partition)
			return nil, err // the partition was recovered
		}
		slog.WarnContext(ctx, "cannot fulfil a batch; it is retried", "partition", c.partition, "entries", len(entries),
			"entry", entries[0].StreamID, "order", entries[0].Order, "err", err)
		if !shop.Sleep(stopCtx, delays.next()) {
			return nil, errors.Join(err, stopCtx.Err())
		}
	}
	return nil, nil
}
