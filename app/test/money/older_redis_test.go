package money

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"stampede/app/shop"
	"stampede/streams"
)

// P1, P2, P8: both stores are promoted. The database has lost that A was cancelled, and the order B that bought its
// unit. Redis is an older state that proves both. B keeps its unit and its money.
func TestBothStoresPromotedUnitStaysWithSecondBuyer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rowKept, pays bool }{
		"A's row lost, B paid": {pays: true}, "A pending, B paid": {rowKept: true, pays: true},
		"A's row lost, B unpaid": {}, "A pending, B unpaid": {rowKept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(1, 1)
			a := w.order(sale, newID())
			restore := w.saveRows(a)
			w.must(errOf(n.expirer.Cancel(n.ctx, a.User, a.ID)))
			b := w.order(sale, newID())
			if c.pays {
				payAndSettle(w, n, b)
			}
			w.deleteRows(b)
			if restore(); !c.rowKept {
				w.deleteRows(a)
			}
			w.simulatePromotion()
			w.forceRebuild()
			n = w.node(nil)
			w.must(n.recoverPartition(nil))
			if report, err := n.driver().Recover(w.ctx, 0); err != nil || len(report.Problems) > 0 {
				t.Errorf("a second recovery: %+v, %v; want no problems", report, err)
			}
			w.awaitRest(sale, []shop.ID{b.ID}, t.Errorf)
			if row := w.read(b.ID); c.pays && row.State != shop.Paid || !c.pays && row.State != shop.Pending {
				t.Errorf("B is %s (%s), paid %v", row.State, row.Reason, c.pays)
			}
		})
	}
}

// P1: both stores are promoted. Units that an operator withdrew stay off sale, though the database has lost it.
func TestBothStoresPromotedWithdrawnUnitsStayOffSale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(5, 2)
	o := w.order(sale, newID())
	w.must(w.changeStock(w.ctx, operator(), sale.ID, 1, -3))
	w.exec("DELETE FROM stock_operations WHERE sale_id = ?", sale.ID)
	w.exec("UPDATE sales SET withdrawn = 0, version = version - 1 WHERE id = ?", sale.ID)
	w.simulatePromotion()
	for range 2 { // the second recovery is a repeat after a crash
		w.forceRebuild()
		w.must(w.node(nil).recoverPartition(nil))
		if c := w.redisCounters(sale); c.Stock != 1 || w.free(sale) != 1 {
			t.Errorf("%d units are for sale, %d are free in the database, want 1", c.Stock, w.free(sale))
		}
	}
	w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
}

// P1, I8: Redis starts with an older copy that lacks no reservation, only a revival or a withdrawal of units. The
// partition is restored, also if all nodes have restarted since the loss.
func TestOlderCopyWithoutLostReservationIsDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change string
		beat   bool // a beat has recorded the number of changes
	}{{"revival", true}, {"withdrawal", true}, {"revival", false}, {"withdrawal", false}} {
		t.Run(fmt.Sprintf("%s, beat %v", c.change, c.beat), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(2, 1)
			a, b := w.order(sale, newID()), w.order(sale, newID())
			if c.change == "revival" {
				payLate(w, n, a)
			} else {
				expireOrder(w, n, a)
			}
			w.must(n.recoverPartition(nil))
			w.retry("settled", func() error {
				if c := w.redisCounters(sale); c.Done != c.Tickets || c.Stock != 1 {
					return fmt.Errorf("counters %+v", c)
				}
				return nil
			})
			restoreCopy := w.copyRedis()
			if c.change == "revival" {
				w.retry("the late payment", func() error { return n.settleNow(a) })
			} else {
				w.must(w.changeStock(w.ctx, operator(), sale.ID, 1, -1))
			}
			if c.beat {
				w.must(n.recoverPartition(nil))
			}
			w.stopWorker()
			restoreCopy()
			w.startWorker()
			d := w.node(nil).driver()
			fresh, err := streams.New(streams.Options{Client: w.client, Partitions: 1}) // of a new process
			w.must(err)
			d.Redis = fresh
			w.must(d.RunOnce(w.ctx))
			w.must(w.node(nil).recoverPartition(nil))
			if d.Counts().Passes.Load() == 0 {
				t.Error("the older copy was not detected")
			}
			if c, reserved := w.buy(sale, newID(), 1); reserved {
				t.Errorf("a buyer got the reply reserved for a unit that is gone; the order is %s (%s)", c.State, c.Reason)
			}
			w.awaitRest(sale, []shop.ID{a.ID, b.ID}, t.Errorf)
		})
	}
}

// P1: Redis starts with a copy that is older than the last generation of the database. It is restored from the rows,
// although it has no earlier number than they have.
func TestCopyOfAnEarlierGenerationIsDetected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(1, 1)
	w.must(w.node(nil).recoverPartition(nil))
	restoreCopy := w.copyRedis()
	w.must(errOf(w.node(nil).driver().Restore(w.ctx)))
	w.must(w.node(nil).recoverPartition(nil))
	w.must(w.changeStock(w.ctx, operator(), sale.ID, int64(w.sale(sale.ID).Version), -1))
	w.stopWorker()
	restoreCopy()
	w.must(w.node(nil).recoverPartition(nil))
	w.startWorker()
	if c := w.redisCounters(sale); c.Stock != 0 || c.Stuck != "" {
		t.Errorf("%d units are for sale, stuck %q; want none, and a sale that continues", c.Stock, c.Stuck)
	}
	w.awaitRest(sale, nil, t.Errorf)
}

// copyRedis copies the keys of the partition. The returned function lets Redis start with that copy.
func (w *world) copyRedis() (restore func()) {
	w.t.Helper()
	copies := make(map[string]string)
	keys, err := w.client.Keys(w.ctx, "stampede:{0}:*").Result()
	w.must(err)
	for _, key := range keys {
		copies[key] = w.client.Dump(w.ctx, key).Val()
	}
	return func() {
		w.t.Helper()
		for _, key := range slices.Sorted(maps.Keys(copies)) {
			w.must(w.client.RestoreReplace(w.ctx, key, 0, copies[key]).Err())
		}
		// A start of Redis begins another history.
		w.must(w.client.HSet(w.ctx, "stampede:{0}:meta", "history", "0123456789012345678901234567890123456789").Err())
	}
}
