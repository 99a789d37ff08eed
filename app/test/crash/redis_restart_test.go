//go:build crashpoints

package crash

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

const (
	// manyBuyers is the number of buyers. They have 18,000 sockets, because every fifth buyer has two phones. The limit
	// of a process is 20,000 descriptors.
	manyBuyers = 15_000
	// catchUpLimit limits the time from the restart of Redis until all buyers have the missed changes.
	catchUpLimit = 5 * time.Second
)

// P6, F5: Redis is killed with 15,000 buyers connected. Meanwhile every order expires without an event, as if the
// sweeper died after the COMMIT. When Redis is back, all open sockets receive the new states from the rows. Not
// parallel: the time depends on the whole machine.
func TestOpenSocketsAreCurrentAfterRedisRestart(t *testing.T) {
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	w := openWorld(t, server.URL, kit.MySQL(t), "STAMPEDE_PAY_WINDOW=1h",
		"STAMPEDE_MAX_CONNS_PER_IP=100000", "STAMPEDE_AUTH_RATE=0", "STAMPEDE_BUY_RATE=0")
	for partition := range partitions {
		w.offer(3*manyBuyers, 3, partition)
	}
	w.addBuyers(manyBuyers)
	n := w.start()
	w.enter(n)
	w.forAllBuyers("buy", func(b *buyer) error {
		if op := b.attempt(&w.sales[b.rng.IntN(len(w.sales))]); op.Outcome != OK {
			return fmt.Errorf("the buy was %s: %s", op.Outcome, op.Code)
		}
		return nil
	})
	w.awaitWritten()
	kit.Eventually(t, settleTimeout, func() (bool, string) { return w.allReceived(1) })

	server.Kill()
	w.expireUnpublished()
	server.Start()
	restartedAt := time.Now()
	kit.Eventually(t, settleTimeout, func() (bool, string) { return w.allReceived(2) })
	took := time.Since(restartedAt)
	if took > catchUpLimit {
		t.Errorf("the last socket was current %v after the restart of Redis, want at most %v", took, catchUpLimit)
	}
	w.setDeadline(0) // the sweepers process the expired orders and return their units
	w.awaitRest(n, fmt.Sprintf("all current %v after the restart of Redis;", took.Round(10*time.Millisecond)))
	for _, h := range w.memory.copy().Received {
		if h.Via != ByEvent {
			t.Fatalf("user %s received order %s by %s, want an event on the open socket", h.User, h.Order, h.Via)
		}
	}
}

// expireUnpublished expires all orders without publishing, like a sweeper that dies after the COMMIT.
func (w *world) expireUnpublished() {
	w.t.Helper()
	now := shop.MillisOf(time.Now())
	w.exec(fmt.Sprintf("UPDATE orders SET pay_by = %d", now-1))
	for ids := range slices.Chunk(w.memory.acceptedOrders(), 1000) {
		_, err := w.store.Orders().Expire(kit.Context(w.t), ids, now)
		w.must(err)
	}
}

// allReceived reports whether every device has received this rev of every order of its user.
func (w *world) allReceived(rev int) (bool, string) {
	history := w.memory.copy()
	orders := make(map[shop.ID]int)
	for _, op := range history.Ops {
		if op.Kind == Buy && op.Outcome == OK {
			orders[op.User]++
		}
	}
	want := 0
	for _, b := range w.buyers {
		want += orders[b.id] * len(b.phones)
	}
	received := make(map[Received]bool)
	for _, h := range history.Received {
		if h.Rev == rev {
			received[Received{Device: h.Device, Order: h.Order}] = true
		}
	}
	return len(received) == want, fmt.Sprintf("%d of %d devices received rev %d", len(received), want, rev)
}
