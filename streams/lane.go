package streams

import (
	"runtime"
	"sync"
	"time"

	"stampede/app"
)

// lane is the queue of one sale, and the goroutine that makes its calls, one at a time. Its life: made by the first buy,
// in the gate's map while anybody waits in it, back in the pool with the last. Two calls at once made no
// difference that could be measured: Redis carries them out one after the other, and the groups get smaller.
type lane struct {
	gate *Gate
	sale app.SaleRef
	wake chan struct{} // a buy has come; only a lane that rests listens

	// Guarded by gate.mu.
	queue  []*waiter
	urgent bool // the queue holds a whole group, and the gate's urgency counts this lane

	// The rest belongs to the lane's goroutine. The slices are reused from call to call and from sale to sale.
	resting   []*waiter // told to rest; they go again, before the queue, at restUntil
	restUntil time.Time
	group     []*waiter
	decided   []*waiter // of the group; they are told together
	args      []any
	keys      [6]string
	part      *partition
	saleID    string
	epoch     int64
	seq       int64    // the highest of the partition that this node has seen
	last      accepted // of this sale that this node has seen
}

var lanes = sync.Pool{New: func() any { return &lane{wake: make(chan struct{}, 1)} }}

func newLane(g *Gate, sale app.SaleRef) *lane {
	ln := lanes.Get().(*lane)
	ln.gate, ln.sale, ln.saleID = g, sale, sale.ID.String()
	ln.part = &g.ledger.parts[sale.Partition]
	k := &ln.part.keys
	ln.keys = [6]string{k.meta, k.orders, k.waiting, k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)}
	return ln
}

func (ln *lane) poke() {
	select {
	case ln.wake <- struct{}{}:
	default:
	}
}

// weigh tells the gate's urgency when the queue has come to a whole group, and when it is less again. Callers hold gate.mu.
func (ln *lane) weigh() {
	whole := len(ln.queue) >= maxGroup
	if whole == ln.urgent {
		return
	}
	ln.urgent = whole
	if whole {
		ln.gate.Urgency.add(1)
	} else {
		ln.gate.Urgency.add(-1)
	}
}

func (ln *lane) run() {
	for {
		more, rest := ln.take()
		switch {
		case !more:
			return
		case rest > 0:
			ln.sleep(rest)
		default:
			ln.decide()
			ln.tell()
			ln.gather()
		}
	}
}

// tell hands over who was decided; whoever rests stays.
func (ln *lane) tell() {
	ln.gate.tell(ln.decided)
	ln.decided = nil // the goroutine that tells them has it
}

// gather lets whoever is ready to run go first, as long as that makes the next group larger: the cost of a call,
// its fsync above all, is shared by the group. Where nobody is ready it takes no time.
func (ln *lane) gather() {
	for before := -1; ; {
		ln.gate.mu.Lock()
		n := len(ln.queue)
		ln.gate.mu.Unlock()
		if n == before || n >= maxGroup {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// take fills the next group. With nobody to ask for, it tells how long the resting ones still rest; with nobody
// at all it ends the lane, which must not be touched again: more is false then.
func (ln *lane) take() (more bool, rest time.Duration) {
	g := ln.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(ln.group)
	ln.group = ln.group[:0]
	now := time.Now()
	if len(ln.resting) > 0 && (g.closed || !now.Before(ln.restUntil)) {
		ln.queue = append(ln.resting, ln.queue...)
		ln.resting = nil
	}
	taken := 0
	for _, w := range ln.queue {
		if len(ln.group) == maxGroup {
			break
		}
		taken++
		switch {
		case g.closed:
			ln.conclude(w, app.Decision{}, errGateClosed)
		case g.TurnsAway != nil && g.TurnsAway(w.buy.Sale.ID, w.buy.User):
			ln.conclude(w, app.Decision{Verdict: app.VerdictSoldOut, Order: w.buy.Order}, nil)
		case now.After(w.until):
			ln.conclude(w, app.Decision{}, errTooLate)
		default:
			ln.group = append(ln.group, w)
		}
	}
	ln.tell() // who was let go
	left := copy(ln.queue, ln.queue[taken:])
	clear(ln.queue[left:])
	ln.queue = ln.queue[:left]
	ln.weigh()
	switch {
	case len(ln.group) > 0:
		return true, 0
	case len(ln.resting) > 0:
		return true, max(time.Until(ln.restUntil), time.Millisecond)
	}
	delete(g.lanes, ln.sale)
	select {
	case <-ln.wake:
	default:
	}
	lanes.Put(ln)
	return false, 0
}

func (ln *lane) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ln.wake:
	case <-ln.gate.ctx.Done():
	}
}
