package streams

import (
	"runtime"
	"sync"
	"time"

	"stampede/app"
)

// saleQueue is the queue of one sale, and the goroutine that makes its calls, one at a time. Its life: made by the
// first buy, in the gate's map while anybody waits in it, back in the pool with the last. Two calls at once made no
// difference that could be measured: Redis carries them out one after the other, and the groups get smaller.
type saleQueue struct {
	gate *Gate
	sale app.SaleRef
	wake chan struct{} // a buy has come; only a queue that rests listens

	// Guarded by gate.mu.
	waiting []*waiter

	// The rest belongs to the queue's goroutine. The slices are reused from call to call and from sale to sale.
	cooling   []*waiter // told to rest; they go again, before the queue, at coolUntil
	coolUntil time.Time
	group     []*waiter
	answered  []*waiter // of the group; they are told together
	args      []any
	passes    []byte // the argument of a sale that asks for passes
	traces    []byte // the last argument of a group in which somebody is traced
	keys      [6]string
	part      *partition
	saleID    string
	epoch     int64
	seq       int64    // the highest of the partition that this node has seen
	last      accepted // of this sale that this node has seen
}

var saleQueues = sync.Pool{New: func() any { return &saleQueue{wake: make(chan struct{}, 1)} }}

func newSaleQueue(g *Gate, sale app.SaleRef) *saleQueue {
	q := saleQueues.Get().(*saleQueue)
	q.gate, q.sale, q.saleID = g, sale, sale.ID.String()
	q.part = &g.inventory.parts[sale.Partition]
	k := &q.part.keys
	q.keys = [6]string{k.meta, k.orders, k.waiting, k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)}
	return q
}

func (q *saleQueue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *saleQueue) run() {
	for {
		more, rest := q.gather()
		switch {
		case !more:
			return
		case rest > 0:
			q.sleep(rest)
		default:
			q.reserve()
			q.tell()
			q.growGroup()
		}
	}
}

// tell hands over who was answered; whoever rests stays.
func (q *saleQueue) tell() {
	q.gate.tell(q.answered)
	q.answered = nil // the goroutine that tells them has it
}

// growGroup lets whoever is ready to run go first, as long as that makes the next group larger: the cost of a call,
// its fsync above all, is shared by the group. Where nobody is ready it takes no time.
func (q *saleQueue) growGroup() {
	for before := -1; ; {
		q.gate.mu.Lock()
		n := len(q.waiting)
		q.gate.mu.Unlock()
		if n == before || n >= maxGroup {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// gather fills the next group. With nobody to ask for, it tells how long the resting ones still rest; with nobody
// at all it ends the queue, which must not be touched again: more is false then.
func (q *saleQueue) gather() (more bool, rest time.Duration) {
	g := q.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(q.group)
	q.group = q.group[:0]
	now := time.Now()
	if len(q.cooling) > 0 && (g.closed || !now.Before(q.coolUntil)) {
		q.waiting = append(q.cooling, q.waiting...)
		q.cooling = nil
	}
	seen := 0
	for _, w := range q.waiting {
		if len(q.group) == maxGroup {
			break
		}
		seen++
		switch {
		case g.closed:
			q.conclude(w, app.GateAnswer{}, errGateClosed)
		case g.TurnsAway != nil && g.TurnsAway(w.buy.Sale.ID, w.buy.User):
			q.conclude(w, app.GateAnswer{Verdict: app.VerdictSoldOut, Order: w.buy.Order, Unasked: true}, nil)
		case now.After(w.until):
			q.conclude(w, app.GateAnswer{}, errTooLate)
		default:
			q.group = append(q.group, w)
		}
	}
	q.tell() // who was let go
	left := copy(q.waiting, q.waiting[seen:])
	clear(q.waiting[left:])
	q.waiting = q.waiting[:left]
	switch {
	case len(q.group) > 0:
		return true, 0
	case len(q.cooling) > 0:
		return true, max(time.Until(q.coolUntil), time.Millisecond)
	}
	delete(g.queues, q.sale)
	select {
	case <-q.wake:
	default:
	}
	saleQueues.Put(q)
	return false, 0
}

func (q *saleQueue) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.wake:
	case <-q.gate.ctx.Done():
	}
}
