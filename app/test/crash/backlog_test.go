//go:build crashpoints

package crash

import (
	"fmt"
	"testing"
)

// backlog is the minimum number of accepted reservations without a row at the kill.
const backlog = 500

// P2, P6: kill -9 with at least 500 accepted reservations that are not committed, at a moment that depends on the seed.
// The next node is killed while it writes these reservations. All of them become orders, and every buyer receives the
// event.
func TestKilledNodeLosesNoBacklog(t *testing.T) {
	for i := range *seedsFlag {
		t.Run(fmt.Sprintf("seed-%d", i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.setUpCrowd()
			reserver := w.start("STAMPEDE_ROLES=api")
			uncommitted := w.killInBacklog(reserver)

			writer := w.start()
			w.enter(writer)
			w.awaitRows(w.rng.IntN(uncommitted))
			writer.Kill()
			next := w.start()
			w.reconnectAll(next)
			w.awaitRest(next, fmt.Sprintf("%3d uncommitted", uncommitted))
		})
	}
}

// setUpCrowd creates two sales with enough units for all buyers, in two partitions.
func (w *world) setUpCrowd() {
	w.t.Helper()
	first := w.rng.IntN(partitions)
	w.offer(5000, 1000, first)
	w.offer(5000, 1000, (first+1)%partitions)
	w.addBuyers(40)
}

// killInBacklog buys on a node without a worker and kills the node. It returns the number of accepted reservations
// without a row.
func (w *world) killInBacklog(n *node) int {
	w.t.Helper()
	w.enter(n)
	tr := w.trade(behaviour{})
	w.awaitAccepted(backlog + 20 + w.rng.IntN(200))
	n.Kill()
	tr.end()
	uncommitted := w.uncommitted()
	if uncommitted < backlog {
		w.t.Fatalf("%d confirmed reservations were uncommitted at the kill, want at least %d", uncommitted, backlog)
	}
	return uncommitted
}
