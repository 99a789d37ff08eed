package streams

import (
	"sync"
	"time"

	"stampede/app"
)

const (
	// maxFlights is how many calls of one lane may be under way at once.
	maxFlights = 2
	// secondFlight is how many must have gathered for the second call.
	secondFlight = 32
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
