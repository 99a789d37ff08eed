package streams

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

const (
	callBudget   = time.Second            // for all calls of a group; after it, the outcome is unknown
	callTimeout  = 600 * time.Millisecond // for one call; longer than the delays of a slow Redis disk
	firstPause   = 20 * time.Millisecond  // after a failed call; it doubles
	maxCooldowns = 4                      // how often a buy waits for units in cooldown
)

// reserve runs the script for the group and completes all of its buys.
func (q *saleQueue) reserve() {
	q.beginSpans()
	reply, err := q.callWithRetries()
	q.finishSpans(err)
	if err != nil {
		q.completeAll(shop.GateResult{}, fmt.Errorf("reserve for %d buys of sale %s: %w", len(q.group), q.saleID, err))
		return
	}
	if code := integer(reply[0]); code != codeDone {
		q.rejectGroup(code)
		return
	}
	if len(reply) < 5 || (len(reply)-5)%3 != 0 {
		q.completeAll(shop.GateResult{},
			fmt.Errorf("%w: a reply of %d values for %d buys", shop.ErrTransient, len(reply), len(q.group)))
		return
	}
	d := shop.GateResult{Done: integer(reply[1]), Free: integer(reply[2])}
	ticket, rejected := integer(reply[3]), reply[5:]
	last := reservationRef{seq: integer(reply[4])}
	for i, w := range q.group {
		if len(rejected) == 0 || integer(rejected[0]) != int64(i)+1 {
			d.Verdict, d.Ticket = shop.VerdictReserved, ticket
			ticket++
			last.user, last.order = w.buy.User, w.buy.Order
			q.resolve(w, d, nil)
			continue
		}
		d.Verdict, d.Ticket = shop.Verdict(integer(rejected[1])), 0
		q.resolve(w, d, rejected[2])
		rejected = rejected[3:]
	}
	q.part.accepted.add(q.epoch, q.sale.ID, last)
}

// fillArguments prepares the arguments of reserve.lua. The arguments point into the waiters, which do not move until
// they are completed.
func (q *saleQueue) fillArguments() {
	q.epoch = q.part.epoch.Load()
	q.seq, q.last = q.part.accepted.lookup(q.epoch, q.sale.ID)
	args := append(q.args[:0], "evalsha", reserveScript.sha, len(q.keys))
	for i := range q.keys {
		args = append(args, q.keys[i])
	}
	args = append(args, &q.epoch, &q.gate.conn.backlog, &q.saleID,
		&q.seq, (*int64)(&q.last.user), (*int64)(&q.last.order))
	for _, w := range q.group {
		b := &w.buy
		args = append(args, (*int64)(&b.Order), (*int64)(&b.User), &w.qty, &b.Key, &b.Hash, &b.Address)
	}
	required := q.fillPasses()
	if required {
		args = append(args, q.passes)
	}
	if q.fillTraces() {
		if !required {
			args = append(args, "")
		}
		args = append(args, q.traces)
	}
	q.args = args
}

// fillPasses prepares the passes of the group and reports whether any are required. All passes are one argument. Sales
// without passes do not send it.
func (q *saleQueue) fillPasses() (required bool) {
	q.passes = q.passes[:0]
	for _, w := range q.group {
		if w.buy.NeedsPass {
			required = true
			q.passes = strconv.AppendInt(q.passes, int64(w.buy.Passed), 10)
		} else { // the buy was admitted before the sale required passes
			q.passes = append(q.passes, '-')
		}
		q.passes = append(q.passes, ' ')
	}
	return required
}

// callWithRetries repeats the call until a reply arrives or the budget is used up. After a lost reply it is unknown
// whether the buys were accepted; the script recognises accepted buys (I6). Each call passes the highest seq and the
// last order that this node has seen.
func (q *saleQueue) callWithRetries() ([]any, error) {
	m := q.gate.conn.metrics
	m.groupSize.Observe(float64(len(q.group)))
	begin, pause := time.Now(), firstPause
	for {
		q.fillArguments()
		reply, err := q.callOnce()
		if err == nil && len(reply) > 0 {
			m.gateSeconds.Observe(time.Since(begin).Seconds())
			return reply, nil
		}
		m.gateFaults.Inc()
		if time.Since(begin)+pause >= callBudget || !shop.Sleep(q.gate.ctx, pause) {
			return nil, transient(err)
		}
		pause *= 2
	}
}

// callOnce sends the script once. The call continues when the gate closes, so that its buys get a result.
func (q *saleQueue) callOnce() ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	q.args[0], q.args[1] = "evalsha", reserveScript.sha
	reply, err := q.send(ctx)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		q.args[0], q.args[1] = "eval", reserveScript.text
		reply, err = q.send(ctx)
	}
	return reply, err
}

func (q *saleQueue) send(ctx context.Context) ([]any, error) {
	cmd := redis.NewCmd(ctx, q.args...)
	cmd.SetFirstKeyPos(3)
	if q.gate.conn.replicas > 0 {
		return q.gate.conn.processReplicated(ctx, q.keys[0], cmd)
	}
	_ = q.gate.conn.client.Process(ctx, cmd) // the command keeps its error
	return cmd.Slice()
}

// resolve turns a verdict into a result. A buy that met units in cooldown waits and is sent again.
func (q *saleQueue) resolve(w *waiter, d shop.GateResult, value any) {
	d.Order = w.buy.Order
	switch d.Verdict {
	case shop.VerdictRepeated, shop.VerdictOtherHash:
		ticket, order, _ := strings.Cut(text(value), ":")
		first, err := shop.ParseID(order)
		if err != nil {
			q.setResult(w, shop.GateResult{},
				fmt.Errorf("%w: stored order of key %s: %w", shop.ErrTransient, w.buy.Key, err))
			return
		}
		if first == w.buy.Order {
			d.Verdict = shop.VerdictReserved // this call was repeated after a lost reply
		}
		d.Order, d.Ticket = first, number(ticket)
	case shop.VerdictCooldown:
		d.Retry = time.Duration(integer(value)) * time.Millisecond
		if w.cooldowns < maxCooldowns {
			w.cooldowns++
			q.startCooldown(w, d.Retry)
			return
		}
	}
	q.gate.conn.metrics.verdict(d.Verdict).Inc()
	q.setResult(w, d, nil)
}

// setResult sets the result of a waiter. All completed waiters of a group are notified together.
func (q *saleQueue) setResult(w *waiter, d shop.GateResult, err error) {
	w.result, w.err = d, err
	q.completed = append(q.completed, w)
}

func (q *saleQueue) startCooldown(w *waiter, d time.Duration) {
	if until := time.Now().Add(d); len(q.cooling) == 0 || until.After(q.coolUntil) {
		q.coolUntil = until
	}
	q.cooling = append(q.cooling, w)
}

// rejectGroup completes a group whose call was rejected as a whole.
func (q *saleQueue) rejectGroup(code int64) {
	err := q.gate.conn.rejection(q.sale.Partition, code)
	switch code {
	case codeNotLoaded, codeRecovering, codeEpoch:
		q.completeAll(shop.GateResult{Verdict: shop.Verdict(code)}, nil)
	case codeAbsent, codeBehind, codeHistory:
		q.completeAll(shop.GateResult{Verdict: shop.VerdictRecovering}, nil)
	default:
		q.completeAll(shop.GateResult{}, err)
	}
}

func (q *saleQueue) completeAll(d shop.GateResult, err error) {
	for _, w := range q.group {
		result := d
		if err == nil {
			result.Order = w.buy.Order
			q.gate.conn.metrics.verdict(d.Verdict).Inc()
		}
		q.setResult(w, result, err)
	}
}

// beginSpans starts a span for each traced buy of the group. The span covers the script with all retries.
func (q *saleQueue) beginSpans() {
	for _, w := range q.group {
		if w.buy.Span != nil {
			w.span = w.buy.Span.Child("reserve.lua")
			w.span.NoteNumber("buys", int64(len(q.group)))
			w.span.NoteNumber("partition", int64(q.sale.Partition))
		}
	}
}

// finishSpans ends the spans that beginSpans started. The verdict is in the span of the buy.
func (q *saleQueue) finishSpans(err error) {
	for _, w := range q.group {
		if w.span != nil {
			w.span.Finish(err)
			w.span = nil
		}
	}
}

// fillTraces prepares the traces of the group and reports whether there are any. All traces are one argument with the
// positions of the traced buys, because traced buys are rare.
func (q *saleQueue) fillTraces() (traced bool) {
	for i, w := range q.group {
		if w.span == nil {
			continue
		}
		if !traced {
			traced, q.traces = true, q.traces[:0]
		}
		q.traces = strconv.AppendInt(q.traces, int64(i)+1, 10)
		q.traces = append(append(append(q.traces, '='), w.span.SpanRef.String()...), ' ')
	}
	return traced
}

// replicaTimeout bounds WAIT. It is shorter than callTimeout, so that Redis still returns the number of replicas.
const replicaTimeout = 400 * time.Millisecond

// errTooFewReplicas means that the buys are lost if the primary fails.
var errTooFewReplicas = fmt.Errorf("%w: too few replicas confirmed the write", shop.ErrTransient)

// processReplicated makes a call on keys of one slot and succeeds only if enough replicas have the write. Otherwise the
// outcome is unknown and the call is repeated with its WAIT (I6). Call and WAIT go to one server on one connection: in
// a pipeline of the cluster client, a redirected call would lose its WAIT.
func (c *connection) processReplicated(ctx context.Context, key string, call *redis.Cmd) ([]any, error) {
	cluster, server := c.servers.cluster, c.client
	if cluster != nil {
		primary, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		server = primary
	}
	var waitReply *redis.Cmd
	_, _ = server.Pipelined(ctx, func(p redis.Pipeliner) error {
		_ = p.Process(ctx, call)
		waitReply = p.Do(ctx, "wait", c.replicas, replicaTimeout.Milliseconds())
		return nil
	})
	reply, err := call.Slice()
	if err != nil {
		if cluster != nil {
			cluster.ReloadState(ctx) // reloads the slots in the background
		}
		return nil, err
	}
	switch n, err := waitReply.Int64(); {
	case err != nil:
		return nil, fmt.Errorf("wait for replicas: %w", err)
	case n < int64(c.replicas):
		return nil, errTooFewReplicas
	}
	return reply, nil
}
