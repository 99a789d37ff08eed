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

// All changes stamped up to the node's proven instant, less Options.Overlap, are queued for every connection of this
// node. The instant (of the database's clock) moves in two ways (F5):
//
//	look     clock, ends of the chains; proven when all messages up to the ends were received
//	resync   clock, ends of the chains, rows of all connected users; proven when they are queued
//
// A change is published within shop.PublishWithin of its stamp or stamped again, so it was published before the ends
// were read. The rest of the overlap covers message numbers that went back before the new epoch of Redis shows it.
// provenInstant is a proven instant with its form on the wire.
type provenInstant struct {
	Cursor
	text  string
	asked time.Duration // when the database said it, since the hub began
}

// Between attempts to read rows; doubled after each.
const (
	retryFirst = 200 * time.Millisecond
	retryMost  = 2 * time.Second
)

// update changes the chains and acts on the result: the proven instant moves to the newest proven look, and rows are
// read if messages may be lost.
func (h *Hub) update(change func(c *chains)) {
	h.chainsMu.Lock()
	defer h.chainsMu.Unlock()
	change(&h.chains)
	if l, ok := h.chains.proven(h.elapsed()); ok {
		h.setProven(l.at, l.asked)
	}
	if h.chains.broken != "" {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// breakOff has rows read because messages may be lost.
func (h *Hub) breakOff(why string) { h.update(func(c *chains) { c.breakOff(why) }) }

// broken returns why rows have to be read; "": they need not.
func (h *Hub) broken() string {
	h.chainsMu.Lock()
	defer h.chainsMu.Unlock()
	return h.chains.broken
}

func (h *Hub) setProven(at Cursor, asked time.Duration) {
	h.proven.Store(&provenInstant{at, at.String(), asked})
}

// follow checks the ends of the chains, and reads rows whenever messages may be lost, until ctx ends.
func (h *Hub) follow(ctx context.Context) error {
	beat := time.NewTicker(h.options.LookEvery)
	defer beat.Stop()
	failing := false // logged once
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.wake:
		case <-beat.C:
			err := h.look(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				slog.WarnContext(ctx, "look at the ends of the chains of changes; trying again", "err", err)
			}
			failing = err != nil
		}
		if err := h.resyncUntilWhole(ctx); err != nil {
			return err
		}
	}
}

// look reads how far the messages have come.
func (h *Hub) look(ctx context.Context) error {
	before := h.proven.Load()
	if before == nil || h.broken() != "" { // rows are read first
		return nil
	}
	asked := h.elapsed()
	at, err := h.clock(ctx)
	if err != nil {
		return err
	}
	if at.History != before.History || at.At < before.At {
		h.breakOff("another history of the database, or its clock went back")
		return nil
	}
	ends, err := h.chainEnds(ctx)
	if err != nil {
		return err
	}
	h.update(func(c *chains) { c.looked(h.elapsed(), at, asked, ends) })
	return nil
}

// clock reads the database's clock.
func (h *Hub) clock(ctx context.Context) (Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, h.options.ReadWithin)
	defer cancel()
	at, err := h.options.Orders.Clock(ctx)
	if err != nil {
		return Cursor{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return Cursor(at), nil
}

// chainEnds reads the ends of the chains; see chains.ask.
func (h *Hub) chainEnds(ctx context.Context) ([]shop.ChainEnd, error) {
	h.update((*chains).ask)
	ctx, cancel := context.WithTimeout(ctx, h.options.ReadWithin)
	defer cancel()
	ends, err := h.options.Chains.ChainEnds(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ends of the chains: %w", err)
	}
	if len(ends) != h.options.Partitions {
		return nil, fmt.Errorf("%d ends of %d chains: %w", len(ends), h.options.Partitions, shop.ErrPermanent)
	}
	return ends, nil
}

// resyncUntilWhole reads rows until nothing is missing, or ctx ends.
func (h *Hub) resyncUntilWhole(ctx context.Context) error {
	for wait := retryFirst; h.broken() != ""; wait = min(2*wait, retryMost) {
		if err := h.resync(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "read rows because messages may be lost; trying again", "err", err)
		}
		if h.broken() == "" {
			break
		}
		if !shop.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

var errOtherHistory = errors.New("the rows are of another history of the database")

// resync reads the rows of all connected users that may have changed since the proven instant, and moves it once all
// are queued. Messages are delivered meanwhile; clients recognise repeats by their rev.
func (h *Hub) resync(ctx context.Context) error {
	asked := h.elapsed()
	at, err := h.clock(ctx)
	if err != nil {
		return err
	}
	var why string
	h.update(func(c *chains) { why, c.broken = c.broken, "" })
	if err := h.restart(ctx, at, why); err != nil {
		h.breakOff(why)
		return err
	}
	since := h.rowsSince(at, asked)
	if before := h.proven.Load(); before != nil && before.History != at.History {
		h.histories.Add(1) // first: a running hello checks it
		h.lastProven.Store(int64(before.asked))
		h.proven.Store(nil)
		h.leaveHistories(at.History)
	}
	if err := h.tellRows(ctx, h.connectedUsers(), since, at.History); err != nil {
		h.breakOff(why)
		return err
	}
	h.update(func(*chains) { h.setProven(at, asked) })
	h.leaveHistories(at.History)
	return nil
}

// restart continues from the present ends of the chains.
func (h *Hub) restart(ctx context.Context, at Cursor, why string) error {
	if why == notReached {
		h.listener.renew()
	}
	ends, err := h.chainEnds(ctx)
	if err != nil {
		return err
	}
	h.update(func(c *chains) { c.restart(h.elapsed(), ends) })
	h.metrics.resyncs.Inc()
	slog.InfoContext(ctx, "reading rows because messages may be lost", "why", why, "instant", at.String())
	return nil
}

// rowsSince returns since when rows are read, by the clock that shows at now: before the proven instant, also if the
// clock went back or is another one. Before a new node began, nobody was connected to it.
func (h *Hub) rowsSince(at Cursor, asked time.Duration) shop.Millis {
	proven := h.proven.Load()
	if proven == nil {
		return at.At.Add(time.Duration(h.lastProven.Load()) - asked - h.options.Overlap)
	}
	since := at.At.Add(proven.asked - asked)
	if proven.History == at.History {
		since = min(since, proven.At)
	}
	return since.Add(-h.options.Overlap)
}

// leaveHistories ends the connections whose clients know orders of another history of the database.
func (h *Hub) leaveHistories(present string) {
	for _, c := range h.everybody() {
		c.leaveHistory(present)
		h.letWritersBegin()
	}
}

// Cursor is how far a client knows its orders: an instant of the database's clock, in one history of the database. A
// client that has read the rows changed since then, or a little earlier (Options.Overlap), has missed nothing. On the
// wire it is `<ms>.<history>`, opaque to clients.
type Cursor shop.Instant

// noCursor stands for an unknown instant. No database has its history, so the next hello resets the client.
var noCursor = Cursor{History: "00000000"}

const (
	historyLength = 8  // hex digits
	mostDigits    = 19 // of milliseconds
)

// ParseCursor accepts exactly what String writes: digits without sign or leading zeros, a dot, eight lower-case hex
// digits.
func ParseCursor(s string) (Cursor, error) {
	at, history, ok := strings.Cut(s, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	c := Cursor{At: shop.Millis(ms), History: history}
	if !ok || err != nil || ms < 0 || len(at) > mostDigits || !isHistory(history) || c.String() != s {
		return Cursor{}, fmt.Errorf("cursor %.44q: want milliseconds.history", s)
	}
	return c, nil
}

func isHistory(s string) bool {
	return len(s) == historyLength && strings.Trim(s, "0123456789abcdef") == ""
}

// String is the form on the wire.
func (c Cursor) String() string { return strconv.FormatInt(int64(c.At), 10) + "." + c.History }
