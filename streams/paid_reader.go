package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// BackOfficeGroup is the group that is there from the beginning, for the shop's own reader.
const BackOfficeGroup = "backoffice"

const (
	paidBatch     = 16
	paidBlock     = time.Second
	paidClaimIdle = 30 * time.Second // what a reader has had for so long is another's, or its own to try again
)

// PaidReader reads the stream of paid orders under a group: the example of how a back office does it, and what the
// webhook stands on. Each entry goes to the handler until it has taken it, at least once. Several readers may share a
// group, each under its own consumer name; one reader is for one goroutine.
type PaidReader struct {
	client    redis.UniversalClient
	group     string
	consumer  string
	claimIdle time.Duration
	block     time.Duration
	batch     int
	mine      bool // entries that this consumer has in hand come before new ones: after a start, and after an error
}

// NewPaidReader makes a reader. The client should be one that blocking reads do not keep others waiting for.
func NewPaidReader(client redis.UniversalClient, group, consumer string) *PaidReader {
	return &PaidReader{client: client, group: group, consumer: consumer, claimIdle: paidClaimIdle, block: paidBlock, batch: paidBatch, mine: true}
}

// AtMost bounds how many entries the next RunOnce hands over, n ≥ 1.
func (r *PaidReader) AtMost(n int) { r.batch = min(n, paidBatch) }

// Run hands entries over until ctx ends. What the handler does not take for app.ErrNotTaken comes again later; after any
// other error of it the reader pauses before it goes on.
func (r *PaidReader) Run(ctx context.Context, handle func(context.Context, app.Posting) error) error {
	pause := backoff{first: time.Second, longest: 30 * time.Second}
	for ctx.Err() == nil {
		_, err := r.RunOnce(ctx, handle)
		if err == nil {
			pause.reset()
			continue
		}
		if ctx.Err() == nil {
			slog.WarnContext(ctx, "read the stream of paid orders", "group", r.group, "err", err)
			sleep(ctx, pause.next())
		}
	}
	return ctx.Err()
}

// RunOnce hands over what is there: what this consumer has in hand since an error, or what somebody was given long ago and
// never took, or what is new, for which it waits a moment. It answers how many entries were taken. An error is the
// handler's, or a fault of the moment; what was not taken stays pending.
func (r *PaidReader) RunOnce(ctx context.Context, handle func(context.Context, app.Posting) error) (taken int, err error) {
	defer func() { r.mine = err != nil }()
	entries, err := r.next(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range entries {
		posting, err := parsePosting(m)
		if err != nil { // nothing of ours; it would come for ever
			slog.ErrorContext(ctx, "an entry of the paid stream cannot be read", "id", m.ID, "err", err)
		} else if err = handle(ctx, posting); errors.Is(err, app.ErrNotTaken) {
			slog.WarnContext(ctx, "a paid order could not be delivered; it comes again", "group", r.group, "order", posting.Order, "err", err)
			continue
		} else if err != nil {
			return taken, fmt.Errorf("hand over order %s: %w", posting.Order, err)
		}
		if err := r.client.XAck(ctx, paidKey, r.group, m.ID).Err(); err != nil {
			return taken, fmt.Errorf("acknowledge %s: %w", m.ID, moment(err))
		}
		taken++
	}
	return taken, nil
}

func (r *PaidReader) next(ctx context.Context) ([]redis.XMessage, error) {
	if r.mine {
		if mine, err := r.read(ctx, "0"); err != nil || len(mine) > 0 {
			return mine, err
		}
	}
	old, _, err := r.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: paidKey, Group: r.group, Consumer: r.consumer, MinIdle: r.claimIdle, Start: "0", Count: int64(r.batch),
	}).Result()
	if err != nil && !noGroup(err) || len(old) > 0 {
		return old, moment(err)
	}
	return r.read(ctx, ">")
}

// read reads new entries (from ">"), or those that this consumer has in hand (from "0"). Without a group it makes one.
func (r *PaidReader) read(ctx context.Context, from string) ([]redis.XMessage, error) {
	found, err := r.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: r.group, Consumer: r.consumer, Streams: []string{paidKey, from}, Count: int64(r.batch), Block: r.block,
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case noGroup(err):
		return nil, makeGroup(ctx, r.client, paidKey, r.group)
	case err != nil:
		return nil, fmt.Errorf("read paid orders: %w", moment(err))
	}
	return found[0].Messages, nil
}

func parsePosting(m redis.XMessage) (app.Posting, error) {
	var p app.Posting
	if err := json.Unmarshal([]byte(text(m.Values["body"])), &p); err != nil {
		return p, fmt.Errorf("%w: body: %w", app.ErrData, err)
	}
	if p.Order < 1 || p.Rev < 1 || p.Order.String() != text(m.Values["order"]) || strconv.Itoa(p.Rev) != text(m.Values["rev"]) {
		return p, fmt.Errorf("%w: the body is of order %s, rev %d", app.ErrData, p.Order, p.Rev)
	}
	return p, nil
}
