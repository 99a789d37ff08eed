package streams

import (
	"context"
	"fmt"
	"strings"
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
	// maxRests is how often a buy waits for resting units before its caller is told.
	maxRests = 4
)

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
