package streams

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stampede/app"
)

const (
	// maxGroup is how many buys one script call decides at most: beyond it the script keeps others waiting
	// for longer than a round trip costs.
	maxGroup = 256
	// maxLane is how many buys of one sale may wait in this process; more are turned away as busy.
	maxLane = 32_768
)

var (
	errGateClosed = fmt.Errorf("%w: the gate is closed", app.ErrMoment)
	errTooLate    = fmt.Errorf("%w: not decided in time", app.ErrMoment)
	errLaneFull   = fmt.Errorf("%w: too many buys of this sale are waiting", app.ErrMoment)
)

// Gate decides buys. Those of one sale share a lane: while one script call is under way others gather, and the
// next call takes all that have (at most 256). There is no timer: a lone buy goes at once, and the busier a
// sale is, the larger its groups. A lane and its goroutine exist only while somebody waits in it.
type Gate struct {
	ledger *Ledger

	mu     sync.Mutex
	closed bool
	lanes  map[app.SaleRef]*lane
	wg     sync.WaitGroup

	ctx  context.Context // ends when the gate closes
	stop context.CancelFunc
}

// NewGate makes a gate; Close it.
func NewGate(l *Ledger) *Gate {
	g := &Gate{ledger: l, lanes: make(map[app.SaleRef]*lane)}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// Close lets calls under way finish, answers everyone else with ErrMoment, and waits until no goroutine of
// the gate is left.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.stop()
	g.wg.Wait()
}

// Reserve decides a buy. Of ctx only the deadline counts: the lane lets go of whoever it has not sent by then, with
// ErrMoment, at the latest when the call under way is over (callBudget). To wait for two things costs every buy more than
// one that waits in vain now and then.
func (g *Gate) Reserve(ctx context.Context, b app.Buy) (app.Decision, error) {
	if b.Qty < 1 {
		return app.Decision{}, fmt.Errorf("%w: quantity %d", app.ErrData, b.Qty)
	}
	if _, err := g.ledger.keys(b.Sale.Partition); err != nil {
		return app.Decision{}, err
	}
	w := newWaiter(b)
	defer w.recycle()
	w.until, w.hurried = ctx.Deadline()
	if err := g.join(w); err != nil {
		return app.Decision{}, err
	}
	<-w.ready
	return w.decision, w.err
}

// join puts the waiter into its sale's lane and starts the lane if it is new.
func (g *Gate) join(w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errGateClosed
	}
	ln := g.lanes[w.buy.Sale]
	if ln == nil {
		ln = newLane(g, w.buy.Sale)
		g.lanes[w.buy.Sale] = ln
		g.wg.Go(ln.run)
	}
	if len(ln.queue) >= maxLane {
		return errLaneFull
	}
	ln.queue = append(ln.queue, w)
	ln.poke()
	return nil
}

// waiter is one buy on its way through a lane, which answers it exactly once. Waiters are pooled, and the arguments of
// the script point into them, so that a buy costs no garbage of its own.
type waiter struct {
	buy      app.Buy
	qty      int64
	until    time.Time // with hurried: when its caller wants to be let go
	hurried  bool
	rests    int           // how often it was told to rest
	ready    chan struct{} // gets one value when answered
	decision app.Decision
	err      error
}

var waiters = sync.Pool{New: func() any { return &waiter{ready: make(chan struct{}, 1)} }}

func newWaiter(b app.Buy) *waiter {
	w := waiters.Get().(*waiter)
	w.buy, w.qty, w.rests = b, int64(b.Qty), 0
	return w
}

func (w *waiter) recycle() {
	w.buy, w.decision, w.err = app.Buy{}, app.Decision{}, nil
	waiters.Put(w)
}

func (w *waiter) late(now time.Time) bool { return w.hurried && now.After(w.until) }

// answer hands the decision to the caller, who has the waiter to himself from then on.
func (w *waiter) answer(d app.Decision, err error) {
	w.decision, w.err = d, err
	w.ready <- struct{}{}
}
