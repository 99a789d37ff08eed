//go:build crashpoints

package crash

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/apptest"
	"stampede/app/crashpoint"
)

// P1, P5, I3: ten thousand orders have the very same deadline, and the sweeper dies in the middle of them. Every unit
// comes back exactly once.
func TestKilledSweeping(t *testing.T) {
	for _, point := range []string{crashpoint.ExpireCommitted, crashpoint.ExpireReturned, crashpoint.ExpireDrop} {
		t.Run(point, func(t *testing.T) {
			const buyers, each = 100, 100
			w := newWorld(t, "STAMPEDE_PAY_WINDOW=10m")
			w.offer(3*buyers*each, 3*each, w.dice.IntN(partitions))
			w.invite(buyers)
			victim := w.start(w.crashAt(point, 2+w.dice.IntN(7)))
			w.enter(victim)
			w.trade(habits{presses: each}).wait()
			apptest.Eventually(t, healing, func() (bool, string) { m := w.unsettled(); return m == "", m })
			if n := w.count("SELECT COUNT(*) FROM orders"); n != buyers*each {
				t.Fatalf("%d orders, want %d", n, buyers*each)
			}
			w.sameDeadline(2 * time.Second)
			victim.waitDeath(point)
			left := w.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'")
			next := w.start()
			w.comeBack(next)
			w.rest(next, fmt.Sprintf("%d still pending at the kill", left))
		})
	}
}

// sameDeadline moves all pending orders to one deadline, in the rows and in the delay queues.
func (w *world) sameDeadline(in time.Duration) {
	w.t.Helper()
	ctx := apptest.Context(w.t)
	now, err := w.redis.Time(ctx).Result()
	w.must(err)
	deadline := app.MillisOf(now.Add(in))
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
}
