//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// P1–P8: the program dies at each crash point during buys, cancellations, expiries and operations of operators. The
// next node completes all pending work.
func TestDeathAtEachCrashPointLosesNoWork(t *testing.T) {
	for _, point := range faults.Names() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			flow, _, _ := strings.Cut(point, ".")
			switch flow {
			case "recover":
				dieDuringRecovery(t, point)
			case "warm":
				dieDuringWarmUp(t, point)
			case "blank":
				dieDuringBlanking(t, point)
			case "pay", "close", "late", "refund", "post":
				dieDuringPayment(t, flow, point)
			case "act", "edit", "withdraw", "switch", "notice", "block":
				dieDuringOperation(t, flow, point)
			case "ship", "receipt":
				dieDuringShipping(t, flow, point)
			case "address":
				dieDuringAddressChange(t, point)
			default:
				dieDuringBuys(t, point)
			}
		})
	}
}

// twoSales creates a sale with many units and one with few in the same partition, so that batches and groups contain
// both.
func (w *world) twoSales() {
	w.t.Helper()
	partition := w.rng.IntN(partitions)
	w.offer(500, 20, partition)
	w.offer(12, 2, partition)
}

// randomExecution returns the execution of a point at which the process is killed, a random number from 1 to limit. At
// early executions the shop is empty; at later executions orders wait.
func (w *world) randomExecution(limit int) int { return 1 + w.rng.IntN(limit) }

func (w *world) crashAt(point string, execution int) string {
	return fmt.Sprintf("STAMPEDE_CRASH_AT=%s#%d", point, execution)
}

func dieDuringBuys(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.addBuyers(20)
	settings := []string{w.crashAt(point, w.randomExecution(4))}
	if point == "cancel.after-insert" {
		settings = append(settings, "STAMPEDE_ROLES=api") // a consumer would write the row of a reservation immediately
	}
	victim := w.start(settings...)
	w.enter(victim)
	tr := w.trade(behaviour{cancelPercent: 25})
	victim.waitDeath(point)
	tr.end()
	uncommitted := w.uncommitted()
	next := w.start()
	w.reconnectAll(next)
	w.awaitRest(next, fmt.Sprintf("%3d uncommitted", uncommitted))
}

// dieDuringAddressChange kills the program while buyers set the addresses of orders. Confirmed addresses are kept.
func dieDuringAddressChange(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.addBuyers(20)
	settings := []string{w.crashAt(point, w.randomExecution(4))}
	if point == "address.after-insert" {
		settings = append(settings, "STAMPEDE_ROLES=api") // a consumer would write the row of a reservation immediately
	}
	victim := w.start(settings...)
	w.enter(victim)
	address := shop.Address{Name: "Ada", Phone: "1", Text: "Home"}
	var mu sync.Mutex
	var confirmed []shop.ID
	tr := w.trade(behaviour{cancelPercent: 10, after: func(b *buyer, op Op) {
		if _, err := b.phones[0].socket().SetAddress(op.Order, address); err == nil {
			mu.Lock()
			defer mu.Unlock()
			confirmed = append(confirmed, op.Order)
		}
	}})
	victim.waitDeath(point)
	tr.end()
	uncommitted := w.uncommitted()
	next := w.start()
	w.reconnectAll(next)
	w.awaitRest(next, fmt.Sprintf("%3d uncommitted", uncommitted))
	rows, err := w.store.Orders().OrdersByID(kit.Context(t), confirmed)
	w.must(err)
	for _, o := range rows {
		if o.Address == nil || *o.Address != address {
			t.Errorf("order %s has the address %v, want the confirmed one", o.ID, o.Address)
		}
	}
	if len(rows) != len(confirmed) {
		t.Errorf("got %d rows of %d orders with a confirmed address", len(rows), len(confirmed))
	}
}

// dieDuringRecovery kills a process that recovers a partition whose stream contains reservations without a row. Either
// Redis has lost writes, or the database has lost the end of every order that was cancelled under its first hold.
func dieDuringRecovery(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.addBuyers(20)
	all := w.start()
	w.enter(all)
	w.trade(behaviour{cancelPercent: 25, attempts: 5}).wait()
	all.Kill()
	reserver := w.start("STAMPEDE_ROLES=api")
	w.enter(reserver)
	w.trade(behaviour{cancelPercent: 10, attempts: 5}).wait()
	reserver.Kill()
	uncommitted := w.uncommitted()

	pass := 1
	switch point {
	case "recover.after-end", "recover.in-write", "recover.after-compare":
		w.memory.history.Replaced = true
		w.exec("UPDATE history SET server = 'replaced'")
		w.exec("UPDATE sales SET taken = taken + (SELECT COALESCE(SUM(qty), 0) FROM orders WHERE sale_id = sales.id" +
			" AND state = 'cancelled' AND hold = 1)")
		// Not due yet: a due order whose end is lost counts as expired.
		w.exec("UPDATE orders SET state = 'pending', reason = '', cancelled_at = 0, rev = 1, published_rev = 1," +
			" unpublished_since = NULL, pay_by = created_at + 3600000 WHERE state = 'cancelled' AND hold = 1")
	default: // the database is an epoch ahead, as after a recovery that died elsewhere
		_, err := w.store.Partitions().AdvanceEpoch(kit.Context(t), w.sales[0].Partition, 0)
		w.must(err)
	}
	if point == "recover.after-restore" || point == "recover.after-end" || point == "recover.after-compare" {
		pass = w.randomExecution(len(w.sales))
	}
	w.launch(w.crashAt(point, pass)).waitDeath(point)
	next := w.start()
	w.reconnectAll(next)
	w.trade(behaviour{attempts: 2}).wait()
	w.awaitRest(next, fmt.Sprintf("%3d uncommitted", uncommitted))
}

// dieDuringWarmUp kills the process while a sale is partly loaded.
func dieDuringWarmUp(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.addBuyers(20)
	w.launch(w.crashAt(point, w.randomExecution(len(w.sales)))).waitDeath(point)
	next := w.start()
	w.enter(next)
	w.trade(behaviour{cancelPercent: 25, attempts: 5}).wait()
	w.reconnectAll(next)
	w.awaitRest(next, "")
}
