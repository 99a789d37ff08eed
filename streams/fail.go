package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"stampede/app"
)

// maxReason bounds the reason in a dead letter: errors of a database may quote whole statements.
const maxReason = 500

// fail counts the failures of entries on their own account and puts them off; who has failed too often becomes a dead
// letter.
func (c *Consumer) fail(ctx context.Context, epoch int64, entries []app.Entry, failed map[string]error) error {
	for _, e := range entries {
		verdict := failed[e.StreamID]
		if verdict == nil || errors.Is(verdict, app.ErrTransient) {
			continue
		}
		failures, err := c.inventory.client.HIncrBy(ctx, c.keys.attempts, e.StreamID, 1).Result()
		if err != nil {
			return fmt.Errorf("count failures of entry %s: %w", e.StreamID, transient(err))
		}
		c.inventory.metrics.failures.Inc()
		slog.WarnContext(ctx, "entry failed", "partition", c.partition, "entry", e.StreamID, "order", e.Order,
			"failures", failures, "err", verdict)
		if int(failures) < c.options.Attempts {
			pause := c.options.RetryPause << (failures - 1)
			c.later[e.StreamID] = retry{entry: e, at: time.Now().Add(pause)}
			continue
		}
		if err := c.end(ctx, epoch, e, verdict, failures); err != nil {
			return err
		}
	}
	return nil
}

// end gives a hopeless entry its refused row and moves it to the dead letters, in this order: what is answered
// ends in a row (P2). When the row cannot be written now, the entry comes again.
func (c *Consumer) end(ctx context.Context, epoch int64, e app.Entry, why error, failures int64) error {
	err := c.handler.Refuse(ctx, e, app.ReasonDead)
	if err != nil && !(e.Bad != nil && errors.Is(err, app.ErrPermanent)) {
		if errors.Is(err, app.ErrStaleEpoch) {
			c.inventory.onStale(c.partition)
		}
		slog.ErrorContext(ctx, "entry can neither be fulfilled nor refused", "partition", c.partition,
			"entry", e.StreamID, "order", e.Order, "err", err)
		c.later[e.StreamID] = retry{entry: e, at: time.Now().Add(longestOff)}
		return nil
	}
	keys := []string{c.keys.meta, c.keys.orders, c.keys.waiting, c.keys.attempts, c.keys.dead}
	if e.Sale != 0 {
		keys = append(keys, c.keys.sale(e.Sale))
	}
	reply, err := deadLetterScript.run(ctx, c.inventory.client, keys, epoch, e.StreamID, reasonOf(why), failures)
	if err != nil {
		return fmt.Errorf("move entry %s to the dead letters: %w", e.StreamID, err)
	}
	if err := c.inventory.turnedAway(c.partition, integer(reply[0])); err != nil {
		return fmt.Errorf("move entry %s to the dead letters: %w", e.StreamID, err)
	}
	delete(c.later, e.StreamID)
	if letter := text(reply[1]); letter != "" {
		c.inventory.metrics.deadLetters.Inc()
		slog.ErrorContext(ctx, "entry is a dead letter", "partition", c.partition, "letter", letter,
			"entry", e.StreamID, "order", e.Order, "err", why)
	}
	return nil
}

// reasonOf is what an operator reads in the dead letter, at most maxReason bytes of it.
func reasonOf(why error) string {
	reason := strings.ToValidUTF8(why.Error(), "?")
	if len(reason) > maxReason {
		reason = cut(reason, maxReason) + "…"
	}
	return reason
}

// cut keeps at most so many bytes of a text, between characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// lockedPause is how long entries are left alone whose sale was locked; finding out takes the database two seconds.
const lockedPause = 500 * time.Millisecond

// putOff keeps entries whose sale is locked for later, under this consumer's name and without counting anything: the
// fault is transient, but others of the batch need not wait for its end.
func (c *Consumer) putOff(ctx context.Context, entries []app.Entry, failed map[string]error) {
	var locked []app.Entry
	for _, e := range entries {
		if errors.Is(failed[e.StreamID], app.ErrTransient) {
			locked = append(locked, e)
			c.later[e.StreamID] = retry{entry: e, at: time.Now().Add(lockedPause), locked: true}
		}
	}
	if len(locked) == 0 {
		return
	}
	c.inventory.metrics.retried.Inc()
	slog.WarnContext(ctx, "a sale is locked, its entries wait", "partition", c.partition, "sale", locked[0].Sale,
		"entries", len(locked), "entry", locked[0].StreamID, "order", locked[0].Order, "err", failed[locked[0].StreamID])
	c.renew(ctx, locked)
}

// retryFailed tries entries again when their pause is over: those that failed alone each by itself, those whose sale
// was locked in one batch.
func (c *Consumer) retryFailed(ctx context.Context) error {
	now := time.Now()
	var locked []app.Entry
	for id, r := range c.later {
		switch {
		case now.Before(r.at):
		case !r.locked:
			delete(c.later, id)
			if err := c.process(ctx, []app.Entry{r.entry}); err != nil {
				return err
			}
		case int64(len(locked)) < c.options.Batch:
			locked = append(locked, r.entry)
			delete(c.later, id)
		}
	}
	return c.process(ctx, locked)
}
