package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	paidTrimEvery = 10 * time.Minute
	// paidRetention is how long read entries stay, so that a reader can be put back by a week (XGROUP SETID).
	paidRetention = 7 * 24 * time.Hour
)

// PaidStream is the stream of paid and refunded orders for the shop's back office. It has nothing to do with the
// partitions: it is filled from the database, and read by whatever programs the shop has, each under a consumer group
// of its own. An entry has the fields
//
//	order  decimal id      rev    decimal, grows with the order's state
//	state  paid, refunded  body   JSON of app.OutboxMessage
//
// The same (order, rev) may come more than once.
type PaidStream struct {
	client    redis.UniversalClient
	retention time.Duration
}

var _ app.OutboxStream = (*PaidStream)(nil)

// NewPaidStream touches nothing in Redis yet.
func NewPaidStream(client redis.UniversalClient) *PaidStream {
	return &PaidStream{client: client, retention: paidRetention}
}

// Append adds postings in their order. The documented group is there from the first entry on, so that nothing is
// trimmed before anybody has come to read it.
func (s *PaidStream) Append(ctx context.Context, postings []app.OutboxMessage) error {
	if err := makeGroup(ctx, s.client, paidKey, BackOfficeGroup); err != nil {
		return err
	}
	bodies := make([][]byte, len(postings))
	for i := range postings {
		var err error
		if bodies[i], err = json.Marshal(&postings[i]); err != nil {
			return fmt.Errorf("%w: encode posting of order %s: %w", app.ErrPermanent, postings[i].Order, err)
		}
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range postings {
			o := &postings[i]
			p.XAdd(ctx, &redis.XAddArgs{Stream: paidKey, Values: []any{
				"order", o.Order.String(), "rev", o.Rev, "state", string(o.State), "body", bodies[i],
			}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append %d postings: %w", len(postings), transient(err))
	}
	return nil
}

// Run trims from time to time until ctx ends.
func (s *PaidStream) Run(ctx context.Context) error {
	return app.Repeat(ctx, paidTrimEvery, "trim the stream of paid orders", func(ctx context.Context) error {
		_, err := s.trim(ctx)
		return err
	})
}

// trim forgets what is older than the retention and behind every group: delivered and acknowledged. A group that nobody
// reads for keeps everything; operators see it in XINFO GROUPS and destroy it.
func (s *PaidStream) trim(ctx context.Context) (int64, error) {
	now, err := serverTime(ctx, s.client, paidKey)
	if err != nil {
		return 0, fmt.Errorf("read Redis time: %w", transient(err))
	}
	groups, err := s.client.XInfoGroups(ctx, paidKey).Result()
	if err != nil {
		if strings.Contains(err.Error(), "no such key") {
			return 0, nil
		}
		return 0, fmt.Errorf("list its groups: %w", transient(err))
	}
	bound := fmt.Sprintf("%d-0", now.Add(-s.retention).UnixMilli())
	for _, g := range groups {
		bound = earlier(bound, g.LastDeliveredID)
		if g.Pending == 0 {
			continue
		}
		pending, err := s.client.XPending(ctx, paidKey, g.Name).Result()
		if err != nil {
			return 0, fmt.Errorf("look at pending entries of group %s: %w", g.Name, transient(err))
		}
		if pending.Count > 0 {
			bound = earlier(bound, pending.Lower)
		}
	}
	n, err := s.client.XTrimMinID(ctx, paidKey, bound).Result()
	if err != nil {
		return 0, fmt.Errorf("trim to %s: %w", bound, transient(err))
	}
	return n, nil
}

// earlier is the smaller of two stream ids.
func earlier(a, b string) string {
	first, _ := entryID(a)
	second, _ := entryID(b)
	if first.After(second) {
		return b
	}
	return a
}

// makeGroup makes a group that reads from the beginning, and the stream with it, unless they are there.
func makeGroup(ctx context.Context, client redis.UniversalClient, stream, name string) error {
	err := client.XGroupCreateMkStream(ctx, stream, name, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return fmt.Errorf("make group %s: %w", name, transient(err))
	}
	return nil
}
