package realtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"stampede/app/shop"
)

// An instant is a time of the database's clock. An instant is proven when all changes with a timestamp up to this
// instant, minus Options.Overlap, are queued for every connection of this node. The proven instant of the node advances
// in two ways (F5):
//
//	probe    read the clock, then the latest message number of each partition; proven when all messages up to these
//	         numbers were received
//	resync   read the clock, these numbers, then the rows of all connected users; proven when the rows are queued
//
// A change is published within shop.PublishDeadline of its timestamp or gets a new timestamp. So a change that is older
// than shop.PublishDeadline was published before the numbers were read. The overlap is longer than
// shop.PublishDeadline, because Redis reuses message numbers after a loss of data. Nodes detect this only at the next
// epoch.

// provenInstant is a proven instant with its wire format.
type provenInstant struct {
	Cursor
	text   string
	readAt time.Duration // time at which the clock was read, since connections.began
}

// Delay between attempts to read rows; it doubles after each attempt.
const (
	minReadRetry = 200 * time.Millisecond
	maxReadRetry = 2 * time.Second
)

// update changes the sequences and handles the result. The proven instant advances to the newest proven probe. If
// messages may be lost, update wakes follow, which then reads rows.
func (p *personalEvents) update(change func(c *sequences)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.sequences)
	if newest, ok := p.sequences.proven(p.conns.elapsed()); ok {
		p.setProven(newest.at, newest.readAt)
	}
	if p.sequences.gapReason != "" {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// recordGap triggers a read of rows because messages may be lost.
func (p *personalEvents) recordGap(reason string) {
	p.update(func(c *sequences) { c.recordGap(reason) })
}

// gapReason returns the reason for which rows must be read; "": no read is needed.
func (p *personalEvents) gapReason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sequences.gapReason
}

func (p *personalEvents) setProven(at Cursor, readAt time.Duration) {
	p.proven.Store(&provenInstant{at, at.String(), readAt})
}

// follow reads the latest message numbers every ProbeEvery, and reads rows when messages may be lost, until ctx ends.
func (p *personalEvents) follow(ctx context.Context) error {
	ticker := time.NewTicker(p.options.ProbeEvery)
	defer ticker.Stop()
	failing := false // only the first failure is logged
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.wake:
		case <-ticker.C:
			err := p.probe(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				slog.WarnContext(ctx, "cannot read the latest message numbers; trying again", "err", err)
			}
			failing = err != nil
		}
		if err := p.resyncUntilComplete(ctx); err != nil {
			return err
		}
	}
}

// probe reads the database's clock and the latest message numbers.
func (p *personalEvents) probe(ctx context.Context) error {
	before := p.proven.Load()
	if before == nil || p.gapReason() != "" { // a resync comes first
		return nil
	}
	readAt := p.conns.elapsed()
	at, err := p.clock(ctx)
	if err != nil {
		return err
	}
	if at.History != before.History || at.At < before.At {
		p.recordGap("another history of the database, or its clock went back")
		return nil
	}
	ends, err := p.sequenceEnds(ctx)
	if err != nil {
		return err
	}
	p.update(func(c *sequences) { c.recordProbe(p.conns.elapsed(), at, readAt, ends) })
	return nil
}

// clock reads the database's clock.
func (p *personalEvents) clock(ctx context.Context) (Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadWithin)
	defer cancel()
	at, err := p.options.Orders.Clock(ctx)
	if err != nil {
		return Cursor{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return Cursor(at), nil
}

// sequenceEnds calls beforeRead, then reads the latest message numbers.
func (p *personalEvents) sequenceEnds(ctx context.Context) ([]shop.SequenceEnd, error) {
	p.update((*sequences).beforeRead)
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadWithin)
	defer cancel()
	ends, err := p.options.SequenceEnds(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the latest message numbers: %w", err)
	}
	if len(ends) != p.options.Partitions {
		return nil, fmt.Errorf("got message numbers of %d partitions, want %d: %w", len(ends), p.options.Partitions,
			shop.ErrPermanent)
	}
	return ends, nil
}

// resyncUntilComplete reads rows until no message is missing or ctx ends.
func (p *personalEvents) resyncUntilComplete(ctx context.Context) error {
	for wait := minReadRetry; p.gapReason() != ""; wait = min(2*wait, maxReadRetry) {
		if err := p.resync(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "cannot read the rows after a possible loss of messages; trying again", "err", err)
		}
		if p.gapReason() == "" {
			break
		}
		if !shop.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

var errOtherHistory = errors.New("the rows are of another history of the database")

// resync reads the rows of all connected users that may have changed since the proven instant. When all rows are
// queued, it advances the proven instant. Messages are delivered during the resync; clients recognise repeats by `rev`.
func (p *personalEvents) resync(ctx context.Context) error {
	readAt := p.conns.elapsed()
	at, err := p.clock(ctx)
	if err != nil {
		return err
	}
	var reason string
	p.update(func(c *sequences) { reason, c.gapReason = c.gapReason, "" })
	if err := p.restart(ctx, at, reason); err != nil {
		p.recordGap(reason)
		return err
	}
	since := p.rowsSince(at, readAt)
	if before := p.proven.Load(); before != nil && before.History != at.History {
		p.histories.Add(1) // first: a hello that began earlier compares this number and closes its connection
		p.lastProven.Store(int64(before.readAt))
		p.proven.Store(nil)
		p.closeOtherHistories(at.History)
	}
	if err := p.sendRows(ctx, p.conns.connectedUsers(), since, at.History); err != nil {
		p.recordGap(reason)
		return err
	}
	p.update(func(*sequences) { p.setProven(at, readAt) })
	p.closeOtherHistories(at.History) // again, for clients whose hello finished meanwhile
	return nil
}

// restart reads the latest message numbers and tracks messages from there; the rows replace earlier messages.
func (p *personalEvents) restart(ctx context.Context, at Cursor, reason string) error {
	if reason == lateMessage {
		p.listener.renew() // the subscription may be dead
	}
	ends, err := p.sequenceEnds(ctx)
	if err != nil {
		return err
	}
	p.update(func(c *sequences) { c.restart(p.conns.elapsed(), ends) })
	p.metrics.resyncs.Inc()
	slog.InfoContext(ctx, "reading rows because messages may be lost", "why", reason, "instant", at.String())
	return nil
}

// rowsSince returns the instant from which rows are read, as a time of the database's clock; `at` is the present time
// of that clock. The clock may have gone back, or belong to another database. So the proven instant is converted to the
// present clock by the time that elapsed on this node; in the same history, the earlier of both values counts. Without
// a proven instant, the last one is used. Before the first one, the start of the node is used, because the node had no
// connections before.
func (p *personalEvents) rowsSince(at Cursor, readAt time.Duration) shop.Millis {
	proven := p.proven.Load()
	if proven == nil {
		return at.At.Add(time.Duration(p.lastProven.Load()) - readAt - p.options.Overlap)
	}
	since := at.At.Add(proven.readAt - readAt)
	if proven.History == at.History {
		since = min(since, proven.At)
	}
	return since.Add(-p.options.Overlap)
}

// closeOtherHistories closes the connections whose clients have orders of another database history.
func (p *personalEvents) closeOtherHistories(current string) {
	for _, c := range p.conns.allClients() {
		c.closeIfOtherHistory(current)
		p.conns.waitForWriters()
	}
}

// Cursor is the instant up to which a client has its orders: a time of the database's clock in one history of the
// database. A client that reads the rows changed since the cursor, minus Options.Overlap, misses no change. The wire
// format is `<ms>.<history>`, opaque to clients.
type Cursor shop.Instant

// noCursor represents an unknown instant. No database has its history, so the next hello resets the client.
var noCursor = Cursor{History: "00000000"}

const (
	historyLength = 8  // hex digits
	maxDigits     = 19 // of milliseconds
)

// ParseCursor parses the output of String: digits without sign or leading zeros, a dot, eight lower-case hex digits. It
// rejects all other input.
func ParseCursor(s string) (Cursor, error) {
	at, history, ok := strings.Cut(s, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	c := Cursor{At: shop.Millis(ms), History: history}
	if !ok || err != nil || ms < 0 || len(at) > maxDigits || !isHistory(history) || c.String() != s {
		return Cursor{}, fmt.Errorf("cursor %.44q: want milliseconds.history", s)
	}
	return c, nil
}

func isHistory(s string) bool {
	return len(s) == historyLength && strings.Trim(s, "0123456789abcdef") == ""
}

// String returns the wire format.
func (c Cursor) String() string { return strconv.FormatInt(int64(c.At), 10) + "." + c.History }
