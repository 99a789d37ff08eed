//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// P1–P8: the program dies at each of its crash points while people buy, cancel and let orders expire, and operators
// act; the next life finishes what the first one began.
func TestEveryPoint(t *testing.T) {
	for _, point := range faults.Names() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			flow, _, _ := strings.Cut(point, ".")
			switch flow {
			case "rebuild":
				dieRebuilding(t, point)
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

// twoSales are an ample one and a scarce one in the same partition, so that batches and groups mix them.
func (w *world) twoSales() {
	w.t.Helper()
	partition := w.dice.IntN(partitions)
	w.offer(500, 20, partition)
	w.offer(12, 2, partition)
}

// passes is how often a point is passed before it kills; later ones meet orders that wait, earlier ones an empty shop.
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
		settings = append(settings, "STAMPEDE_ROLES=api") // with a consumer, a reservation has its row at once
	}
	victim := w.start(settings...)
	w.enter(victim)
	tr := w.trade(habits{cancels: 25})
	victim.waitDeath(point)
	tr.end()
	lost := w.uncommitted()
	next := w.start()
	w.comeBack(next)
	w.rest(next, fmt.Sprintf("%3d uncommitted", lost))
}

// dieRebuilding: a partition is being made anew while its old stream still has reservations without a row.
func dieRebuilding(t *testing.T, point string) {
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
	// The database is an epoch ahead: what a rebuild leaves that died elsewhere.
	_, err := w.books.AdvanceEpoch(kit.Context(t), w.sales[0].Partition, 0)
	w.must(err)

	pass := 1
	if point == "rebuild.after-restore" {
		pass = w.passes(len(w.sales))
	}
	w.launch(w.crashAt(point, pass)).waitDeath(point)
	next := w.start()
	w.comeBack(next)
	w.trade(habits{presses: 2}).wait()
	w.rest(next, fmt.Sprintf("%3d uncommitted", lost))
}

// dieWarming: the sale is half loaded.
func dieWarming(t *testing.T, point string) {
	w := newWorld(t)
	w.twoSales()
	w.invite(20)
	w.launch(w.crashAt(point, w.passes(len(w.sales)))).waitDeath(point)
	next := w.start()
	w.enter(next)
	w.trade(habits{cancels: 25, presses: 5}).wait()
	w.comeBack(next)
	w.rest(next, "")
}
