//go:build crashpoints

package crash

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P1, P5, I3: ten thousand orders have the same deadline. A sweeper dies while it processes them, and another node also
// sweeps. Every unit returns exactly once. Units of later deadlines return within a second.
func TestKilledSweeperReturnsUnitsOnce(t *testing.T) {
	for _, point := range []string{"expire.after-commit", "expire.after-return", "expire.before-drop"} {
		t.Run(point, func(t *testing.T) {
			// Below a hundred orders per buyer in total: a client that misses more gets a reset.
			const buyers, perBuyer = 125, 80
			w := newWorld(t, "STAMPEDE_PAY_WINDOW=10m")
			w.offer(3*buyers*perBuyer, 3*perBuyer, w.rng.IntN(partitions))
			w.addBuyers(buyers)
			victim := w.start(w.crashAt(point, 2+w.rng.IntN(7)))
			other := w.start("STAMPEDE_ROLES=sweeper")
			w.enter(victim)
			w.trade(behaviour{attempts: perBuyer}).wait()
			w.awaitWritten()
			if n := w.count("SELECT COUNT(*) FROM orders"); n != buyers*perBuyer {
				t.Fatalf("%d orders, want %d", n, buyers*perBuyer)
			}
			other.freeze() // otherwise it could finish before the victim reaches the point
			w.setDeadline(2 * time.Second)
			victim.waitDeath(point)
			left := w.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'")
			other.thaw()
			crashed := w.redisTime()
			returnedAfter := w.awaitAllFree().Sub(crashed)

			next := w.start("STAMPEDE_ROLES=api,worker")
			w.reconnectAll(next)
			w.trade(behaviour{attempts: 5}).wait()
			w.awaitWritten()
			deadline := w.setDeadline(3 * time.Second)
			late := w.awaitAllFree().Sub(deadline)
			if late > time.Second {
				t.Errorf("P5: the last unit was returned %v after its deadline, want at most 1 s", late)
			}
			w.awaitRest(next,
				fmt.Sprintf("%d pending at the kill, units back after %v; later deadlines %v late", left, returnedAfter,
					late))
		})
	}
}

// awaitWritten waits until every reservation has its row and is settled.
func (w *world) awaitWritten() {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) { m := w.unsettled(); return m == "", m })
}

// awaitAllFree waits until all units of the only sale are free, and returns that time by the clock of Redis.
func (w *world) awaitAllFree() shop.Millis {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		free, err := w.redis.HGet(kit.Context(w.t), kit.SaleKey(&w.sales[0]), "stock").Int64()
		w.must(err)
		return free == w.sales[0].Initial, fmt.Sprintf("%d of %d units are free", free, w.sales[0].Initial)
	})
	return w.redisTime()
}

// setDeadline moves all pending orders to one deadline, in the rows and in the delay queues. It returns the deadline.
func (w *world) setDeadline(in time.Duration) shop.Millis {
	w.t.Helper()
	ctx := kit.Context(w.t)
	now, err := w.redis.Time(ctx).Result()
	w.must(err)
	deadline := shop.MillisOf(now.Add(in))
	_, err = w.db.ExecContext(ctx, "UPDATE orders SET pay_by = ? WHERE state = 'pending'", deadline)
	w.must(err)
	for p := range partitions {
		key := fmt.Sprintf("stampede:{%d}:deadlines", p)
		members, err := w.redis.ZRange(ctx, key, 0, -1).Result()
		w.must(err)
		if len(members) == 0 {
			continue
		}
		moved := make([]redis.Z, len(members))
		for i, member := range members {
			moved[i] = redis.Z{Score: float64(deadline), Member: member}
		}
		w.must(w.redis.ZAdd(ctx, key, moved...).Err())
	}
	return deadline
}
