package streams

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// waitingWithin is how long a look at what waits may take, for all who wait for it.
const waitingWithin = 5 * time.Second

// waitingReads answers all who ask at the same time with one look: while one is under way others gather, and the next
// look, which begins after they asked, is for all of them. So a lone user is answered at once, a reservation that was
// there when its user asked is never hidden, and when thousands come back together, Redis is not asked once for each.
type waitingReads struct {
	mu    sync.Mutex
	asks  []*waitingAsk
	looks bool // a goroutine is looking
}

type waitingAsk struct {
	user     app.ID
	answered chan struct{}
	found    []app.Reservation
	err      error
}

// Waiting lists the reservations of the user that are not settled yet, over all partitions.
func (l *Inventory) Waiting(ctx context.Context, user app.ID) ([]app.Reservation, error) {
	ask := &waitingAsk{user: user, answered: make(chan struct{})}
	reads := &l.reads
	reads.mu.Lock()
	reads.asks = append(reads.asks, ask)
	if !reads.looks {
		reads.looks = true
		go l.answerWaiting()
	}
	reads.mu.Unlock()
	select {
	case <-ask.answered:
	case <-ctx.Done():
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, transient(ctx.Err()))
	}
	if ask.err != nil {
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, ask.err)
	}
	return ask.found, nil
}

// answerWaiting looks until nobody asks any more.
func (l *Inventory) answerWaiting() {
	for {
		l.reads.mu.Lock()
		asks := l.reads.asks
		l.reads.asks, l.reads.looks = nil, len(asks) > 0
		l.reads.mu.Unlock()
		if len(asks) == 0 {
			return
		}
		l.lookForWaiting(asks)
		for _, ask := range asks {
			close(ask.answered)
		}
	}
}

// lookForWaiting finds what waits for each of the users. Which sales have anything waiting, Redis counts; a user's
// record in each names their entries, settled ones among them, and those that are not settled tell the rest.
func (l *Inventory) lookForWaiting(asks []*waitingAsk) {
	ctx, cancel := context.WithTimeout(context.Background(), waitingWithin)
	defer cancel()
	sales, err := l.unsettledSales(ctx)
	var entries [][]waitingEntry
	if err == nil {
		entries, err = l.waitingEntries(ctx, sales, asks)
	}
	if err == nil {
		err = l.readWaiting(ctx, entries)
	}
	if err != nil {
		for _, ask := range asks {
			ask.found, ask.err = nil, err
		}
	}
}

// unsettledSales lists the sales that have unsettled reservations of anybody.
func (l *Inventory) unsettledSales(ctx context.Context) ([]app.SaleRef, error) {
	lists := make([]*redis.StringSliceCmd, len(l.parts))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range l.parts {
			lists[i] = p.HKeys(ctx, l.parts[i].keys.waiting)
		}
		return nil
	})
	if err != nil {
		return nil, transient(err)
	}
	var sales []app.SaleRef
	for partition, list := range lists {
		for _, text := range list.Val() {
			id, err := app.ParseID(text)
			if err != nil {
				return nil, fmt.Errorf("%w: partition %d waits for sale %q", app.ErrPermanent, partition, text)
			}
			sales = append(sales, app.SaleRef{ID: id, Partition: partition})
		}
	}
	return sales, nil
}

// waitingEntry is an entry that one of the users may be waiting for.
type waitingEntry struct {
	ask       *waitingAsk
	partition int
	id        string
}

// usersPerRead is how many users' records of a sale one command reads.
const usersPerRead = 500

// waitingEntries lists the entries of the users' reservations in the sales, by partition.
func (l *Inventory) waitingEntries(
	ctx context.Context, sales []app.SaleRef, asks []*waitingAsk,
) (entries [][]waitingEntry, err error) {
	type read struct {
		sale app.SaleRef
		of   []*waitingAsk
		cmd  *redis.SliceCmd
	}
	var reads []read
	_, err = l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for of := range slices.Chunk(asks, usersPerRead) {
			users := make([]string, len(of))
			for i, ask := range of {
				users[i] = ask.user.String()
			}
			for _, sale := range sales {
				reads = append(reads, read{
					sale, of, p.HMGet(ctx, l.parts[sale.Partition].keys.buyers(sale.ID), users...),
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, transient(err)
	}
	entries = make([][]waitingEntry, len(l.parts))
	for _, r := range reads {
		of := &entries[r.sale.Partition]
		for i, record := range r.cmd.Val() {
			parts := strings.SplitN(text(record), "|", 4)
			if len(parts) < 4 {
				continue
			}
			for _, id := range strings.Fields(parts[3]) {
				*of = append(*of, waitingEntry{r.of[i], r.sale.Partition, id})
			}
		}
	}
	return entries, nil
}

// entriesPerRead is how many entries one call looks at: about a millisecond of Redis.
const entriesPerRead = 500

// readWaiting gives everybody those of their entries that are not settled. One that cannot be read is an error for its
// user alone.
func (l *Inventory) readWaiting(ctx context.Context, entries [][]waitingEntry) error {
	var calls []call
	var of [][]waitingEntry
	for partition, all := range entries {
		for some := range slices.Chunk(all, entriesPerRead) {
			ids := make([]any, len(some))
			for i, e := range some {
				ids[i] = e.id
			}
			calls, of = append(calls, call{[]string{l.parts[partition].keys.orders}, ids}), append(of, some)
		}
	}
	replies, err := unsettledScript.runAll(ctx, l.client, calls)
	if err != nil {
		return err
	}
	for c, reply := range replies {
		partition := of[c][0].partition
		if err := l.turnedAway(partition, integer(reply[0])); err != nil {
			return err
		}
		for i := 1; i+1 < len(reply); i += 2 {
			of[c][integer(reply[i])-1].found(list(reply[i+1]))
		}
	}
	return nil
}

// found gives the reservation to its buyer.
func (w waitingEntry) found(fields []any) {
	m := redis.XMessage{ID: w.id, Values: make(map[string]any, len(fields)/2)}
	for i := 0; i+1 < len(fields); i += 2 {
		m.Values[text(fields[i])] = text(fields[i+1])
	}
	if e := parseEntry(w.partition, m); e.Bad != nil {
		w.ask.err = fmt.Errorf("%w: waiting entry %s: %w", app.ErrPermanent, w.id, e.Bad)
	} else {
		w.ask.found = append(w.ask.found, reservation(e))
	}
}

// reservation is what an entry says to its buyer as long as it has no row.
func reservation(e app.Entry) app.Reservation {
	return app.Reservation{
		Order: e.Order, Sale: e.Sale, Qty: e.Qty, Key: e.Key, Ticket: e.Ticket, State: app.Reserved,
		CreatedAt: e.ReservedAt, Entry: e,
	}
}

// fetch reads entries, in their order; one that is no longer in the stream comes with errContentGone.
func (l *Inventory) fetch(ctx context.Context, partition int, ids []string) ([]app.Entry, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make([]*redis.XMessageSliceCmd, len(ids))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			cmds[i] = p.XRange(ctx, l.parts[partition].keys.orders, id, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d entries: %w", len(ids), transient(err))
	}
	entries := make([]app.Entry, len(ids))
	for i, id := range ids {
		found := append(cmds[i].Val(), redis.XMessage{ID: id})
		entries[i] = parseEntry(partition, found[0])
	}
	return entries, nil
}
