//go:build crashpoints

package crash

import (
	"fmt"
	"sync"
	"time"

	"stampede/app/test/kit"
)

// habits configure the behaviour of buyers; with the zero value they only buy.
type habits struct {
	cancels int // percentage of accepted buys that are cancelled immediately
	presses int // maximum number of buys with new keys per buyer; 0: until the socket ends
	thinks  int // maximum pause after each buy in ms; the minimum is half of it

	after func(b *buyer, op Op) // called for an accepted buy that is not cancelled immediately; nil: no action
}

// traffic runs all buyers concurrently. It ends when each buyer has reached the limit or lost the socket.
type traffic struct {
	everybody sync.WaitGroup
	stop      chan struct{}
	stopOnce  sync.Once
}

func (w *world) trade(h habits) *traffic {
	tr := &traffic{stop: make(chan struct{})}
	for _, b := range w.people {
		tr.everybody.Go(func() { b.trade(h, tr.stop) })
	}
	return tr
}

// wait waits until all buyers have reached their limit.
func (tr *traffic) wait() { tr.everybody.Wait() }

// end stops all buyers after their current op.
func (tr *traffic) end() {
	tr.stopOnce.Do(func() { close(tr.stop) })
	tr.everybody.Wait()
}

func (b *buyer) trade(h habits, stop <-chan struct{}) {
	for n := 0; h.presses == 0 || n < h.presses; n++ {
		select {
		case <-stop:
			return
		case <-b.phones[0].socket().Done():
			return
		default:
		}
		sale := &b.world.sales[b.dice.IntN(len(b.world.sales))]
		op := b.press(sale)
		switch {
		case op.Outcome == Unknown && op.Code != "": // busy: repeat with the same key after a pause
			b.phones[0].socket().Pause(100)
			if op = b.buy(op); op.Outcome == Unknown {
				b.open = append(b.open, op)
			}
		case op.Outcome == Unknown:
			b.open = append(b.open, op)
		case op.Outcome == OK && b.dice.IntN(100) < h.cancels:
			b.cancel(op.Order, op.Sale)
		case op.Outcome == OK && h.after != nil:
			h.after(b, op)
		case b.dice.IntN(20) == 0:
			b.putAway()
		}
		if h.thinks > 0 {
			b.phones[0].socket().Pause(int64(h.thinks/2 + b.dice.IntN(h.thinks/2)))
		}
	}
}

// putAway closes all phones except the first one until the next connect. The first one sends seen, which must not
// affect the others.
func (b *buyer) putAway() {
	for _, other := range b.phones[1:] {
		other.close()
	}
	b.phones[0].seen()
}

// retry repeats buys with an unknown outcome until it is known; one in ten is abandoned. After an error the rest stays
// for the next retry.
func (b *buyer) retry() error {
	for len(b.open) > 0 {
		op := b.open[0]
		if b.dice.IntN(10) > 0 {
			op.Code, op.State = "", ""
			if op = b.buy(op); op.Outcome == Unknown {
				return fmt.Errorf("user %s: buy under key %s is still unknown (%q)", b.id, op.Key, op.Code)
			}
		}
		b.open = b.open[1:]
	}
	return nil
}

// retrying repeats do until it succeeds, for at most healing.
func retrying(do func() error) error {
	enough := time.NewTimer(healing)
	defer enough.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-enough.C:
			return err
		case <-again.C:
		}
	}
}

// everyone runs do for all buyers, at most 16 at a time.
func (w *world) everyone(what string, do func(b *buyer) error) {
	w.t.Helper()
	var all sync.WaitGroup
	room := make(chan struct{}, 16)
	for _, b := range w.people {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if err := do(b); err != nil {
				w.t.Errorf("%s: %v", what, err)
			}
		})
	}
	all.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// enter connects all buyers to the node.
func (w *world) enter(n *node) {
	w.t.Helper()
	w.everyone("connect", func(b *buyer) error {
		return retrying(func() error { return b.connect(n.addr) })
	})
}

// reconnectAll connects all buyers to the node and lets them retry buys with an unknown outcome.
func (w *world) reconnectAll(n *node) {
	w.t.Helper()
	w.comeBackBy(func(b *buyer) error { return b.connect(n.addr) })
}

func (w *world) comeBackBy(connect func(b *buyer) error) {
	w.t.Helper()
	w.everyone("reconnect", func(b *buyer) error {
		return retrying(func() error {
			if err := connect(b); err != nil {
				return err
			}
			return b.retry()
		})
	})
}

func (w *world) answered(n int) {
	w.t.Helper()
	kit.Eventually(w.t, healing, func() (bool, string) {
		got := w.memory.answeredSoFar()
		return got >= n, fmt.Sprintf("%d buys have a reply, want %d", got, n)
	})
}
