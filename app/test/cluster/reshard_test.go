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

// P1, P2, P4: slots with the keys of partitions are moved to another primary in mid-sale, and then back, in the way of
// the server: by redis-cli, key by key, or by the server itself, many slots at once (Valkey 9). Every press is
// answered, every answer has its row, nothing is counted as lost.
func TestSlotsMoveDuringTheSale(t *testing.T) {
	t.Run("answers wait for nobody", func(t *testing.T) { slotsMove(t) })
	t.Run("answers wait for a replica", func(t *testing.T) { slotsMove(t, waiting...) })
}

func slotsMove(t *testing.T, settings ...string) {
	cluster := kit.StartRedisCluster(t, 3, 3)
	w := open(t, cluster.URL, settings...)
	before := w.places()
	crowd := w.gather()
	for p := range partitions {
		crowd.answered(p, 10)
	}
	from, to := cluster.Primaries[0], cluster.Primaries[2]
	began := time.Now()
	back := w.moveSlots(from, to)
	moved := w.places()
	if before[0] != from.Addr() || moved[0] != to.Addr() {
		t.Errorf("partition 0 was on %s and is on %s, want it on %s", before[0], moved[0], to.Addr())
	}
	for p := range partitions {
		crowd.answered(p, 10)
	}
	back()
	over := time.Now()
	for p := range partitions {
		crowd.answered(p, 10)
	}
	presses := crowd.stop()
	w.drained()
	rows := w.rows()
	oneOrderPerPress(t, presses)
	for _, p := range presses {
		if !rows[p.receipt.Order] {
			t.Errorf("P2: order %s of partition %d was answered and has no row", p.receipt.Order, p.partition)
		}
	}
	w.passesAudit()
	for _, n := range w.fronts {
		if lost := n.metric("stampede_reservations_lost_total"); lost > 0 {
			t.Errorf("%v reservations are counted as lost, want none", lost)
		}
	}
	meanwhile := during(presses, began, over, func(int) bool { return true })
	t.Logf("slots moved for %v: %d presses, %d of them busy at first, p50 %v, p99 %v, longest %v",
		over.Sub(began).Round(time.Millisecond), len(meanwhile), busy(meanwhile),
		quantile(meanwhile, 0.5).Round(time.Millisecond), quantile(meanwhile, 0.99).Round(time.Millisecond),
		quantile(meanwhile, 1).Round(time.Millisecond))
}

// half is how many slots are moved: half of the first primary's, the lowest, and with them the first partition.
const half = 2730

// moveSlots moves them in the way that operators of the server would, and answers what shares the slots out evenly
// again.
//
// redis-cli gives five CLUSTER SETSLOT for each slot, and Valkey passes each on to the replicas: 100 slots of a bare
// cluster took it 5.5 s (2.9 s without replicas, 0.7 s on Redis 7.0). Valkey 9 has a command for many slots.
func (w *world) moveSlots(from, to *kit.RedisServer) (back func()) {
	w.t.Helper()
	there, here := fmt.Sprint(to.Do("CLUSTER", "MYID")), fmt.Sprint(from.Do("CLUSTER", "MYID"))
	if strings.Contains(fmt.Sprint(from.Do("INFO", "server")), "valkey_version:9") {
		w.migrate(from, there)
		return func() { w.migrate(to, here) }
	}
	w.redisCLI("--cluster", "reshard", from.Addr(), "--cluster-from", here, "--cluster-to", there,
		"--cluster-slots", fmt.Sprint(half), "--cluster-yes")
	return func() { w.redisCLI("--cluster", "rebalance", from.Addr()) }
}

// migrate lets the server give the slots to the node, and waits until it has and every primary knows.
func (w *world) migrate(from *kit.RedisServer, node string) {
	w.t.Helper()
	from.Do("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", 0, half-1, "NODE", node)
	kit.Eventually(w.t, healing, func() (bool, string) {
		state := fmt.Sprint(from.Do("CLUSTER", "GETSLOTMIGRATIONS"))
		if strings.Contains(state, "failed") || strings.Contains(state, "cancel") {
			w.t.Fatalf("CLUSTER MIGRATESLOTS of %s: %s", from.Addr(), state)
		}
		export := strings.Contains(state, "EXPORT") && strings.Contains(state, node)
		return export && strings.Contains(state, "success"), state
	})
}

// redisCLI runs it to its end and demands that all went well.
func (w *world) redisCLI(args ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute) // every slot is written to disk by every server
	defer cancel()
	out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "[ERR]") {
		text := string(out)
		w.t.Fatalf("redis-cli %v: %v\n…%s", args, err, text[max(0, len(text)-3000):])
	}
}
