package streams

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// claimInterval is the pause between two passes over all pending messages.
const claimInterval = 3 * time.Second

// Deliverer delivers the messages of a queue to a receiver that may be slow, reject messages, or be unreachable:
//
//	result              effect
//	nil                 acknowledged
//	outbox.ErrRejected  quarantined
//	outbox.PauseError   the receiver is unavailable: not counted; all deliveries pause for After
//	any other error     counted; delivered again after a growing pause, and quarantined after the last attempt
//
// New messages and repeated messages have separate places, so that neither kind delays the other. An attempt counts
// when it begins, because it may crash the process. Any number of nodes may share a group.
type Deliverer struct {
	reader
	deliver  func(ctx context.Context, m redis.XMessage) error // returns within the first pause
	attempts int64                                             // attempts before quarantine; 0: no limit
	// ordered is the name of a field of the entries, or "". Of the messages that this node has read, those with the
	// same value in this field are delivered one at a time, in the order of the stream.
	ordered string
	logged  []string // fields of the entries for the log

	newLane, repeatLane            lane
	claimInterval                  time.Duration
	sequencer                      sequencer
	delivered, quarantined, failed atomic.Int64
}

// lane is a number of places for concurrent deliveries, with their common pace.
type lane struct {
	places int
	pace   pace
}

func (d *Deliverer) setPauses(block, claimInterval, receiver time.Duration) {
	d.block, d.claimInterval = block, claimInterval
	d.newLane.pace.minPause, d.repeatLane.pace.minPause = receiver, receiver
}

// Counts returns the numbers of attempts of this node that ended with the message delivered, quarantined, or neither.
func (d *Deliverer) Counts() [3]int64 {
	return [3]int64{d.delivered.Load(), d.quarantined.Load(), d.failed.Load()}
}

// Run delivers until ctx ends. It finishes running deliveries, within drainTime.
func (d *Deliverer) Run(ctx context.Context) error {
	var lanes sync.WaitGroup
	lanes.Go(func() { d.run(ctx, &d.newLane, d.next) })
	lanes.Go(func() { d.run(ctx, &d.repeatLane, d.due) })
	lanes.Wait()
	return ctx.Err()
}

// next returns new messages.
func (d *Deliverer) next(ctx context.Context, n int) ([]attempt, error) { return d.read(ctx, ">", n) }

// due returns messages that are due again. After each pass over all pending messages, it deletes the consumers of dead
// nodes and waits for claimInterval.
func (d *Deliverer) due(ctx context.Context, n int) ([]attempt, error) {
	claimed, err := d.claim(ctx, n)
	if err == nil && len(claimed) == 0 && d.from == claimStart {
		_, err = leaveScript.run(ctx, d.client, []string{d.stream}, d.group, "", d.deleteIdle.Milliseconds())
		shop.Sleep(ctx, d.claimInterval)
	}
	return claimed, err
}

// run delivers on a lane. It reads at most as many messages as the lane has free places, and only one while the
// receiver is unreachable.
func (d *Deliverer) run(ctx context.Context, l *lane, read func(context.Context, int) ([]attempt, error)) {
	fault := backoff{firstDelay: time.Second, maxDelay: 30 * time.Second}
	free := semaphore.NewWeighted(int64(l.places))
	var running sync.WaitGroup
	defer running.Wait()
	for {
		if l.pace.failing() {
			running.Wait() // before the pause is read, because a failed delivery begins a pause
		}
		if !l.pace.wait(ctx) {
			return
		}
		probing := l.pace.failing()
		if free.Acquire(ctx, 1) != nil {
			return
		}
		n := 1
		for n < l.places && !probing && free.TryAcquire(1) {
			n++
		}
		if !probing && l.pace.failing() { // the delivery that has just ended found the receiver unreachable
			free.Release(int64(n))
			continue
		}
		attempts, err := read(ctx, n)
		free.Release(int64(n - len(attempts)))
		for _, a := range attempts {
			ready, leave := d.sequencer.join(text(a.Values[d.ordered]))
			running.Go(func() {
				defer free.Release(1)
				defer leave()
				<-ready
				d.handle(ctx, &l.pace, a)
			})
		}
		if err == nil {
			fault.reset()
		} else if ctx.Err() == nil {
			slog.WarnContext(ctx, "cannot read a queue", "queue", d.stream, "group", d.group, "err", err)
			shop.Sleep(ctx, fault.next())
		}
	}
}

// handle makes one attempt and records its result.
func (d *Deliverer) handle(ctx context.Context, p *pace, a attempt) {
	if ctx.Err() != nil {
		return
	}
	ctx, done := drainContext(ctx) // an interrupted delivery would be repeated
	defer done()
	began := time.Now()
	err := d.deliver(ctx, a.XMessage)
	p.record(err, began)
	var requested *outbox.PauseError
	switch {
	case err == nil:
		if err = d.acknowledge(ctx, d.group, a.ID); err == nil {
			d.delivered.Add(1)
		}
	case errors.Is(err, outbox.ErrRejected):
		err = d.quarantineMessage(ctx, a, err)
	case errors.As(err, &requested):
		d.failed.Add(1)
		d.newLane.pace.pause(requested.After)
		d.repeatLane.pace.pause(requested.After)
		err = errors.Join(err, d.uncountAttempt(ctx, a))
	case ctx.Err() != nil: // shutdown: the result is unknown, so the attempt counts
	default:
		d.failed.Add(1)
		if d.attempts > 0 && a.number >= d.attempts {
			err = d.quarantineMessage(ctx, a, err)
		}
	}
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "cannot deliver a message; it is retried", d.describe(a, err)...)
	}
}

// quarantineMessage moves a message to the quarantine. Its result contains the cause only if this fails.
func (d *Deliverer) quarantineMessage(ctx context.Context, a attempt, cause error) error {
	moved, err := d.quarantineEntry(ctx, d.group, a.ID, cause.Error())
	if err != nil {
		return errors.Join(cause, err)
	}
	if moved {
		d.quarantined.Add(1)
		slog.ErrorContext(ctx, "a message is quarantined; `"+d.listCommand+"` lists it", d.describe(a, cause)...)
	}
	return nil
}

// describe returns log attributes of an attempt, without secrets and personal data.
func (d *Deliverer) describe(a attempt, err error) []any {
	attrs := []any{"queue", d.stream, "group", d.group, "id", a.ID, "attempt", a.number, "err", err}
	for _, name := range d.logged {
		attrs = append(attrs, name, text(a.Values[name]))
	}
	return attrs
}

// sequencer delivers messages with the same value one at a time, in the order in which they joined.
type sequencer struct {
	mu   sync.Mutex
	last map[string]chan struct{} // closed when the last message with this value has left
}

// join returns a channel that is closed when the caller may deliver, and a function that lets the next caller deliver.
func (s *sequencer) join(value string) (ready <-chan struct{}, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = make(map[string]chan struct{})
	}
	finished := make(chan struct{})
	previous, occupied := s.last[value]
	if !occupied || value == "" {
		previous = make(chan struct{})
		close(previous)
	}
	s.last[value] = finished
	return previous, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last[value] == finished {
			delete(s.last, value)
		}
		close(finished)
	}
}

const (
	// maxFaults is the number of failures in a row after which the receiver counts as unreachable. Fewer failures may
	// be caused by single messages.
	maxFaults = 3
	// maxPause is the longest pause that a receiver can request.
	maxPause = 5 * time.Minute
)

// pace reduces deliveries to a receiver that accepts nothing:
//
//	normal ── maxFaults failures, or the receiver requests a pause ──▶ failing: pause, one delivery, pause, …
//	  ▲                                                                  │
//	  └───────────────── one message was delivered or rejected ──────────┘
type pace struct {
	minPause time.Duration // pause between two attempts to reach the receiver again

	mu     sync.Mutex
	faults int       // in a row
	until  time.Time // the end of the pause
}

// wait waits until the pause is over; false: ctx ended first.
func (p *pace) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		p.mu.Lock()
		remaining := time.Until(p.until)
		p.mu.Unlock()
		if remaining <= 0 {
			return true
		}
		shop.Sleep(ctx, remaining)
	}
	return false
}

func (p *pace) failing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults >= maxFaults
}

// record records the result of a delivery. Concurrent deliveries fail together: a pause that has begun since this
// delivery began covers its failure.
func (p *pace) record(err error, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil || errors.Is(err, outbox.ErrRejected) {
		p.faults = 0
		return
	}
	p.faults++
	if p.faults >= maxFaults && began.After(p.until) {
		p.until = time.Now().Add(p.minPause)
	}
}

// pause records that the receiver requested a pause. The pause lasts at least minPause and at most maxPause.
func (p *pace) pause(requested time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = max(p.faults, maxFaults)
	if until := time.Now().Add(min(max(requested, p.minPause), maxPause)); until.After(p.until) {
		p.until = until
	}
}
