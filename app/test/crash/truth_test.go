//go:build crashpoints

package crash

import (
	"fmt"
	"testing"

	"stampede/app/test/kit"
)

// P7: a worker stands still with a batch in its hands while more is bought. Lag and pending are what a count of the
// stream says, then and after a restart of Redis, after a restart from a rewritten AOF, and on a promoted replica.
func TestTruthWhileWorkersStandStill(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	wire := kit.NewProxy(t, server.URL)
	w := openWorld(t, wire.URL, kit.MySQL(t))
	w.crowded()
	reserving := w.start("STAMPEDE_ROLES=api,sweeper") // the sweeper role keeps the lag true
	w.enter(reserving)
	tr := w.trade(habits{})
	w.answered(backlog)
	tr.end()
	worker := w.start("STAMPEDE_ROLES=worker")
	w.freezeHoldingBatch(worker)
	w.trade(habits{presses: 3}).wait()
	lag, pending := w.waiting()
	if lag == 0 || pending == 0 {
		t.Fatalf("lag %d, pending %d: both must be there to tell the truth about", lag, pending)
	}

	truth := func(when string) {
		t.Helper()
		w.tellsTheTruth()
		if l, p := w.waiting(); l != lag || p != pending {
			t.Errorf("%s: lag %d and pending %d, want %d and %d as before", when, l, p, lag, pending)
		}
	}
	truth("while they stand still")
	server.Kill()
	server.Start()
	truth("after a restart")
	w.rewriteAOF()
	truth("after a rewrite of the AOF")
	server.Kill()
	server.Start()
	truth("after a restart from the rewritten AOF")
	replica := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	replica.Follow(server)
	server.Kill()
	replica.Promote()
	wire.Redirect(replica.URL)
	// What a replica lacks nobody can tell, so all that waited has been written, and the streams are new.
	kit.Eventually(t, healing, func() (bool, string) {
		var waits int64
		for p := range partitions {
			g, err := w.group(kit.Context(t), p)
			if err != nil {
				return false, err.Error()
			}
			waits += g.Lag + g.Pending
		}
		return waits == 0, fmt.Sprintf("%d entries wait on the promoted replica", waits)
	})
	w.tellsTheTruth()

	worker.thaw()
	w.comeBack(reserving)
	w.rest(reserving, fmt.Sprintf("lag %d, pending %d", lag, pending))
}

// waiting sums lag and pending over all partitions, as XINFO says them.
func (w *world) waiting() (lag, pending int64) {
	w.t.Helper()
	for p := range partitions {
		g, err := w.group(kit.Context(w.t), p)
		w.must(err)
		lag, pending = lag+g.Lag, pending+g.Pending
	}
	return lag, pending
}
