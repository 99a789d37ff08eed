package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// waitingTimeout is the timeout of a shared read.
const waitingTimeout = 5 * time.Second

// waitingReads shares reads among concurrent requests. A request that arrives during a read waits for the next read.
// That read begins after the request, so it finds every reservation that existed at the request. Without a running
// read, a request is served immediately. Thousands of reconnects therefore cause few reads.
type waitingReads struct {
	mu       sync.Mutex
	requests []*waitingRequest
	reading  bool // a goroutine is reading
}

type waitingRequest struct {
	user  shop.ID
	done  chan struct{}
	found []shop.Reservation
	err   error
}

// Waiting lists the user's unsettled reservations over all partitions. With the error PartitionsUnreachable,
// reservations in the unreachable partitions may be missing.
func (q Queue) Waiting(ctx context.Context, user shop.ID) ([]shop.Reservation, error) {
	request := &waitingRequest{user: user, done: make(chan struct{})}
	reads := &q.reads
	reads.mu.Lock()
	reads.requests = append(reads.requests, request)
	if !reads.reading {
		reads.reading = true
		go q.serveWaiting()
	}
	reads.mu.Unlock()
	select {
	case <-request.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, transient(ctx.Err()))
	}
	return request.found, wrapped(request.err, "read waiting reservations of user %s", user)
}

// serveWaiting reads until no request is left.
func (q Queue) serveWaiting() {
	for {
		q.reads.mu.Lock()
		requests := q.reads.requests
		q.reads.requests, q.reads.reading = nil, len(requests) > 0
		q.reads.mu.Unlock()
		if len(requests) == 0 {
			return
		}
		q.readRequests(requests)
		for _, request := range requests {
			close(request.done)
		}
	}
}

// waitingResult is the result for one request.
type waitingResult struct {
	found []shop.Reservation
	err   error
}

// readRequests sets the results of all requests. It reads from each server separately.
func (q Queue) readRequests(requests []*waitingRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), waitingTimeout)
	defer cancel()
	read := func(ctx context.Context, partitions []int) ([]waitingResult, error) {
		return q.waitingOf(ctx, partitions, requests)
	}
	groups, err := readPartitions(ctx, q.connection, q.all(), readReplyWait, read)
	for i, request := range requests {
		request.err = err
		for _, group := range groups {
			request.found = append(request.found, group[i].found...)
			if group[i].err != nil {
				request.found, request.err = nil, group[i].err
				break
			}
		}
	}
}

// waitingOf reads some partitions in three steps: the sales with unsettled reservations, the entries in the users'
// records of these sales, and the unsettled ones of those entries. An entry may be settled or trimmed in between.
func (q Queue) waitingOf(
	ctx context.Context, partitions []int, requests []*waitingRequest,
) ([]waitingResult, error) {
	results := make([]waitingResult, len(requests))
	sales, err := q.unsettledSales(ctx, partitions)
	if err != nil || len(sales) == 0 {
		return results, err
	}
	entries, err := q.waitingEntries(ctx, sales, requests)
	if err != nil {
		return nil, err
	}
	remaining, err := q.unsettled(ctx, entries)
	if err != nil {
		return nil, err
	}
	return results, q.readWaiting(ctx, remaining, results)
}

// unsettledSales lists the sales of some partitions with unsettled reservations.
func (q Queue) unsettledSales(ctx context.Context, partitions []int) ([]shop.SaleRef, error) {
	lists := make([]*redis.StringSliceCmd, len(partitions))
	_, err := q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range partitions {
			lists[i] = pipe.HKeys(ctx, q.parts[p].keys.waiting)
		}
		return nil
	})
	if err != nil {
		return nil, transient(err)
	}
	var sales []shop.SaleRef
	for i, list := range lists {
		partition := partitions[i]
		for _, text := range list.Val() {
			id, err := shop.ParseID(text)
			if err != nil {
				return nil, fmt.Errorf("%w: partition %d waits for sale %q", shop.ErrPermanent, partition, text)
			}
			sales = append(sales, shop.SaleRef{ID: id, Partition: partition})
		}
	}
	return sales, nil
}

// waitingEntry is an entry that may be unsettled.
type waitingEntry struct {
	entryRef

	request int // the index of the request
}

// usersPerRead is the maximum number of users' records per command.
const usersPerRead = 500

// waitingEntries returns the entries in the users' records of the sales, by partition.
func (q Queue) waitingEntries(
	ctx context.Context, sales []shop.SaleRef, requests []*waitingRequest,
) (entries [][]waitingEntry, err error) {
	type read struct {
		sale shop.SaleRef
		from int // the index of the first request
		cmd  *redis.SliceCmd
	}
	var reads []read
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for from := 0; from < len(requests); from += usersPerRead {
			chunk := requests[from:min(from+usersPerRead, len(requests))]
			users := make([]string, len(chunk))
			for i, request := range chunk {
				users[i] = request.user.String()
			}
			for _, sale := range sales {
				reads = append(reads, read{
					sale, from, p.HMGet(ctx, q.parts[sale.Partition].keys.buyers(sale.ID), users...),
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, transient(err)
	}
	entries = make([][]waitingEntry, len(q.parts))
	for _, r := range reads {
		found := &entries[r.sale.Partition]
		for i, record := range r.cmd.Val() {
			parts := strings.SplitN(text(record), "|", 5) // the last part may be the pass
			if len(parts) < 4 {
				continue
			}
			for _, id := range strings.Fields(parts[3]) {
				*found = append(*found, waitingEntry{entryRef{r.sale.Partition, id}, r.from + i})
			}
		}
	}
	return entries, nil
}

// entriesPerCall is the maximum number of entries that one call checks: less than a millisecond of Redis.
const entriesPerCall = 500

// unsettled returns the entries that are not settled.
func (q Queue) unsettled(ctx context.Context, entries [][]waitingEntry) (remaining []waitingEntry, err error) {
	var calls []call
	var chunks [][]waitingEntry
	for partition, all := range entries {
		for chunk := range slices.Chunk(all, entriesPerCall) {
			ids := make([]any, len(chunk))
			for i, e := range chunk {
				ids[i] = e.id
			}
			calls = append(calls, call{[]string{q.parts[partition].keys.orders}, ids})
			chunks = append(chunks, chunk)
		}
	}
	replies, err := unsettledScript.runAll(ctx, q.client, calls)
	if err != nil {
		return nil, err
	}
	for c, reply := range replies {
		if err := q.rejection(chunks[c][0].partition, integer(reply[0])); err != nil {
			return nil, err
		}
		for _, number := range reply[1:] {
			remaining = append(remaining, chunks[c][integer(number)-1])
		}
	}
	return remaining, nil
}

// readWaiting reads the entries. An unreadable entry is an error for its user only. A missing entry was settled and
// trimmed.
func (q Queue) readWaiting(ctx context.Context, entries []waitingEntry, results []waitingResult) error {
	refs := make([]entryRef, len(entries))
	for i, w := range entries {
		refs[i] = w.entryRef
	}
	found, err := q.fetch(ctx, refs)
	for i, e := range found {
		switch result := &results[entries[i].request]; {
		case e.ParseErr == nil:
			result.found = append(result.found, shop.Reservation{
				Order: e.Order, Sale: e.Sale, Qty: e.Qty, Key: e.Key, Ticket: e.Ticket, State: shop.Reserved,
				CreatedAt: e.ReservedAt, Entry: e,
			})
		case !errors.Is(e.ParseErr, errContentGone):
			result.err = fmt.Errorf("%w: waiting entry %s: %w", shop.ErrPermanent, e.StreamID, e.ParseErr)
		}
	}
	return err
}

// entryRef identifies an entry.
type entryRef struct {
	partition int
	id        string
}

// fetch reads entries, in order. An entry that is no longer in the stream has errContentGone.
func (q Queue) fetch(ctx context.Context, refs []entryRef) ([]shop.Entry, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	cmds := make([]*redis.XMessageSliceCmd, len(refs))
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, r := range refs {
			cmds[i] = p.XRange(ctx, q.parts[r.partition].keys.orders, r.id, r.id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d entries: %w", len(refs), transient(err))
	}
	entries := make([]shop.Entry, len(refs))
	for i, r := range refs {
		found := append(cmds[i].Val(), redis.XMessage{ID: r.id})
		entries[i] = parseEntry(r.partition, found[0])
	}
	return entries, nil
}
