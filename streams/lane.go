package streams

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	// callBudget is how long a group is tried, from its first call on, before its outcome is called unknown.
	callBudget = time.Second
	// callTimeout is how long one call may take; a slow disk of Redis stays below it.
	callTimeout = 600 * time.Millisecond
	// firstPause is the pause after a failed call; it doubles.
	firstPause = 20 * time.Millisecond
	// maxFlights is how many calls of one lane may be under way at once.
	maxFlights = 2
	// secondFlight is how many must have gathered for the second call.
	secondFlight = 32
	// maxRests is how often a buy waits for resting units before its caller is told.
	maxRests = 4
)

// lane is the queue of one sale. Its life: made by the first buy, in the gate's map while anybody waits in it or is
// under way, gone with the last. All of it is guarded by gate.mu.
type lane struct {
	sale      app.SaleRef
	queue     []*waiter
	resting   []*waiter // told to rest; they go again, before the queue, at restUntil
	restUntil time.Time
	flights   int           // calls under way, and whoever waits for the rest to end
	wake      chan struct{} // a buy has come; only a flight that waits listens
}

// full tells whether a buy that has just come should not wait for the next call to return: nobody is under way, or
// enough have gathered for a call of their own. Two at once keep Redis busy while replies are being read, and
// share its fsync; more would only make the groups smaller.
func (ln *lane) full() bool {
	return ln.flights == 0 || (ln.flights < maxFlights && len(ln.queue) >= secondFlight)
}

func (ln *lane) poke() {
	select {
	case ln.wake <- struct{}{}:
	default:
	}
}

// flight makes calls for a lane, one after the other, until nobody waits there. Its slices are reused from call to call
// and, pooled, from lane to lane.
type flight struct {
	gate   *Gate
	lane   *lane
	group  []*waiter
	args   []any
	keys   [6]string
	saleID string
	epoch  int64
}

var flights = sync.Pool{New: func() any { return new(flight) }}

func newFlight(g *Gate, ln *lane) *flight {
	f := flights.Get().(*flight)
	f.gate, f.lane, f.saleID = g, ln, ln.sale.ID.String()
	k := &g.ledger.parts[ln.sale.Partition].keys
	f.keys = [6]string{k.meta, k.orders, k.waiting, k.sale(ln.sale.ID), k.buyers(ln.sale.ID), k.open(ln.sale.ID)}
	return f
}

func (f *flight) run() {
	for {
		more, rest := f.take()
		switch {
		case !more:
			flights.Put(f)
			return
		case rest > 0:
			f.sleep(rest)
		default:
			f.decide()
		}
	}
}

// take fills the next group. With nobody to ask for, it tells how long the resting ones still rest, if no other
// flight waits for that; else more is false and the flight is over, and with the last one the lane.
func (f *flight) take() (more bool, rest time.Duration) {
	g, ln := f.gate, f.lane
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(f.group)
	f.group = f.group[:0]
	if len(ln.resting) > 0 && (g.closed || !time.Now().Before(ln.restUntil)) {
		ln.queue = append(ln.resting, ln.queue...)
		ln.resting = nil
	}
	taken := 0
	for _, w := range ln.queue {
		if len(f.group) == maxGroup {
			break
		}
		taken++
		switch {
		case w.state.Load() == abandoned:
			w.recycle() // its caller left before it was ever sent
		case g.closed:
			w.answer(app.Decision{}, errGateClosed)
		default:
			f.group = append(f.group, w)
		}
	}
	left := copy(ln.queue, ln.queue[taken:])
	clear(ln.queue[left:])
	ln.queue = ln.queue[:left]
	if len(f.group) > 0 || left > 0 {
		return true, 0
	}
	if len(ln.resting) > 0 && ln.flights == 1 {
		return true, max(time.Until(ln.restUntil), time.Millisecond)
	}
	if ln.flights--; ln.flights == 0 {
		delete(g.lanes, ln.sale)
	}
	return false, 0
}

func (f *flight) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.lane.wake:
	case <-f.gate.ctx.Done():
	}
}

// decide runs the script for the group and answers everyone in it.
func (f *flight) decide() {
	if len(f.group) == 0 {
		return
	}
	f.fill()
	reply, err := f.insist()
	if err != nil {
		f.answerAll(app.Decision{}, fmt.Errorf("decide %d buys of sale %s: %w", len(f.group), f.saleID, err))
		return
	}
	if code := integer(reply[0]); code != codeDone {
		f.turnAway(code)
		return
	}
	if len(reply) != 3+2*len(f.group) {
		f.answerAll(app.Decision{}, fmt.Errorf("%w: %d values for %d buys", app.ErrMoment, len(reply), len(f.group)))
		return
	}
	d := app.Decision{Done: integer(reply[1]), Free: integer(reply[2])}
	for i, w := range f.group {
		d.Verdict = app.Verdict(integer(reply[3+2*i]))
		f.answer(w, d, reply[4+2*i])
	}
}

// fill lays out the arguments of reserve.lua. They point into the waiters, which stay where they are until answered.
func (f *flight) fill() {
	f.epoch = f.gate.ledger.Epoch(f.lane.sale.Partition)
	args := append(f.args[:0], "evalsha", reserveScript.sha, len(f.keys))
	for i := range f.keys {
		args = append(args, f.keys[i])
	}
	args = append(args, &f.epoch, &f.gate.ledger.backlog, &f.saleID)
	for _, w := range f.group {
		b := &w.buy
		args = append(args, (*int64)(&b.Order), (*int64)(&b.User), &w.qty, &b.Key, &b.Hash, &b.Address)
	}
	f.args = args
}

// insist repeats the same call until it is answered or the budget is used up: a lost reply does not tell whether
// the buys were accepted, and the script finds those that were (I6).
func (f *flight) insist() ([]any, error) {
	m := f.gate.ledger.metrics
	m.groupSize.Observe(float64(len(f.group)))
	begin, pause := time.Now(), firstPause
	for {
		reply, err := f.once()
		if err == nil && len(reply) > 0 {
			m.gateSeconds.Observe(time.Since(begin).Seconds())
			return reply, nil
		}
		m.gateFaults.Inc()
		if time.Since(begin)+pause >= callBudget || !f.pause(pause) {
			return nil, moment(err)
		}
		pause *= 2
	}
}

// pause waits; false when the gate closes, so that closing does not take the whole budget.
func (f *flight) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-f.gate.ctx.Done():
		return false
	}
}

// once makes the call. It does not end with the gate: whoever is in it was promised an answer.
func (f *flight) once() ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	f.args[0], f.args[1] = "evalsha", reserveScript.sha
	reply, err := f.process(ctx)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		f.args[0], f.args[1] = "eval", reserveScript.text
		reply, err = f.process(ctx)
	}
	return reply, err
}

func (f *flight) process(ctx context.Context) ([]any, error) {
	cmd := redis.NewCmd(ctx, f.args...)
	cmd.SetFirstKeyPos(3)
	_ = f.gate.ledger.client.Process(ctx, cmd) // the command keeps its error
	return cmd.Slice()
}

// answer turns one verdict into a decision; a buy that met resting units waits here and goes again.
func (f *flight) answer(w *waiter, d app.Decision, value any) {
	d.Order = w.buy.Order
	switch d.Verdict {
	case app.VerdictReserved:
		d.Ticket = integer(value)
	case app.VerdictRepeated, app.VerdictOtherHash:
		ticket, order, _ := strings.Cut(text(value), ":")
		first, err := app.ParseID(order)
		if err != nil {
			w.answer(app.Decision{}, fmt.Errorf("%w: stored order of key %s: %w", app.ErrMoment, w.buy.Key, err))
			return
		}
		if first == w.buy.Order {
			d.Verdict = app.VerdictReserved // this very call was repeated after a lost reply
		}
		d.Order, d.Ticket = first, number(ticket)
	case app.VerdictResting:
		d.Retry = time.Duration(integer(value)) * time.Millisecond
		if w.rests < maxRests {
			w.rests++
			f.rest(w, d.Retry)
			return
		}
	}
	f.gate.ledger.metrics.verdict(d.Verdict).Inc()
	w.answer(d, nil)
}

func (f *flight) rest(w *waiter, d time.Duration) {
	f.gate.mu.Lock()
	defer f.gate.mu.Unlock()
	ln := f.lane
	if until := time.Now().Add(d); len(ln.resting) == 0 || until.After(ln.restUntil) {
		ln.restUntil = until
	}
	ln.resting = append(ln.resting, w)
}

// turnAway answers a group whose whole call was turned away.
func (f *flight) turnAway(code int64) {
	l := f.gate.ledger
	err := l.turnedAway(f.lane.sale.Partition, code)
	switch code {
	case codeNotLoaded, codeRebuilding, codeEpoch:
		f.answerAll(app.Decision{Verdict: app.Verdict(code)}, nil)
	case codeAbsent:
		f.answerAll(app.Decision{Verdict: app.VerdictRebuild}, nil)
	default:
		f.answerAll(app.Decision{}, err)
	}
}

func (f *flight) answerAll(d app.Decision, err error) {
	for _, w := range f.group {
		decision := d
		if err == nil {
			decision.Order = w.buy.Order
			f.gate.ledger.metrics.verdict(d.Verdict).Inc()
		}
		w.answer(decision, err)
	}
}
