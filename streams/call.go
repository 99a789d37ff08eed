package streams

import (
	"context"
	"fmt"
	"strconv"
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
	// maxCooldowns is how often a buy waits for units in cooldown before its caller is told.
	maxCooldowns = 4
)

// reserve runs the script for the group and answers everyone in it.
func (q *saleQueue) reserve() {
	q.beginSpans()
	reply, err := q.callRetrying()
	q.finishSpans(err)
	if err != nil {
		q.answerAll(app.GateAnswer{}, fmt.Errorf("reserve for %d buys of sale %s: %w", len(q.group), q.saleID, err))
		return
	}
	if code := integer(reply[0]); code != codeDone {
		q.turnAway(code)
		return
	}
	if len(reply) < 5 || (len(reply)-5)%3 != 0 {
		q.answerAll(app.GateAnswer{},
			fmt.Errorf("%w: a reply of %d values for %d buys", app.ErrTransient, len(reply), len(q.group)))
		return
	}
	d := app.GateAnswer{Done: integer(reply[1]), Free: integer(reply[2])}
	ticket, others := integer(reply[3]), reply[5:]
	last := accepted{seq: integer(reply[4])}
	for i, w := range q.group {
		if len(others) == 0 || integer(others[0]) != int64(i)+1 {
			d.Verdict, d.Ticket = app.VerdictReserved, ticket
			ticket++
			last.user, last.order = w.buy.User, w.buy.Order
			q.answer(w, d, nil)
			continue
		}
		d.Verdict, d.Ticket = app.Verdict(integer(others[1])), 0
		q.answer(w, d, others[2])
		others = others[3:]
	}
	q.part.seen.add(q.epoch, q.sale.ID, last)
}

// fill lays out the arguments of reserve.lua. They point into the waiters, which stay where they are until answered.
func (q *saleQueue) fill() {
	q.epoch = q.part.epoch.Load()
	q.seq, q.last = q.part.seen.of(q.epoch, q.sale.ID)
	args := append(q.args[:0], "evalsha", reserveScript.sha, len(q.keys))
	for i := range q.keys {
		args = append(args, q.keys[i])
	}
	args = append(args, &q.epoch, &q.gate.inventory.backlog, &q.saleID,
		&q.seq, (*int64)(&q.last.user), (*int64)(&q.last.order))
	for _, w := range q.group {
		b := &w.buy
		args = append(args, (*int64)(&b.Order), (*int64)(&b.User), &w.qty, &b.Key, &b.Hash, &b.Address)
	}
	asked := q.fillPasses()
	if asked {
		args = append(args, q.passes)
	}
	if q.fillTraces() {
		if !asked {
			args = append(args, "")
		}
		args = append(args, q.traces)
	}
	q.args = args
}

// fillPasses lays out the passes of the group and reports whether any are asked for. It is one argument for all, so
// that the sales without passes, which are most, send nothing for them.
func (q *saleQueue) fillPasses() (asked bool) {
	q.passes = q.passes[:0]
	for _, w := range q.group {
		if w.buy.NeedsPass {
			asked = true
			q.passes = strconv.AppendInt(q.passes, int64(w.buy.Passed), 10)
		} else { // it was admitted before the sale asked for passes
			q.passes = append(q.passes, '-')
		}
		q.passes = append(q.passes, ' ')
	}
	return asked
}

// callRetrying repeats the same call until it is answered or the budget is used up: a lost reply does not tell whether
// the buys were accepted, and the script finds those that were (I6). Each time it carries what this node has seen by
// then.
func (q *saleQueue) callRetrying() ([]any, error) {
	m := q.gate.inventory.metrics
	m.groupSize.Observe(float64(len(q.group)))
	begin, pause := time.Now(), firstPause
	for {
		q.fill()
		reply, err := q.once()
		if err == nil && len(reply) > 0 {
			m.gateSeconds.Observe(time.Since(begin).Seconds())
			return reply, nil
		}
		m.gateFaults.Inc()
		// A gate that closes does not wait for the whole budget.
		if time.Since(begin)+pause >= callBudget || !app.Sleep(q.gate.ctx, pause) {
			return nil, transient(err)
		}
		pause *= 2
	}
}

// once makes the call. It does not end with the gate: whoever is in it was promised an answer.
func (q *saleQueue) once() ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	q.args[0], q.args[1] = "evalsha", reserveScript.sha
	reply, err := q.process(ctx)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		q.args[0], q.args[1] = "eval", reserveScript.text
		reply, err = q.process(ctx)
	}
	return reply, err
}

func (q *saleQueue) process(ctx context.Context) ([]any, error) {
	cmd := redis.NewCmd(ctx, q.args...)
	cmd.SetFirstKeyPos(3)
	if q.gate.inventory.replicas > 0 {
		return q.gate.inventory.processReplicated(ctx, q.keys[0], cmd)
	}
	_ = q.gate.inventory.client.Process(ctx, cmd) // the command keeps its error
	return cmd.Slice()
}

// answer turns one verdict into a decision; a buy that met units in cooldown waits here and goes again.
func (q *saleQueue) answer(w *waiter, d app.GateAnswer, value any) {
	d.Order = w.buy.Order
	switch d.Verdict {
	case app.VerdictRepeated, app.VerdictOtherHash:
		ticket, order, _ := strings.Cut(text(value), ":")
		first, err := app.ParseID(order)
		if err != nil {
			q.conclude(w, app.GateAnswer{},
				fmt.Errorf("%w: stored order of key %s: %w", app.ErrTransient, w.buy.Key, err))
			return
		}
		if first == w.buy.Order {
			d.Verdict = app.VerdictReserved // this very call was repeated after a lost reply
		}
		d.Order, d.Ticket = first, number(ticket)
	case app.VerdictCooldown:
		d.Retry = time.Duration(integer(value)) * time.Millisecond
		if w.cooldowns < maxCooldowns {
			w.cooldowns++
			q.cool(w, d.Retry)
			return
		}
	}
	q.gate.inventory.metrics.verdict(d.Verdict).Inc()
	q.conclude(w, d, nil)
}

// conclude sets what a waiter is told, together with the others of the group.
func (q *saleQueue) conclude(w *waiter, d app.GateAnswer, err error) {
	w.answer, w.err = d, err
	q.answered = append(q.answered, w)
}

func (q *saleQueue) cool(w *waiter, d time.Duration) {
	if until := time.Now().Add(d); len(q.cooling) == 0 || until.After(q.coolUntil) {
		q.coolUntil = until
	}
	q.cooling = append(q.cooling, w)
}

// turnAway answers a group whose whole call was turned away.
func (q *saleQueue) turnAway(code int64) {
	l := q.gate.inventory
	err := l.turnedAway(q.sale.Partition, code)
	switch code {
	case codeNotLoaded, codeRecovering, codeEpoch:
		q.answerAll(app.GateAnswer{Verdict: app.Verdict(code)}, nil)
	case codeAbsent, codeBehind, codeHistory:
		q.answerAll(app.GateAnswer{Verdict: app.VerdictRecovering}, nil)
	default:
		q.answerAll(app.GateAnswer{}, err)
	}
}

func (q *saleQueue) answerAll(d app.GateAnswer, err error) {
	for _, w := range q.group {
		answer := d
		if err == nil {
			answer.Order = w.buy.Order
			q.gate.inventory.metrics.verdict(d.Verdict).Inc()
		}
		q.conclude(w, answer, err)
	}
}
