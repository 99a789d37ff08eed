package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stampede/app/shop"
)

const (
	// opPause keeps each connection below the server's limit of 20 ops per second.
	opPause = 51 * time.Millisecond
	// settleWithin limits the wait for pending ops after the last op was sent.
	settleWithin = time.Minute
	// repeatAfter is the pause before an op is repeated after the error `busy`.
	repeatAfter = 250 * time.Millisecond
)

// work describes the ops of a measurement.
type work struct {
	op      func(l *loop, s *socket, at time.Duration) // sends one op
	joins   func(s *socket) bool                       // whether the shopper takes part; nil: all shoppers
	canSend func(s *socket) bool                       // whether the shopper has ops left to send; nil: always
	finish  kind                                       // the kind of frame that ends an op
	code    string                                     // the error code that counts as a reply; "": none

	rate   float64       // ops per second of the whole crowd; 0: closed loop
	warmUp time.Duration // load time before the measured window
	window time.Duration
	burst  bool // all shoppers send one op at the same instant; window and rate are ignored
}

// workPhase is one loop's part of the work.
type workPhase struct {
	work
	rate  float64 // ops per second of this loop; 0: closed loop
	begin time.Duration
	next  int       // open loop: index of the next socket
	sent  int       // open loop: ops sent so far
	due   []*socket // closed loop: sockets that wait for opPause, in order

	started bool
	stopped time.Duration // time at which the phase stopped sending; 0: it still sends
	replies histogram     // latency to the reply, of ops within the window
	orders  histogram     // latency to the order event
	done    int64         // ops that ended within the window
	unsent  int           // due ops without a free shopper
	busy    []repeat      // ops to repeat, oldest first
	repeats int
}

// repeat is an op that got the error `busy`, with the time of its repeat.
type repeat struct {
	socket *socket
	at     time.Duration
}

// workResult is the result of some work.
type workResult struct {
	Ops             int64   // number of ops that ended within the window
	Seconds         float64 // length of the window; for a burst, the time until the last reply
	Replies, Orders histogram
	Unsent, Repeats int
}

// add merges the result of other work of the same kind.
func (w *workResult) add(other *workResult) {
	w.Ops, w.Seconds = w.Ops+other.Ops, w.Seconds+other.Seconds
	w.Replies.merge(&other.Replies)
}

// runWork runs the work on the whole crowd.
func (c *crowd) runWork(ctx context.Context, w work) (*workResult, error) {
	begin := time.Since(c.began) + 20*time.Millisecond
	parts := make([]*workPhase, len(c.loops))
	for i := range parts {
		parts[i] = &workPhase{work: w, rate: w.rate / float64(len(c.loops)), begin: begin}
	}
	if err := runPhase(ctx, c, parts); err != nil {
		return nil, err
	}
	result := &workResult{Seconds: w.window.Seconds()}
	for _, p := range parts {
		result.Ops += p.done
		result.Unsent += p.unsent
		result.Repeats += p.repeats
		result.Replies.merge(&p.replies)
		result.Orders.merge(&p.orders)
	}
	if w.burst {
		result.Seconds = float64(result.Replies.maximum) / 1e6
	}
	return result, nil
}

func (p *workPhase) step(l *loop) (time.Duration, bool) {
	now := l.now()
	if now < p.begin {
		return p.begin - now, false
	}
	p.repeatBusy(l, now)
	if p.stopped > 0 {
		return 10 * time.Millisecond, p.settled(l, now)
	}
	switch {
	case p.burst:
		for _, s := range l.sockets {
			p.sendFirst(l, s, p.begin)
		}
		p.stopped = l.now()
		return 0, false
	case now >= p.begin+p.warmUp+p.window:
		p.stopped = now
		p.countUnsent(now)
		return 0, false
	case p.rate > 0:
		return p.sendOpenLoop(l, now), false
	}
	return p.sendClosedLoop(l, now), false
}

// sendOpenLoop sends all due ops. If no shopper is free, the op stays due. Its latency starts at the time at which it
// was due.
func (p *workPhase) sendOpenLoop(l *loop, now time.Duration) time.Duration {
	for {
		at := p.dueAt(p.sent)
		if at > now {
			return at - now
		}
		s := p.freeSocket(l)
		if s == nil {
			return time.Millisecond
		}
		p.sent++
		p.send(l, s, at)
	}
}

// dueAt returns the time at which the op with this number of the open loop is due.
func (p *workPhase) dueAt(number int) time.Duration {
	return p.begin + time.Duration(float64(number)/p.rate*float64(time.Second))
}

// countUnsent counts the ops that are still due when an open loop ends. Their latency so far is recorded.
func (p *workPhase) countUnsent(now time.Duration) {
	if p.rate == 0 {
		return
	}
	for ; p.dueAt(p.sent) < p.begin+p.warmUp+p.window; p.sent++ {
		p.unsent++
		p.recordLatency(&p.replies, now, p.dueAt(p.sent))
		if p.finish == ordered {
			p.recordLatency(&p.orders, now, p.dueAt(p.sent))
		}
	}
}

// repeatBusy repeats the ops that got the error `busy`, after repeatAfter.
func (p *workPhase) repeatBusy(l *loop, now time.Duration) {
	for len(p.busy) > 0 && p.busy[0].at <= now {
		if s := p.busy[0].socket; s.fd >= 0 {
			s.resend(l)
			s.pendingOps-- // the op is still counted since its first send
		}
		p.busy = p.busy[1:]
	}
}

// freeSocket returns the next shopper without a pending op that has ops left, or nil.
func (p *workPhase) freeSocket(l *loop) *socket {
	for range l.sockets {
		s := l.sockets[p.next%len(l.sockets)]
		p.next++
		if s.fd >= 0 && p.takesPart(s) && p.isIdle(s) && p.maySend(s) {
			return s
		}
	}
	return nil
}

func (p *workPhase) isIdle(s *socket) bool {
	return s.pendingOps == 0 && (p.finish != ordered || s.orders >= s.reserved)
}

// sendClosedLoop first sends one op of each shopper. Then it sends the next op of each shopper whose pause is over.
func (p *workPhase) sendClosedLoop(l *loop, now time.Duration) time.Duration {
	if !p.started {
		p.started = true
		for _, s := range l.sockets {
			p.sendFirst(l, s, l.now())
		}
	}
	for len(p.due) > 0 {
		s := p.due[0]
		if wait := s.sentAt + opPause - now; wait > 0 {
			return wait
		}
		p.due = p.due[1:]
		p.send(l, s, l.now())
	}
	return 100 * time.Millisecond
}

// sendFirst sends a shopper's first op if the shopper takes part.
func (p *workPhase) sendFirst(l *loop, s *socket, at time.Duration) {
	if p.takesPart(s) {
		p.send(l, s, at)
	}
}

func (p *workPhase) takesPart(s *socket) bool { return p.joins == nil || p.joins(s) }

func (p *workPhase) maySend(s *socket) bool { return p.canSend == nil || p.canSend(s) }

func (p *workPhase) send(l *loop, s *socket, at time.Duration) {
	switch {
	case s.fd < 0:
	case !p.maySend(s):
		p.unsent++
	default:
		p.op(l, s, at)
	}
}

func (p *workPhase) onFrame(l *loop, s *socket, m message) {
	now := l.now()
	switch m.kind {
	case replied:
		p.recordLatency(&p.replies, now, s.sentAt)
		p.finishOp(l, s, now, replied)
	case refused:
		switch string(m.word(`"code":"`)) {
		case p.code:
		case string(shop.Busy):
			l.uncountRefusal(string(shop.Busy))
			s.pendingOps++
			p.busy = append(p.busy, repeat{s, now + repeatAfter})
			p.repeats++
			return
		default:
			return // a failed op; this shopper sends no more ops
		}
		p.recordLatency(&p.replies, now, s.sentAt)
		p.finishOp(l, s, now, replied)
	case ordered:
		p.recordLatency(&p.orders, now, dueTimeOf(m))
		p.finishOp(l, s, now, ordered)
	}
}

// recordLatency records a latency if the op was due within the window.
func (p *workPhase) recordLatency(h *histogram, now, due time.Duration) {
	if due >= p.begin+p.warmUp {
		h.record(now - due)
	}
}

// finishOp counts a finished op. In a closed loop it sends the shopper's next op, now or after opPause.
func (p *workPhase) finishOp(l *loop, s *socket, now time.Duration, by kind) {
	if by != p.finish {
		return
	}
	from := p.begin + p.warmUp
	if p.burst || now >= from && now < from+p.window {
		p.done++
	}
	if p.stopped > 0 || p.rate > 0 || p.burst {
		return
	}
	if s.sentAt+opPause > now {
		p.due = append(p.due, s)
		return
	}
	p.send(l, s, now)
}

// settled reports whether all pending ops have ended.
func (p *workPhase) settled(l *loop, now time.Duration) bool {
	busy := slices.ContainsFunc(l.sockets, func(s *socket) bool { return s.fd >= 0 && !p.isIdle(s) })
	if busy && now > p.stopped+settleWithin {
		l.failed = fmt.Errorf("ops or orders are still pending %v after the last op", settleWithin)
	}
	return !busy || l.failed != nil
}
