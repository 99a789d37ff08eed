//go:build crashpoints

package crash

import (
	"fmt"
	"sync"
	"time"

	"stampede/app/test/kit"
)

// behaviour configures buyers. With the zero value, buyers only buy.
type behaviour struct {
	cancelPercent int // percentage of accepted buys that are cancelled immediately
	attempts      int // maximum number of buys with new keys per buyer; 0: until the socket ends
	maxPauseMS    int // maximum pause after each buy in ms; the minimum is half of it

	after func(b *buyer, op Op) // called for an accepted buy that is not cancelled immediately; nil: no action
}

// traffic runs all buyers concurrently. It ends when each buyer has reached the limit or lost the socket.
type traffic struct {
	running  sync.WaitGroup
	stop     chan struct{}
	stopOnce sync.Once
}

func (w *world) trade(h behaviour) *traffic {
	tr := &traffic{stop: make(chan struct{})}
	for _, b := range w.buyers {
		tr.running.Go(func() { b.trade(h, tr.stop) })
	}
	return tr
}

// wait waits until all buyers have reached their limit.
func (tr *traffic) wait() { tr.running.Wait() }

// end stops all buyers after their current op.
func (tr *traffic) end() {
	tr.stopOnce.Do(func() { close(tr.stop) })
	tr.running.Wait()
}

func (b *buyer) trade(h behaviour, stop <-chan struct{}) {
	for n := 0; h.attempts == 0 || n < h.attempts; n++ {
		select {
		case <-stop:
			return
		case <-b.phones[0].socket().Done():
			return
		default:
		}
		sale := &b.world.sales[b.rng.IntN(len(b.world.sales))]
		op := b.attempt(sale)
		switch {
		case op.Outcome == Unknown && op.Code != "": // busy: repeat with the same key after a pause
			b.phones[0].socket().Pause(100)
			if op = b.buy(op); op.Outcome == Unknown {
				b.unknownBuys = append(b.unknownBuys, op)
			}
		case op.Outcome == Unknown:
			b.unknownBuys = append(b.unknownBuys, op)
		case op.Outcome == OK && b.rng.IntN(100) < h.cancelPercent:
			b.cancel(op.Order, op.Sale)
		case op.Outcome == OK && h.after != nil:
			h.after(b, op)
		case b.rng.IntN(20) == 0:
			b.closeOtherPhones()
		}
		if h.maxPauseMS > 0 {
			b.phones[0].socket().Pause(int64(h.maxPauseMS/2 + b.rng.IntN(h.maxPauseMS/2)))
		}
	}
}

// closeOtherPhones closes all phones except the first one until the next connect. The first phone sends the op `seen`,
// which must not affect the other phones.
func (b *buyer) closeOtherPhones() {
	for _, other := range b.phones[1:] {
		other.close()
	}
	b.phones[0].sendSeen()
}

// retry repeats buys with an unknown outcome until their outcome is known. It abandons one buy in ten. After an error
// the remaining buys stay for the next retry.
func (b *buyer) retry() error {
	for len(b.unknownBuys) > 0 {
		op := b.unknownBuys[0]
		if b.rng.IntN(10) > 0 {
			op.Code, op.State = "", ""
			if op = b.buy(op); op.Outcome == Unknown {
				return fmt.Errorf("user %s: buy under key %s is still unknown (%q)", b.id, op.Key, op.Code)
			}
		}
		b.unknownBuys = b.unknownBuys[1:]
	}
	return nil
}

// retryUntilSuccess repeats `do` until it succeeds, for at most settleTimeout.
func retryUntilSuccess(do func() error) error {
	deadline := time.NewTimer(settleTimeout)
	defer deadline.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return err
		case <-again.C:
		}
	}
}

// forAllBuyers runs `do` for all buyers, at most 16 at a time.
func (w *world) forAllBuyers(label string, do func(b *buyer) error) {
	w.t.Helper()
	var all sync.WaitGroup
	limit := make(chan struct{}, 16)
	for _, b := range w.buyers {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if err := do(b); err != nil {
				w.t.Errorf("%s: %v", label, err)
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
	w.forAllBuyers("connect", func(b *buyer) error {
		return retryUntilSuccess(func() error { return b.connect(n.addr) })
	})
}

// reconnectAll connects all buyers to the node and lets them retry buys with an unknown outcome.
func (w *world) reconnectAll(n *node) {
	w.t.Helper()
	w.reconnectWith(func(b *buyer) error { return b.connect(n.addr) })
}

func (w *world) reconnectWith(connect func(b *buyer) error) {
	w.t.Helper()
	w.forAllBuyers("reconnect", func(b *buyer) error {
		return retryUntilSuccess(func() error {
			if err := connect(b); err != nil {
				return err
			}
			return b.retry()
		})
	})
}

func (w *world) awaitAccepted(n int) {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		got := w.memory.acceptedCount()
		return got >= n, fmt.Sprintf("%d buys are accepted, want %d", got, n)
	})
}
