package streams

import (
	"runtime"
	"sync"
	"time"

	"stampede/app/shop"
)

// saleQueue is the queue of one sale, with a goroutine that makes its calls one at a time. The first buy creates it, it
// stays in the gate's map while buys wait, and it returns to the pool after the last. Two concurrent calls were not
// faster: Redis runs them one by one, and the groups get smaller.
type saleQueue struct {
	gate *Gate
	sale shop.SaleRef
	wake chan struct{} // a buy has arrived; wakes a sleeping queue

	// Guarded by gate.mu.
	waiting []*waiter

	// The remaining fields belong to the queue's goroutine. The slices are reused.
	cooling   []*waiter // sent again at coolUntil, before the queue
	coolUntil time.Time
	group     []*waiter
	completed []*waiter // completed buys; notified together
	args      []any
	passes    []byte // the passes argument, see reserve.lua
	traces    []byte // the traces argument, see reserve.lua
	keys      [6]string
	part      *partition
	saleID    string
	epoch     int64
	seq       int64          // the highest seq of the partition that this node has seen
	last      reservationRef // the last reservation of this sale that this node has seen
}

var saleQueues = sync.Pool{New: func() any { return &saleQueue{wake: make(chan struct{}, 1)} }}

func newSaleQueue(g *Gate, sale shop.SaleRef) *saleQueue {
	q := saleQueues.Get().(*saleQueue)
	q.gate, q.sale, q.saleID = g, sale, sale.ID.String()
	q.part = &g.conn.parts[sale.Partition]
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
		more, pause := q.gather()
		switch {
		case !more:
			return
		case pause > 0:
			q.sleep(pause)
		default:
			q.reserve()
			q.notify()
			q.growGroup()
		}
	}
}

// notify notifies completed buys; buys in cooldown stay.
func (q *saleQueue) notify() {
	q.gate.notify(q.completed)
	q.completed = nil // the notifying goroutine owns it now
}

// growGroup yields to runnable goroutines while that makes the next group larger. The buys of a group share the cost of
// a call, above all the fsync. Without runnable goroutines growGroup returns immediately.
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

// gather fills the next group. If the group is empty, pause is the time until the end of the cooldown. more is false if
// no buy is left: then the queue has ended and must not be used again.
func (q *saleQueue) gather() (more bool, pause time.Duration) {
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
	checked := 0
	for _, w := range q.waiting {
		if len(q.group) == maxGroup {
			break
		}
		checked++
		switch {
		case g.closed:
			q.setResult(w, shop.GateResult{}, errGateClosed)
		case g.Rejects != nil && g.Rejects(w.buy.Sale.ID, w.buy.User):
			q.setResult(w, shop.GateResult{Verdict: shop.VerdictSoldOut, Order: w.buy.Order, Local: true}, nil)
		case now.After(w.until):
			q.setResult(w, shop.GateResult{}, errTooLate)
		default:
			q.group = append(q.group, w)
		}
	}
	q.notify() // rejected and expired buys
	left := copy(q.waiting, q.waiting[checked:])
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
