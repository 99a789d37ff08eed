package streams

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	// freshPlaces is how many new entries are under way to the receiver at the same time; oldPlaces how many of those
	// that were under way before and not taken. They have places of their own, so that neither keeps the other waiting.
	freshPlaces, oldPlaces = 12, 4
	// tryAgain is how long after a delivery began that came to nothing the next one may begin, here or elsewhere; it is
	// longer than a delivery takes.
	tryAgain = 15 * time.Second
	// oldPause is how long after a turn over all that is untaken the next one begins.
	oldPause = 3 * time.Second
)

// PaidDeliverer hands the entries of the stream of paid orders to a receiver that may be slow, refuse, or be away:
//
//	taken                 acknowledged
//	refused               parked for an operator (app.ErrMessageRefused)
//	anything else         stays pending; tried again after tryAgain, by this node or another
//	app.PauseError        the same, and nothing is delivered for as long as the receiver asks
//
// Postings of one order that are in hand go out in the order of the stream, one at a time; for the others no posting
// waits. Any number of nodes may share the group.
type PaidDeliverer struct {
	stream      *PaidStream
	fresh, old  *PaidReader
	deliver     func(context.Context, app.OutboxMessage) error
	freshPace   pace
	oldPace     pace
	oldPause    time.Duration
	orders      turns
	taken       atomic.Int64
	parked      atomic.Int64
	undelivered atomic.Int64
}

// NewPaidDeliverer makes a deliverer. deliver must end by itself, within tryAgain.
func NewPaidDeliverer(
	client, blocking redis.UniversalClient, group, consumer string,
	deliver func(context.Context, app.OutboxMessage) error,
) *PaidDeliverer {
	d := &PaidDeliverer{
		stream: NewPaidStream(client), fresh: NewPaidReader(blocking, group, consumer), old: NewPaidReader(client,
			group, consumer),
		deliver: deliver, oldPause: oldPause, freshPace: pace{shortest: shortestPause}, oldPace: pace{
			shortest: shortestPause,
		},
	}
	d.old.claimIdle = tryAgain
	return d
}

// Counts tell how many deliveries were taken, parked because they were refused, and neither.
func (d *PaidDeliverer) Counts() (taken, parked, undelivered int64) {
	return d.taken.Load(), d.parked.Load(), d.undelivered.Load()
}

// Run delivers until ctx ends.
func (d *PaidDeliverer) Run(ctx context.Context) error {
	var deliverers sync.WaitGroup
	deliverers.Go(func() { d.courier(ctx, &d.freshPace, freshPlaces, d.fresh.fresh).run(ctx) })
	deliverers.Go(func() { d.courier(ctx, &d.oldPace, oldPlaces, d.untaken).run(ctx) })
	deliverers.Wait()
	return ctx.Err()
}

// untaken answers what was tried long enough ago, and waits between two turns over all of it.
func (d *PaidDeliverer) untaken(ctx context.Context, most int) ([]redis.XMessage, error) {
	found, err := d.old.claim(ctx, most)
	if err == nil && len(found) == 0 {
		app.Sleep(ctx, d.oldPause)
	}
	return found, err
}

// courier keeps deliveries of what read answers under way.
func (d *PaidDeliverer) courier(
	ctx context.Context, p *pace, places int, read func(context.Context, int) ([]redis.XMessage, error),
) *courier {
	return &courier{
		pace: p, places: places, from: "the stream of paid orders for group " + d.fresh.group, read: read,
		begin: func(m redis.XMessage) func() {
			posting, err := parseMessage(m)
			turn := d.orders.join(posting.Order)
			return func() {
				defer turn.leave()
				<-turn.mine
				d.handOver(ctx, p, m.ID, posting, err)
			}
		},
	}
}

// handOver delivers one entry and notes what became of it. unreadable says why it is no posting, if it is none.
func (d *PaidDeliverer) handOver(ctx context.Context, p *pace, id string, posting app.OutboxMessage, unreadable error) {
	began := time.Now()
	err := unreadable
	if err == nil {
		err = d.deliver(ctx, posting)
	}
	var asked *app.PauseError
	switch {
	case err == nil:
		p.answered()
		if err = d.fresh.acknowledge(ctx, id); err == nil {
			d.taken.Add(1)
		}
	case unreadable != nil, errors.Is(err, app.ErrMessageRefused):
		p.answered()
		slog.ErrorContext(ctx, "a posting is refused and parked; `stampede backoffice parked list` shows it",
			"group", d.fresh.group, "id", id, "order", posting.Order, "rev", posting.Rev, "err", err)
		if _, err = d.stream.park(ctx, d.fresh.group, id, err.Error()); err == nil {
			d.parked.Add(1)
		}
	case errors.As(err, &asked):
		d.undelivered.Add(1)
		d.freshPace.pause(asked.After)
		d.oldPace.pause(asked.After)
	default:
		d.undelivered.Add(1)
		p.failed(began)
	}
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "a posting is not delivered yet; it comes again",
			"group", d.fresh.group, "order", posting.Order, "rev", posting.Rev, "err", err)
	}
}
