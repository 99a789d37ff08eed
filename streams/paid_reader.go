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

// PaidReader reads the stream of paid orders under a group: the example of how a back office does it, and what
// PaidDeliverer stands on. Each entry goes to the handler until it has taken it, at least once. Several readers may
// share a group, each under its own consumer name; one reader is for one goroutine.
type PaidReader struct {
	client    redis.UniversalClient
	group     string
	consumer  string
	claimIdle time.Duration
	block     time.Duration
	// where to go on in what this consumer has in hand: "0" after a start or an error, "" when all was seen
	mine    string
	untaken string // where the next claim goes on
}

// streamStart is where claims begin, and what Redis answers when it has come to the end.
const streamStart = "0-0"

// NewPaidReader makes a reader. The client should be one that blocking reads do not keep others waiting for.
func NewPaidReader(client redis.UniversalClient, group, consumer string) *PaidReader {
	return &PaidReader{
		client: client, group: group, consumer: consumer, claimIdle: paidClaimIdle, block: paidBlock,
		mine: "0", untaken: streamStart,
	}
}

// RunOnce hands over what is there, one after the other: what this consumer has in hand since an error, or what
// somebody was given long ago and never took, or what is new, for which it waits a moment. It answers how many entries
// were taken. An error is the handler's, or a transient fault; what was not taken stays pending.
func (r *PaidReader) RunOnce(
	ctx context.Context, handle func(context.Context, app.OutboxMessage) error,
) (taken int, err error) {
	defer func() {
		if err != nil {
			r.mine = "0"
		}
	}()
	entries, err := r.next(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range entries {
		posting, err := parseMessage(m)
		if err != nil { // nothing of ours; it would come for ever
			slog.ErrorContext(ctx, "an entry of the paid stream cannot be read", "id", m.ID, "err", err)
		} else if err = handle(ctx, posting); err != nil {
			return taken, fmt.Errorf("hand over order %s: %w", posting.Order, err)
		}
		if err := r.acknowledge(ctx, m.ID); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}

func (r *PaidReader) next(ctx context.Context) ([]redis.XMessage, error) {
	for _, look := range []func(context.Context, int) ([]redis.XMessage, error){r.inHand, r.claim} {
		if found, err := look(ctx, paidBatch); err != nil || len(found) > 0 {
			return found, err
		}
	}
	return r.fresh(ctx, paidBatch)
}

// inHand goes on in what this consumer was given before and has not acknowledged; nothing when it has seen it all.
func (r *PaidReader) inHand(ctx context.Context, most int) ([]redis.XMessage, error) {
	if r.mine == "" {
		return nil, nil
	}
	found, err := r.read(ctx, r.mine, most)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		r.mine = ""
	default:
		r.mine = found[len(found)-1].ID
	}
	return found, nil
}

// claim takes over what nobody has taken for long. It goes on where the last claim has stopped, because Redis looks at
// a few entries only each time: from the start, entries that are never taken would hide all that come after them.
// Nothing means that it has come to the end; the next claim begins anew.
func (r *PaidReader) claim(ctx context.Context, most int) ([]redis.XMessage, error) {
	for {
		old, next, err := r.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: paidKey, Group: r.group, Consumer: r.consumer, MinIdle: r.claimIdle, Start: r.untaken,
			Count: int64(most),
		}).Result()
		if noGroup(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("claim paid orders: %w", transient(err))
		}
		r.untaken = next
		if len(old) > 0 || next == streamStart {
			return old, nil
		}
	}
}

// fresh reads what nobody in the group was given yet, and waits for it a moment.
func (r *PaidReader) fresh(ctx context.Context, most int) ([]redis.XMessage, error) {
	return r.read(ctx, ">", most)
}

// read reads new entries (from ">"), or those that this consumer has in hand. Without a group it makes one.
func (r *PaidReader) read(ctx context.Context, from string, most int) ([]redis.XMessage, error) {
	found, err := r.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: r.group, Consumer: r.consumer, Streams: []string{paidKey, from}, Count: int64(most), Block: r.block,
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case noGroup(err):
		return nil, makeGroup(ctx, r.client, paidKey, r.group)
	case err != nil:
		return nil, fmt.Errorf("read paid orders: %w", transient(err))
	}
	return found[0].Messages, nil
}

func (r *PaidReader) acknowledge(ctx context.Context, id string) error {
	if err := r.client.XAck(ctx, paidKey, r.group, id).Err(); err != nil {
		return fmt.Errorf("acknowledge %s: %w", id, transient(err))
	}
	return nil
}

func parseMessage(m redis.XMessage) (app.OutboxMessage, error) {
	var p app.OutboxMessage
	if err := json.Unmarshal([]byte(text(m.Values["body"])), &p); err != nil {
		return p, fmt.Errorf("%w: body: %w", app.ErrPermanent, err)
	}
	if p.Order < 1 || p.Rev < 1 || p.Order.String() != text(m.Values["order"]) ||
		strconv.Itoa(p.Rev) != text(m.Values["rev"]) {
		return p, fmt.Errorf("%w: the body is of order %s, rev %d", app.ErrPermanent, p.Order, p.Rev)
	}
	return p, nil
}
