//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// P1–P8: the program dies at each crash point during buys, cancellations, expiries and operations of operators. The
// next life completes all pending work.
func TestEveryPoint(t *testing.T) {
	for _, point := range faults.Names() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			flow, _, _ := strings.Cut(point, ".")
			switch flow {
			case "recover":
				dieRecovering(t, point)
			case "warm":
				dieWarming(t, point)
			case "archive":
				dieArchiving(t, point)
			case "pay", "close", "late", "refund", "post":
				diePaying(t, flow, point)
			case "act", "edit", "withdraw", "switch", "notice", "block":
				dieActing(t, flow, point)
			case "ship", "receipt":
				dieShipping(t, flow, point)
			default:
				dieServing(t, point)
			}
		})
	}
}

// twoSales creates a sale with many units and one with few in the same partition, so that batches and groups contain
// both.
func (w *world) twoSales() {
	w.t.Helper()
	partition := w.dice.IntN(partitions)
	w.offer(500, 20, partition)
	w.offer(12, 2, partition)
}

// passes returns the pass of a point that kills, from 1 to most. Earlier passes meet an empty shop, later ones waiting
// orders.
func (w *world) passes(most int) int { return 1 + w.dice.IntN(most) }

func (w *world) crashAt(point string, pass int) string {
	return fmt.Sprintf("STAMPEDE_CRASH_AT=%s#%d", point, pass)
}

func dieServing(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.invite(20)
	settings := []string{w.crashAt(point, w.passes(4))}
	if point == "cancel.after-insert" {
		settings = append(settings, "STAMPEDE_ROLES=api") // a consumer would write the row of a reservation immediately
	}
	victim := w.start(settings...)
	w.enter(victim)
	tr := w.trade(habits{cancels: 25})
	victim.waitDeath(point)
	tr.end()
	lost := w.uncommitted()
	next := w.start()
	w.reconnectAll(next)
	w.rest(next, fmt.Sprintf("%3d uncommitted", lost))
}

// dieRecovering: a partition is recovered while its stream contains reservations without a row. Either Redis has lost
// writes, or the database has lost the end of every order that was cancelled under its first hold.
func dieRecovering(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.invite(20)
	all := w.start()
	w.enter(all)
	w.trade(habits{cancels: 25, presses: 5}).wait()
	all.Kill()
	reserving := w.start("STAMPEDE_ROLES=api")
	w.enter(reserving)
	w.trade(habits{cancels: 10, presses: 5}).wait()
	reserving.Kill()
	lost := w.uncommitted()

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
		_, err := w.books.AdvanceEpoch(kit.Context(t), w.sales[0].Partition, 0)
		w.must(err)
	}
	if point == "recover.after-restore" || point == "recover.after-end" || point == "recover.after-compare" {
		pass = w.passes(len(w.sales))
	}
	w.launch(w.crashAt(point, pass)).waitDeath(point)
	next := w.start()
	w.reconnectAll(next)
	w.trade(habits{presses: 2}).wait()
	w.rest(next, fmt.Sprintf("%3d uncommitted", lost))
}

// dieWarming: the process dies while a sale is partly loaded.
func dieWarming(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.invite(20)
	w.launch(w.crashAt(point, w.passes(len(w.sales)))).waitDeath(point)
	next := w.start()
	w.enter(next)
	w.trade(habits{cancels: 25, presses: 5}).wait()
	w.reconnectAll(next)
	w.rest(next, "")
}
