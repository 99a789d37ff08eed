package streams

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stampede/app/shop"
	"stampede/app/trace"
)

const (
	// maxGroup is the maximum number of buys per script call: more would block Redis for longer than a round trip.
	maxGroup = 256
	maxQueue = 32_768 // maximum number of waiting buys per sale in this process; more are rejected as busy
)

var (
	errGateClosed = fmt.Errorf("%w: the gate is closed", shop.ErrTransient)
	errTooLate    = fmt.Errorf("%w: no reply in time", shop.ErrTransient)
	errQueueFull  = fmt.Errorf("%w: too many buys of this sale are waiting", shop.ErrTransient)
)

// Gate decides buys. The buys of one sale share a queue: those that arrive during a script call form the next group (at
// most 256), without a timer. A queue and its goroutine exist only while a buy waits. Waiting buys hold no goroutine,
// because waking thousands of them costs more than the calls (deploy/DECISIONS.md).
type Gate struct {
	conn *connection

	// Rejects reports whether the sale is sold out and the user certainly has no reservation in it; may be nil. The
	// gate calls it before it sends a buy, because thousands of buys may be waiting when the last unit is sold.
	Rejects func(sale, user shop.ID) bool

	mu     sync.Mutex
	closed bool
	queues map[shop.SaleRef]*saleQueue
	wg     sync.WaitGroup

	ctx  context.Context // ends when the gate closes
	stop context.CancelFunc
}

// NewGate makes a gate. The caller must Close it.
func NewGate(i *Inventory) *Gate {
	g := &Gate{conn: i.connection, queues: make(map[shop.SaleRef]*saleQueue)}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// Close lets running calls finish and fails all other buys with ErrTransient. It returns when all callers are notified
// and no goroutine of the gate is left.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.stop()
	g.wg.Wait()
}

// Reserve decides a buy, see order.Gate. A buy that was not sent before the instant `until` fails. If a call is
// running, the buy fails after that call (callBudget).
func (g *Gate) Reserve(b shop.Buy, until time.Time, callback func(shop.GateResult, error)) {
	if b.Qty < 1 {
		callback(shop.GateResult{}, fmt.Errorf("%w: quantity %d", shop.ErrPermanent, b.Qty))
		return
	}
	if _, err := g.conn.keys(b.Sale.Partition); err != nil {
		callback(shop.GateResult{}, err)
		return
	}
	w := waiters.Get().(*waiter)
	*w = waiter{buy: b, qty: int64(b.Qty), until: until, callback: callback}
	if err := g.join(w); err != nil {
		w.err = err
		w.notify()
	}
}

// join adds the waiter to its sale's queue and starts the queue if it does not exist.
func (g *Gate) join(w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errGateClosed
	}
	q := g.queues[w.buy.Sale]
	if q == nil {
		q = newSaleQueue(g, w.buy.Sale)
		g.queues[w.buy.Sale] = q
		g.wg.Go(q.run)
	}
	if len(q.waiting) >= maxQueue {
		return errQueueFull
	}
	q.waiting = append(q.waiting, w)
	q.wakeUp()
	return nil
}

// notify notifies callers in the background, so it may be called with the gate locked.
func (g *Gate) notify(completed []*waiter) {
	if len(completed) == 0 {
		return
	}
	g.wg.Go(func() {
		for _, w := range completed {
			w.notify()
		}
	})
}

// waiter is a buy in a queue, which completes it exactly once. Waiters are pooled and the arguments of the script point
// into them, so that a buy allocates nothing.
type waiter struct {
	buy       shop.Buy
	qty       int64
	until     time.Time // the buy fails if it has not been sent by then
	cooldowns int       // how often the buy has waited for units in cooldown
	callback  func(shop.GateResult, error)
	span      *trace.Span // of the script call, if the buy is traced
	result    shop.GateResult
	err       error
}

var waiters = sync.Pool{New: func() any { return new(waiter) }}

// notify calls back with the result and releases the waiter.
func (w *waiter) notify() {
	callback, d, err := w.callback, w.result, w.err
	*w = waiter{}
	waiters.Put(w)
	callback(d, err)
}
