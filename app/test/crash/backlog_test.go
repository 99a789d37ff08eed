//go:build crashpoints

package crash

import (
	"fmt"
	"testing"
)

// backlog is the minimum number of accepted reservations without a row at the kill.
const backlog = 500

// P2, P6: kill -9 with at least 500 accepted reservations that are not committed, at a moment that depends on the seed.
// The next life is killed while it writes them. All of them become orders, and every buyer receives the event.
func TestKilledInBacklog(t *testing.T) {
	for i := range *seedsFlag {
		t.Run(fmt.Sprintf("seed-%d", i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.crowded()
			reserving := w.start("STAMPEDE_ROLES=api")
			lost := w.killInBacklog(reserving)

			writing := w.start()
			w.enter(writing)
			w.rows(w.dice.IntN(lost))
			writing.Kill()
			next := w.start()
			w.reconnectAll(next)
			w.rest(next, fmt.Sprintf("%3d uncommitted", lost))
		})
	}
}

// crowded creates two sales with enough units for all buyers, in two partitions.
func (w *world) crowded() {
	w.t.Helper()
	first := w.dice.IntN(partitions)
	w.offer(5000, 1000, first)
	w.offer(5000, 1000, (first+1)%partitions)
	w.invite(40)
}

// killInBacklog buys on a node without a worker and kills the node. It returns the number of accepted reservations
// without a row.
func (w *world) killInBacklog(n *node) int {
	w.t.Helper()
	w.enter(n)
	tr := w.trade(habits{})
	w.answered(backlog + 20 + w.dice.IntN(200))
	n.Kill()
	tr.end()
	lost := w.uncommitted()
	if lost < backlog {
		w.t.Fatalf("%d confirmed reservations were uncommitted at the kill, want at least %d", lost, backlog)
	}
	return lost
}
