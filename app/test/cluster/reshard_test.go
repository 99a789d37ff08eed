//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
)

// P1, P2, P4: slots that contain partitions are moved to another primary during a sale, and then back. redis-cli moves
// the slots key by key; Valkey 9 has a command that moves many slots at once. Every buy gets a result, every result has
// its row, and no loss is counted.
func TestMovedSlotsLoseNoOrder(t *testing.T) {
	t.Run("replies wait for no replica", func(t *testing.T) { sellDuringSlotMove(t) })
	t.Run("replies wait for a replica", func(t *testing.T) { sellDuringSlotMove(t, waitForReplica...) })
}

func sellDuringSlotMove(t *testing.T, settings ...string) {
	cluster := kit.StartRedisCluster(t, 3, 3)
	w := open(t, cluster.URL, settings...)
	before := w.primaries()
	crowd := w.startCrowd()
	for p := range partitions {
		crowd.awaitResults(p, 10)
	}
	from, to := cluster.Primaries[0], cluster.Primaries[2]
	began := time.Now()
	moveBack := w.moveSlots(from, to)
	moved := w.primaries()
	if before[0] != from.Addr() || moved[0] != to.Addr() {
		t.Errorf("partition 0 was on %s and is on %s, want it on %s", before[0], moved[0], to.Addr())
	}
	for p := range partitions {
		crowd.awaitResults(p, 10)
	}
	moveBack()
	end := time.Now()
	for p := range partitions {
		crowd.awaitResults(p, 10)
	}
	attempts := crowd.stop()
	w.awaitDrained()
	rows := w.rows()
	oneOrderPerAttempt(t, attempts)
	for _, p := range attempts {
		if !rows[p.receipt.Order] {
			t.Errorf("P2: order %s of partition %d was confirmed and has no row", p.receipt.Order, p.partition)
		}
	}
	w.awaitAudit()
	for _, n := range w.apiNodes {
		if lost := n.metric("stampede_reservations_lost_total"); lost > 0 {
			t.Errorf("%v reservations are counted as lost, want 0", lost)
		}
	}
	moveBuys := buysDuring(attempts, began, end, func(int) bool { return true })
	t.Logf("slots moved for %v: %d buys, %d of them busy at first, p50 %v, p99 %v, longest %v",
		end.Sub(began).Round(time.Millisecond), len(moveBuys), busy(moveBuys),
		quantile(moveBuys, 0.5).Round(time.Millisecond), quantile(moveBuys, 0.99).Round(time.Millisecond),
		quantile(moveBuys, 1).Round(time.Millisecond))
}

// movedSlots is the number of moved slots: the lower half of the first primary's slots. Partition 0 is in one of them.
const movedSlots = 2730

// moveSlots moves the slots with the server's own tool. It returns a function that distributes them evenly again.
//
// redis-cli sends five CLUSTER SETSLOT commands per slot, and Valkey forwards each to the replicas. 100 slots of an
// idle cluster took 5.5 s (2.9 s without replicas, 0.7 s on Redis 7.0). Valkey 9 has a command for many slots.
func (w *world) moveSlots(from, to *kit.RedisServer) (moveBack func()) {
	w.t.Helper()
	toID, fromID := fmt.Sprint(to.Do("CLUSTER", "MYID")), fmt.Sprint(from.Do("CLUSTER", "MYID"))
	if strings.Contains(fmt.Sprint(from.Do("INFO", "server")), "valkey_version:9") {
		w.migrate(from, toID)
		return func() { w.migrate(to, fromID) }
	}
	w.redisCLI("--cluster", "reshard", from.Addr(), "--cluster-from", fromID, "--cluster-to", toID,
		"--cluster-slots", fmt.Sprint(movedSlots), "--cluster-yes")
	return func() { w.redisCLI("--cluster", "rebalance", from.Addr()) }
}

// migrate makes the server move the slots to the node, and waits until the server reports success.
func (w *world) migrate(from *kit.RedisServer, node string) {
	w.t.Helper()
	from.Do("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", 0, movedSlots-1, "NODE", node)
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		state := fmt.Sprint(from.Do("CLUSTER", "GETSLOTMIGRATIONS"))
		if strings.Contains(state, "failed") || strings.Contains(state, "cancel") {
			w.t.Fatalf("CLUSTER MIGRATESLOTS of %s: %s", from.Addr(), state)
		}
		export := strings.Contains(state, "EXPORT") && strings.Contains(state, node)
		return export && strings.Contains(state, "success"), state
	})
}

// redisCLI runs redis-cli and checks that it succeeds.
func (w *world) redisCLI(args ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute) // every server writes each moved slot to disk
	defer cancel()
	out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "[ERR]") {
		text := string(out)
		w.t.Fatalf("redis-cli %v: %v\n…%s", args, err, text[max(0, len(text)-3000):])
	}
}
