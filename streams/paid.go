package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
)

const (
	paidTrimEvery = 10 * time.Minute
	// paidRetention is how long delivered entries stay, so that a group can be set back by a week (XGROUP SETID).
	paidRetention = 7 * 24 * time.Hour
	// A posting is delivered again after paidPause, then after pauses that double up to maxPaidPause. A delivery takes
	// less than paidPause.
	paidPause, maxPaidPause = 15 * time.Second, time.Minute
	// paidPlaces is the number of new postings delivered at the same time, repeatPlaces the number of repeated ones.
	paidPlaces, repeatPlaces = 12, 4
	// receiverPause is the pause between two attempts while the back office is unreachable.
	receiverPause = time.Second
)

// PaidStream is the stream of paid and refunded orders for the shop's back office. It is independent of the partitions:
// it is filled from the database. Any program of the shop may read it, with its own consumer group. The fields of an
// entry:
//
//	order  decimal id      rev    decimal, grows with the order's state
//	state  paid, refunded  body   JSON of outbox.Message
//
// The same (order, rev) may be delivered more than once. Postings that a receiver rejects are quarantined for its group
// only.
type PaidStream struct {
	queue
	retention time.Duration
}

// NewPaidStream makes the stream of paid orders. It does not access Redis.
func NewPaidStream(client redis.UniversalClient) *PaidStream {
	return &PaidStream{retention: paidRetention, queue: queue{
		client: client, stream: paidKey, quarantine: quarantineKey, mark: paidMark,
		listCommand: "stampede backoffice parked list",
	}}
}

// NewPaidDeliverer makes a deliverer of the postings for a group. Postings of one order that this node has read are
// delivered in the order of the stream. deliver must return within paidPause; see Deliverer for its errors.
func NewPaidDeliverer(
	client, blocking redis.UniversalClient, group, consumer string,
	deliver func(context.Context, outbox.Message) error,
) *Deliverer {
	d := &Deliverer{
		reader:  NewPaidStream(client).reader(blocking, group, consumer, paidPause, maxPaidPause),
		ordered: "order", logged: []string{"order", "rev"},
		deliver: func(ctx context.Context, m redis.XMessage) error {
			posting, err := parsePosting(m)
			if err != nil {
				return fmt.Errorf("%w: %w", outbox.ErrRejected, err)
			}
			return deliver(ctx, posting)
		},
	}
	d.newLane.places, d.repeatLane.places = paidPlaces, repeatPlaces
	d.setPauses(readBlock, claimInterval, receiverPause)
	return d
}

// Append adds postings in their order, all or none, and returns their high-water mark. last is the mark from LastSent.
// It returns a LostError if Redis may lack sent postings. After any other error the postings may have been added. It
// creates no group, because a group without a reader would keep all postings.
func (s *PaidStream) Append(
	ctx context.Context, last shop.Millis, postings []outbox.Message,
) (sent shop.Millis, err error) {
	args := make([]any, 0, 4*len(postings))
	for i := range postings {
		o := &postings[i]
		body, err := json.Marshal(o)
		if err != nil {
			return 0, fmt.Errorf("%w: encode posting of order %s: %w", shop.ErrPermanent, o.Order, err)
		}
		args = append(args, o.Order.String(), o.Rev, string(o.State), body)
	}
	reply, err := s.post(ctx, last, args...)
	if err != nil {
		return 0, fmt.Errorf("append %d postings: %w", len(postings), err)
	}
	return shop.Millis(integer(reply[0])), nil
}

// Check returns the groups of the stream, or the LostError of Append. It adds nothing.
func (s *PaidStream) Check(ctx context.Context, last shop.Millis) ([]string, error) {
	reply, err := s.post(ctx, last)
	if err != nil {
		return nil, fmt.Errorf("check the stream of paid orders: %w", err)
	}
	names := list(reply[1])
	groups := make([]string, len(names))
	for i := range names {
		groups[i] = text(names[i])
	}
	return groups, nil
}

// MakeGroups creates missing groups. They read from the beginning.
func (s *PaidStream) MakeGroups(ctx context.Context, groups []string) error {
	for _, group := range groups {
		if err := s.makeGroup(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// Run trims every ten minutes until ctx ends.
func (s *PaidStream) Run(ctx context.Context) error {
	return shop.Repeat(ctx, paidTrimEvery, "trim the stream of paid orders", func(ctx context.Context) error {
		_, err := s.trim(ctx)
		return err
	})
}

// trim deletes entries that are older than the retention and acknowledged by every group. A group without a reader
// keeps everything; operators see it in XINFO GROUPS and destroy it.
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
			return 0, fmt.Errorf("read the pending entries of group %s: %w", g.Name, transient(err))
		}
		if pending.Count > 0 {
			bound = earlier(bound, pending.Lower)
		}
	}
	n, err := s.client.XTrimMinID(ctx, paidKey, bound).Result()
	return n, wrapped(transient(err), "trim to %s", bound)
}

// earlier returns the smaller of two stream ids.
func earlier(a, b string) string {
	first, _ := entryID(a)
	second, _ := entryID(b)
	if first.After(second) {
		return b
	}
	return a
}

// Quarantined returns the postings that receivers have rejected, oldest first.
func (s *PaidStream) Quarantined(ctx context.Context) ([]outbox.QuarantinedMessage, error) {
	return readQuarantine(ctx, &s.queue, func(m redis.XMessage) outbox.QuarantinedMessage {
		field := func(name string) string { return text(m.Values[name]) }
		p := outbox.QuarantinedMessage{
			ID: m.ID, Group: field("group"), Reason: field("reason"),
			Deliveries: int(number(field("deliveries"))), At: shop.Millis(number(field("at"))),
		}
		if posting, err := parsePosting(m); err == nil {
			p.Message = posting
		}
		return p
	})
}

func parsePosting(m redis.XMessage) (outbox.Message, error) {
	var p outbox.Message
	if err := json.Unmarshal([]byte(text(m.Values["body"])), &p); err != nil {
		return p, fmt.Errorf("%w: body: %w", shop.ErrPermanent, err)
	}
	if p.Order < 1 || p.Rev < 1 || p.Order.String() != text(m.Values["order"]) ||
		strconv.Itoa(p.Rev) != text(m.Values["rev"]) {
		return p, fmt.Errorf("%w: the body is of order %s, rev %d", shop.ErrPermanent, p.Order, p.Rev)
	}
	return p, nil
}
