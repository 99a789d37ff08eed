package streams

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

const (
	sweepBatch      = 1000                   // orders per take; the limit of take.lua
	sweepLease      = time.Second            // maximum delay of an order after its sweeper died
	maxSweepSleep   = 100 * time.Millisecond // the longest sleep, so that a new, earlier deadline is not missed
	maxSweepHelpers = 9                      // concurrent helpers if more orders are due than one batch
	minBackoff      = 50 * time.Millisecond
	maxBackoff      = 2 * time.Second
)

// DeadlineHandler processes the orders whose deadline is reached (see order.Expirer).
type DeadlineHandler interface {
	// Due expires the orders that are still unpaid and gives back the units of all ended orders. It returns the orders
	// that can leave the delay queue. The other orders are due again when their lease ends.
	Due(ctx context.Context, partition int, orders []shop.ID) ([]shop.ID, error)
}

// Sweeper passes the due orders of one partition to their handler. It leases them: it raises their scores, and renews
// this lease while the handler works. Orders of a dead sweeper become due again by themselves. Any number of nodes may
// sweep a partition.
type Sweeper struct {
	conn        *connection
	partition   int
	handler     DeadlineHandler
	lease       time.Duration
	startHelper func() // called if more orders are due than one batch; nil outside Run
}

// NewSweeper makes the sweeper of a partition.
func NewSweeper(i *Inventory, partition int, handler DeadlineHandler) *Sweeper {
	return &Sweeper{conn: i.connection, partition: partition, handler: handler, lease: sweepLease}
}

// Run sweeps until ctx ends, and finishes running batches. If more orders are due than one batch, up to maxSweepHelpers
// helpers handle further batches: notifying buyers takes several times as long as ending their orders, and the units of
// later orders must not wait for the notifications.
func (s *Sweeper) Run(ctx context.Context) error {
	var helpers sync.WaitGroup
	defer helpers.Wait()
	free := make(chan struct{}, maxSweepHelpers)
	s.startHelper = func() {
		select {
		case free <- struct{}{}:
			helpers.Go(func() {
				defer func() { <-free }()
				s.runHelper(ctx)
			})
		default:
		}
	}
	delays := backoff{firstDelay: minBackoff, maxDelay: maxBackoff}
	for ctx.Err() == nil {
		next, err := s.runOnce(ctx)
		if err != nil {
			slog.WarnContext(ctx, "sweep deadlines", "partition", s.partition, "err", err)
			next = delays.next()
		} else {
			delays.reset()
		}
		if next > 0 {
			shop.Sleep(ctx, next)
		}
	}
	return nil
}

// runHelper handles batches while orders are due. Only Run pauses and logs errors.
func (s *Sweeper) runHelper(ctx context.Context) {
	for ctx.Err() == nil {
		if next, err := s.runOnce(ctx); err != nil || next > 0 {
			return
		}
	}
}

// runOnce handles one due batch and returns the time until more orders may be due, at most maxSweepSleep.
func (s *Sweeper) runOnce(ctx context.Context) (time.Duration, error) {
	ctx, cancel := drainContext(ctx)
	defer cancel()
	held, wait, err := s.claim(ctx)
	if err != nil || len(held.orders) == 0 {
		return wait, err
	}
	if wait == 0 && s.startHelper != nil {
		s.startHelper()
	}
	finished, err := s.handle(ctx, held)
	if err != nil {
		return 0, fmt.Errorf("handle %d deadlines: %w", len(held.orders), err)
	}
	return wait, s.drop(ctx, held, finished)
}

// leased is a batch of orders under a lease. score is their current score in the delay queue; it identifies the lease.
type leased struct {
	orders []shop.ID
	mu     sync.Mutex
	score  string
}

func (l *leased) currentScore() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.score
}

func (s *Sweeper) claim(ctx context.Context) (*leased, time.Duration, error) {
	key := s.conn.parts[s.partition].keys.deadlines
	reply, err := takeScript.run(ctx, s.conn.client, []string{key}, sweepBatch, s.lease.Milliseconds())
	if err != nil {
		return nil, 0, err
	}
	held := &leased{score: text(reply[1])}
	for _, member := range reply[3:] {
		if id, err := shop.ParseID(text(member)); err == nil {
			held.orders = append(held.orders, id)
		}
	}
	wait := maxSweepSleep
	if next := text(reply[2]); next != "" {
		wait = min(wait, max(0, time.Duration(number(next)-number(text(reply[0])))*time.Millisecond))
	}
	return held, wait, nil
}

// handle runs the handler and renews the lease while it works.
func (s *Sweeper) handle(ctx context.Context, held *leased) ([]shop.ID, error) {
	var finished []shop.ID
	err := runWithInterval(ctx, s.lease/3, func(ctx context.Context) { s.renew(ctx, held) },
		func(ctx context.Context) error {
			var err error
			finished, err = s.handler.Due(ctx, s.partition, held.orders)
			return err
		})
	return finished, err
}

// renew extends the lease. A failure is ignored: at worst another sweeper repeats the work.
func (s *Sweeper) renew(ctx context.Context, held *leased) {
	key := s.conn.parts[s.partition].keys.deadlines
	args := append(make([]any, 0, 2+len(held.orders)), held.currentScore(), s.lease.Milliseconds())
	for _, id := range held.orders {
		args = append(args, int64(id))
	}
	reply, err := renewScript.run(ctx, s.conn.client, []string{key}, args...)
	if err != nil {
		return
	}
	held.mu.Lock()
	held.score = text(reply[0])
	held.mu.Unlock()
}

// drop removes finished orders that this sweeper's lease still holds.
func (s *Sweeper) drop(ctx context.Context, held *leased, finished []shop.ID) error {
	if len(finished) == 0 {
		return nil
	}
	key := s.conn.parts[s.partition].keys.deadlines
	args := append(make([]any, 0, 1+len(finished)), held.currentScore())
	for _, id := range finished {
		args = append(args, int64(id))
	}
	reply, err := dropScript.run(ctx, s.conn.client, []string{key}, args...)
	if err != nil {
		return err
	}
	s.conn.metrics.deadlinesFinished.Add(float64(integer(reply[0])))
	return nil
}

// scheduleChunk is the number of deadlines per ZADD.
const scheduleChunk = 1000

// Schedule adds deadlines to the delay queue. An existing one keeps its score, which may be a sweeper's lease. It needs
// no epoch: a deadline belongs to a row, and the sweeper removes one without a row.
func (q Queue) Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error {
	k, err := q.keys(partition)
	if err != nil {
		return err
	}
	if len(deadlines) == 0 {
		return nil
	}
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for chunk := range slices.Chunk(deadlines, scheduleChunk) {
			members := make([]redis.Z, len(chunk))
			for i, deadline := range chunk {
				members[i] = redis.Z{Score: float64(deadline.PayBy), Member: deadline.Order.String()}
			}
			p.ZAddNX(ctx, k.deadlines, members...)
		}
		return nil
	})
	return wrapped(transient(err), "schedule %d deadlines of partition %d", len(deadlines), partition)
}
