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

// P1, P2, P4: slots with the keys of partitions are moved to another primary in mid-sale by redis-cli, key by key, and
// then shared out evenly again. Every press is answered, every answer has its row, nothing is counted as lost.
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
	// Half of the first primary's slots, and with them the first partition.
	w.redisCLI("--cluster", "reshard", from.Addr(), "--cluster-from", fmt.Sprint(from.Do("CLUSTER", "MYID")),
		"--cluster-to", fmt.Sprint(to.Do("CLUSTER", "MYID")), "--cluster-slots", "2730", "--cluster-yes")
	moved := w.places()
	if before[0] != from.Addr() || moved[0] != to.Addr() {
		t.Errorf("partition 0 was on %s and is on %s, want it on %s", before[0], moved[0], to.Addr())
	}
	for p := range partitions {
		crowd.answered(p, 10)
	}
	w.redisCLI("--cluster", "rebalance", from.Addr())
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
