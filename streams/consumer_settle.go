package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"stampede/app/shop"
)

// maxReason is the maximum length of the reason in a dead letter, in bytes: database errors may quote whole statements.
const maxReason = 500

// fail counts the failures of entries and schedules their retries. After too many failures an entry becomes a dead
// letter.
func (c *Consumer) fail(ctx context.Context, epoch int64, entries []shop.Entry, failed map[string]error) error {
	for _, e := range entries {
		cause := failed[e.StreamID]
		if cause == nil || errors.Is(cause, shop.ErrTransient) {
			continue
		}
		failures, err := c.conn.client.HIncrBy(ctx, c.keys.attempts, e.StreamID, 1).Result()
		if err != nil {
			return fmt.Errorf("count failures of entry %s: %w", e.StreamID, transient(err))
		}
		c.conn.metrics.failures.Inc()
		slog.WarnContext(ctx, "entry failed", "partition", c.partition, "entry", e.StreamID, "order", e.Order,
			"failures", failures, "err", cause)
		if int(failures) < c.options.Attempts {
			pause := c.options.RetryPause << (failures - 1)
			c.retries[e.StreamID] = retry{entry: e, at: time.Now().Add(pause)}
			continue
		}
		if err := c.moveToDeadLetters(ctx, epoch, e, cause, failures); err != nil {
			return err
		}
	}
	return nil
}

// moveToDeadLetters writes the refused row of an entry, then moves the entry to the dead letters: every confirmed buy
// ends in a row (P2). If the row cannot be written now, the entry is retried.
func (c *Consumer) moveToDeadLetters(
	ctx context.Context, epoch int64, e shop.Entry, cause error, failures int64,
) error {
	err := c.handler.Refuse(ctx, e, shop.ReasonDead)
	if err != nil && !(e.ParseErr != nil && errors.Is(err, shop.ErrPermanent)) {
		if errors.Is(err, shop.ErrStaleEpoch) {
			c.conn.onStale(c.partition)
		}
		slog.ErrorContext(ctx, "cannot fulfil or refuse an entry", "partition", c.partition,
			"entry", e.StreamID, "order", e.Order, "err", err)
		c.retries[e.StreamID] = retry{entry: e, at: time.Now().Add(maxBackoff)}
		return nil
	}
	keys := []string{c.keys.meta, c.keys.orders, c.keys.waiting, c.keys.attempts, c.keys.dead}
	if e.Sale != 0 {
		keys = append(keys, c.keys.sale(e.Sale))
	}
	reply, err := deadLetterScript.run(ctx, c.conn.client, keys, epoch, e.StreamID, reasonOf(cause), failures)
	if err != nil {
		return fmt.Errorf("move entry %s to the dead letters: %w", e.StreamID, err)
	}
	if err := c.conn.rejection(c.partition, integer(reply[0])); err != nil {
		return fmt.Errorf("move entry %s to the dead letters: %w", e.StreamID, err)
	}
	delete(c.retries, e.StreamID)
	if letter := text(reply[1]); letter != "" {
		c.conn.metrics.deadLetters.Inc()
		slog.ErrorContext(ctx, "entry is a dead letter", "partition", c.partition, "letter", letter,
			"entry", e.StreamID, "order", e.Order, "err", cause)
	}
	return nil
}

// reasonOf returns the reason for the dead letter, cut to maxReason bytes.
func reasonOf(cause error) string {
	reason := strings.ToValidUTF8(cause.Error(), "?")
	if len(reason) > maxReason {
		reason = cut(reason, maxReason) + "…"
	}
	return reason
}

// cut shortens s to at most maxBytes bytes, without splitting a character.
func cut(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxBytes], "")
}

// stuckPause is the retry pause for entries of a stuck sale. The database needs two seconds to report that the sale's
// row is locked.
const stuckPause = 500 * time.Millisecond

// postpone postpones entries of a stuck sale. They stay pending and no failure is counted: the fault is transient.
// Entries of other sales do not wait.
func (c *Consumer) postpone(ctx context.Context, entries []shop.Entry, failed map[string]error) {
	var stuck []shop.Entry
	retryAt := time.Now().Add(stuckPause) // one instant for all entries, so that they are retried in one batch
	for _, e := range entries {
		if errors.Is(failed[e.StreamID], shop.ErrTransient) {
			stuck = append(stuck, e)
			c.retries[e.StreamID] = retry{entry: e, at: retryAt, stuck: true}
		}
	}
	if len(stuck) == 0 {
		return
	}
	c.conn.metrics.retried.Inc()
	slog.WarnContext(ctx, "a sale is stuck; its entries wait", "partition", c.partition, "sale", stuck[0].Sale,
		"entries", len(stuck), "entry", stuck[0].StreamID, "order", stuck[0].Order, "err", failed[stuck[0].StreamID])
	c.renew(ctx, stuck)
}

// retryFailed retries due entries: each failed entry alone, and the entries of stuck sales in one batch.
func (c *Consumer) retryFailed(ctx context.Context) error {
	now := time.Now()
	var stuck []shop.Entry
	for id, r := range c.retries {
		switch {
		case now.Before(r.at):
		case !r.stuck:
			delete(c.retries, id)
			if err := c.process(ctx, []shop.Entry{r.entry}); err != nil {
				return err
			}
		case int64(len(stuck)) < c.options.Batch:
			stuck = append(stuck, r.entry)
			delete(c.retries, id)
		}
	}
	return c.process(ctx, stuck)
}
