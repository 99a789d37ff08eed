package streams

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// queue is a stream of messages that are delivered at least once, and the quarantine of undeliverable ones:
//
//	appended ─→ read, pending ── delivered ─→ acknowledged
//	   ▲           │  ▲ failed, or the consumer died: claimed after a pause
//	   │           └─ rejected, unreadable, or failed too often ─→ quarantined ── dropped
//	   └─────────────────────────── replayed ──────────────────────────┘
//
// Each arrow is one command or one script. A process that dies between two of them leaves the message in the earlier
// state.
type queue struct {
	client      redis.UniversalClient
	stream      string
	quarantine  string // a stream with the same hash tag
	mark        string // a hash with the same hash tag, see post.lua
	listCommand string // the command that lists the quarantine
	discard     bool   // delete entries when they are acknowledged: they contain a secret and have only one group
}

const (
	quarantinePage      = 500
	maxQuarantineReason = 300 // maximum length of a stored reason, in bytes
)

// post appends the postings in args. Without postings it only checks the mark. It returns the reply of post.lua without
// its code. last is the highest mark in the database.
func (q *queue) post(ctx context.Context, last shop.Millis, args ...any) ([]any, error) {
	reply, err := postScript.run(ctx, q.client, []string{q.stream, q.mark}, append([]any{int64(last)}, args...)...)
	if err != nil {
		return nil, err
	}
	switch code := integer(reply[0]); code {
	case codeDone:
		return reply[1:], nil
	case codeHistory:
		lost := &outbox.LostError{History: text(reply[2]), Mark: shop.Millis(integer(reply[1]))}
		lost.Since = lost.Mark
		if lost.Mark == 0 {
			lost.Since = shop.Millis(integer(reply[3])).Add(-paidRetention)
		}
		return nil, lost
	default:
		return nil, fmt.Errorf("append to %s: code %d: it or %s has a wrong type", q.stream, code, q.mark)
	}
}

// Confirm accepts the state of Redis in which the loss was found. It does nothing if that state has changed: another
// node has confirmed it, or the next check finds the next loss.
func (q *queue) Confirm(ctx context.Context, lost *outbox.LostError) error {
	_, err := confirmMarkScript.run(ctx, q.client, []string{q.mark}, lost.History, int64(lost.Mark))
	return err
}

// makeGroup creates a group that reads from the beginning, and the stream, unless they exist.
func (q *queue) makeGroup(ctx context.Context, group string) error {
	err := q.client.XGroupCreateMkStream(ctx, q.stream, group, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return fmt.Errorf("make group %s: %w", group, transient(err))
	}
	return nil
}

// acknowledge removes a delivered entry from the group.
func (q *queue) acknowledge(ctx context.Context, group, id string) error {
	_, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.XAck(ctx, q.stream, group, id)
		if q.discard {
			p.XDel(ctx, q.stream, id)
		}
		return nil
	})
	return wrapped(transient(err), "acknowledge %s", id)
}

// quarantineEntry moves a pending entry to the quarantine; false: the entry is no longer pending. Repeating it is safe.
func (q *queue) quarantineEntry(ctx context.Context, group, id, reason string) (bool, error) {
	moved, err := q.move(ctx, quarantineScript, []string{q.stream, q.quarantine}, group, id,
		cut(reason, maxQuarantineReason), q.discard)
	return moved != "", err
}

// Replay appends a quarantined message to the queue again. ErrNoRow: no message has this id. ErrPermanent: it has no
// body.
func (q *queue) Replay(ctx context.Context, id string) error {
	if _, ok := entryID(id); !ok {
		return fmt.Errorf("quarantined message %.40q: %w", id, shop.ErrNoRow)
	}
	moved, err := q.move(ctx, replayScript, []string{q.quarantine, q.stream}, id)
	if err == nil && moved == "" {
		err = fmt.Errorf("quarantined message %s: %w", id, shop.ErrNoRow)
	}
	return err
}

// move runs a script that moves an entry, and returns its new id; "" if there was nothing to move.
func (q *queue) move(ctx context.Context, s *script, keys []string, args ...any) (string, error) {
	reply, err := s.run(ctx, q.client, keys, args...)
	if err != nil {
		return "", err
	}
	switch code := integer(reply[0]); code {
	case codeDone:
		return text(reply[1]), nil
	case codeRejected:
		return "", fmt.Errorf("%w: the message in %s has no body", shop.ErrPermanent, keys[0])
	default:
		return "", fmt.Errorf("%s: code %d: %v have a wrong type", s.name, code, keys)
	}
}

// Drop deletes a quarantined message; false: no message has this id.
func (q *queue) Drop(ctx context.Context, id string) (bool, error) {
	if _, ok := entryID(id); !ok {
		return false, nil
	}
	n, err := q.client.XDel(ctx, q.quarantine, id).Result()
	return n == 1, wrapped(transient(err), "drop quarantined message %s", id)
}

// CountQuarantined returns the number of messages in the quarantine.
func (q *queue) CountQuarantined(ctx context.Context) (int64, error) {
	return q.length(ctx, q.quarantine)
}

func (q *queue) length(ctx context.Context, stream string) (int64, error) {
	n, err := q.client.XLen(ctx, stream).Result()
	return n, wrapped(transient(err), "count %s", stream)
}

// readQuarantine returns all messages in the quarantine, oldest first.
func readQuarantine[M any](ctx context.Context, q *queue, parse func(redis.XMessage) M) (all []M, err error) {
	err = eachPage(ctx, q.client, q.quarantine, quarantinePage, func(page []redis.XMessage) error {
		for _, m := range page {
			all = append(all, parse(m))
		}
		return nil
	})
	return all, wrapped(err, "read %s", q.quarantine)
}

// eachPage reads a whole stream, oldest first, in pages of size entries. It stops at the first error.
func eachPage(
	ctx context.Context, client redis.UniversalClient, stream string, size int64, handle func([]redis.XMessage) error,
) error {
	for from := "-"; ; {
		page, err := client.XRangeN(ctx, stream, from, "+", size).Result()
		if err != nil {
			return transient(err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := handle(page); err != nil || int64(len(page)) < size {
			return err
		}
		from = "(" + page[len(page)-1].ID
	}
}

// reader reads a queue as one consumer of a group.
type reader struct {
	*queue
	blocking redis.UniversalClient // for reads that wait
	group    string
	consumer string
	block    time.Duration // how long a read waits
	// firstDelay is the pause between the beginnings of the first and the second attempt. It is longer than an attempt
	// takes, so that no message is claimed during its delivery. Each further pause is twice as long, up to maxDelay.
	firstDelay, maxDelay time.Duration
	// deleteIdle is the idle time after which a consumer without pending entries is deleted: its node is dead.
	deleteIdle time.Duration
	from       string // where the next claim continues; used by one goroutine
}

// reader makes a reader of the queue.
func (q *queue) reader(
	blocking redis.UniversalClient, group, consumer string, firstDelay, maxDelay time.Duration,
) reader {
	return reader{
		queue: q, blocking: blocking, group: group, consumer: consumer, block: readBlock, firstDelay: firstDelay,
		maxDelay: maxDelay, deleteIdle: consumerRetention, from: claimStart,
	}
}

const (
	claimStart = "-"
	claimPage  = 64
	readBlock  = time.Second
	// consumerRetention is far longer than a live consumer waits between two reads.
	consumerRetention = time.Hour
)

// attempt is one delivery of a message; the first has the number 1.
type attempt struct {
	redis.XMessage
	number int64
}

// read returns at most n messages: new messages, for which it waits (from is ">"), or this consumer's pending
// messages after the id in from. It creates a missing group.
func (r *reader) read(ctx context.Context, from string, n int) ([]attempt, error) {
	found, err := r.blocking.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: r.group, Consumer: r.consumer, Streams: []string{r.stream, from}, Count: int64(n), Block: r.block,
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case noGroup(err):
		return nil, r.makeGroup(ctx, r.group)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.stream, transient(err))
	}
	attempts := make([]attempt, len(found[0].Messages))
	for i, m := range found[0].Messages {
		attempts[i] = attempt{m, 1}
	}
	return attempts, nil
}

// claim takes over at most n due messages, which have failed or whose consumer died. It continues where the last
// call stopped. Messages that are not due, or always fail, therefore do not hide later ones.
func (r *reader) claim(ctx context.Context, n int) (claimed []attempt, err error) {
	pending, err := r.client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: r.stream, Group: r.group, Idle: r.firstDelay, Start: r.from, End: "+", Count: claimPage,
	}).Result()
	if err != nil && !noGroup(err) {
		return nil, fmt.Errorf("list pending entries of %s: %w", r.stream, transient(err))
	}
	for _, p := range pending {
		r.from = followingID(p.ID)
		pause := r.pause(p.ID, p.RetryCount)
		if p.Idle < pause {
			continue
		}
		// Redis checks the idle time again: of two concurrent claims, one gets the message.
		won, err := r.client.XClaim(ctx, &redis.XClaimArgs{
			Stream: r.stream, Group: r.group, Consumer: r.consumer, MinIdle: pause, Messages: []string{p.ID},
		}).Result()
		if err != nil {
			return claimed, fmt.Errorf("claim %s of %s: %w", p.ID, r.stream, transient(err))
		}
		for _, m := range won {
			claimed = append(claimed, attempt{m, p.RetryCount + 1})
		}
		if len(claimed) == n {
			return claimed, nil
		}
	}
	if len(pending) < claimPage {
		r.from = claimStart
	}
	return claimed, nil
}

// pause returns the time between the beginnings of an attempt and the next one. Its jitter, up to an eighth, depends on
// the message id: messages that failed together are not repeated together, and all nodes use the same pause.
func (r *reader) pause(id string, attempts int64) time.Duration {
	pause := min(r.firstDelay<<min(max(attempts-1, 0), 16), r.maxDelay)
	return pause + pause*time.Duration(crc32.ChecksumIEEE([]byte(id))%128)/1024
}

// uncountAttempt removes an attempt from the attempt count, because the receiver caused its failure, not the message.
func (r *reader) uncountAttempt(ctx context.Context, a attempt) error {
	err := r.client.Do(ctx, "XCLAIM", r.stream, r.group, r.consumer, 0, a.ID,
		"RETRYCOUNT", a.number-1, "JUSTID").Err()
	return wrapped(transient(err), "uncount an attempt at %s", a.ID)
}
