package streams

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/crashpoint"
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

// decide runs the script for the group and decides everyone in it.
func (ln *lane) decide() {
	crashpoint.At(crashpoint.GateCall)
	reply, err := ln.insist()
	crashpoint.At(crashpoint.GateReply)
	if err != nil {
		ln.answerAll(app.Decision{}, fmt.Errorf("decide %d buys of sale %s: %w", len(ln.group), ln.saleID, err))
		return
	}
	if code := integer(reply[0]); code != codeDone {
		ln.turnAway(code)
		return
	}
	if len(reply) < 5 || (len(reply)-5)%3 != 0 {
		ln.answerAll(app.Decision{}, fmt.Errorf("%w: a reply of %d values for %d buys", app.ErrMoment, len(reply), len(ln.group)))
		return
	}
	d := app.Decision{Done: integer(reply[1]), Free: integer(reply[2])}
	ticket, others := integer(reply[3]), reply[5:]
	last := accepted{seq: integer(reply[4])}
	for i, w := range ln.group {
		if len(others) == 0 || integer(others[0]) != int64(i)+1 {
			d.Verdict, d.Ticket = app.VerdictReserved, ticket
			ticket++
			last.user, last.order = w.buy.User, w.buy.Order
			ln.answer(w, d, nil)
			continue
		}
		d.Verdict, d.Ticket = app.Verdict(integer(others[1])), 0
		ln.answer(w, d, others[2])
		others = others[3:]
	}
	ln.part.seen.add(ln.epoch, ln.sale.ID, last)
}

// fill lays out the arguments of reserve.lua. They point into the waiters, which stay where they are until answered.
func (ln *lane) fill() {
	ln.epoch = ln.part.epoch.Load()
	ln.seq, ln.last = ln.part.seen.of(ln.epoch, ln.sale.ID)
	args := append(ln.args[:0], "evalsha", reserveScript.sha, len(ln.keys))
	for i := range ln.keys {
		args = append(args, ln.keys[i])
	}
	args = append(args, &ln.epoch, &ln.gate.ledger.backlog, &ln.saleID,
		&ln.seq, (*int64)(&ln.last.user), (*int64)(&ln.last.order))
	for _, w := range ln.group {
		b := &w.buy
		args = append(args, (*int64)(&b.Order), (*int64)(&b.User), &w.qty, &b.Key, &b.Hash, &b.Address)
	}
	ln.args = args
}

// insist repeats the same call until it is answered or the budget is used up: a lost reply does not tell whether
// the buys were accepted, and the script finds those that were (I6). Each time it carries what this node has seen by then.
func (ln *lane) insist() ([]any, error) {
	m := ln.gate.ledger.metrics
	m.groupSize.Observe(float64(len(ln.group)))
	begin, pause := time.Now(), firstPause
	for {
		ln.fill()
		reply, err := ln.once()
		if err == nil && len(reply) > 0 {
			m.gateSeconds.Observe(time.Since(begin).Seconds())
			return reply, nil
		}
		m.gateFaults.Inc()
		if time.Since(begin)+pause >= callBudget || !ln.pause(pause) {
			return nil, moment(err)
		}
		pause *= 2
	}
}

// pause waits; false when the gate closes, so that closing does not take the whole budget.
func (ln *lane) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ln.gate.ctx.Done():
		return false
	}
}

// once makes the call. It does not end with the gate: whoever is in it was promised an answer.
func (ln *lane) once() ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	ln.args[0], ln.args[1] = "evalsha", reserveScript.sha
	reply, err := ln.process(ctx)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		ln.args[0], ln.args[1] = "eval", reserveScript.text
		reply, err = ln.process(ctx)
	}
	return reply, err
}

func (ln *lane) process(ctx context.Context) ([]any, error) {
	cmd := redis.NewCmd(ctx, ln.args...)
	cmd.SetFirstKeyPos(3)
	_ = ln.gate.ledger.client.Process(ctx, cmd) // the command keeps its error
	return cmd.Slice()
}

// answer turns one verdict into a decision; a buy that met resting units waits here and goes again.
func (ln *lane) answer(w *waiter, d app.Decision, value any) {
	d.Order = w.buy.Order
	switch d.Verdict {
	case app.VerdictRepeated, app.VerdictOtherHash:
		ticket, order, _ := strings.Cut(text(value), ":")
		first, err := app.ParseID(order)
		if err != nil {
			ln.conclude(w, app.Decision{}, fmt.Errorf("%w: stored order of key %s: %w", app.ErrMoment, w.buy.Key, err))
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
			ln.rest(w, d.Retry)
			return
		}
	}
	ln.gate.ledger.metrics.verdict(d.Verdict).Inc()
	ln.conclude(w, d, nil)
}

// conclude decides a waiter, who is told with the others of the group.
func (ln *lane) conclude(w *waiter, d app.Decision, err error) {
	w.decide(d, err)
	ln.decided = append(ln.decided, w)
}

func (ln *lane) rest(w *waiter, d time.Duration) {
	if until := time.Now().Add(d); len(ln.resting) == 0 || until.After(ln.restUntil) {
		ln.restUntil = until
	}
	ln.resting = append(ln.resting, w)
}

// turnAway answers a group whose whole call was turned away.
func (ln *lane) turnAway(code int64) {
	l := ln.gate.ledger
	err := l.turnedAway(ln.sale.Partition, code)
	switch code {
	case codeNotLoaded, codeRebuilding, codeEpoch:
		ln.answerAll(app.Decision{Verdict: app.Verdict(code)}, nil)
	case codeAbsent, codeBehind, codeHistory:
		ln.answerAll(app.Decision{Verdict: app.VerdictRebuild}, nil)
	default:
		ln.answerAll(app.Decision{}, err)
	}
}

func (ln *lane) answerAll(d app.Decision, err error) {
	for _, w := range ln.group {
		decision := d
		if err == nil {
			decision.Order = w.buy.Order
			ln.gate.ledger.metrics.verdict(d.Verdict).Inc()
		}
		ln.conclude(w, decision, err)
	}
}
