//go:build cluster

package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// P1, P2, P4: a primary that has no replica is killed in mid-sale and comes back from its file. While it is away,
// people go on to buy in the partitions of the others, as fast as ever, and what they are answered becomes rows.
// Afterwards every answer has its row, in its partitions too, and no reservation is counted as lost.
func TestPrimaryWithoutAReplicaIsAway(t *testing.T) {
	cluster := kit.StartRedisCluster(t, 3, 0)
	w := open(t, cluster.URL)
	f := failover{world: w, primary: cluster.Primaries[1], loses: nothing}
	for p, primary := range w.places() {
		f.hit[p] = primary == f.primary.Addr()
	}
	victim := slices.Index(f.hit[:], true)
	if victim < 0 || f.sides() == partitions {
		t.Fatalf("%d partitions are on %s, want some and not all", f.sides(), f.primary.Addr())
	}
	crowd := f.gather()
	for p := range partitions {
		crowd.answered(p, 10)
	}
	died := time.Now()
	f.primary.Kill()
	killed := crowd.count(victim)
	for p := range partitions {
		if f.spared(p) {
			crowd.answered(p, 20)
		}
	}
	f.rowsWhileAway(during(crowd.sofar(), died, time.Now(), f.spared))
	// Whoever was on his way when it died may have been answered rightly: one press of each at most.
	if n := crowd.count(victim) - killed; n > perSale {
		t.Errorf("%d presses of partition %d were answered while its primary was away", n, victim)
	}
	back := time.Now()
	f.primary.Start()
	for p := range partitions {
		crowd.answered(p, 10)
	}
	over := time.Now()
	presses := crowd.stop()
	f.settled(presses, over)
	for _, n := range w.fronts {
		if lost := n.metric("stampede_reservations_lost_total"); lost > 0 {
			t.Errorf("%v reservations are counted as lost, want none", lost)
		}
	}
	t.Logf("away for %v, ten more buys of each partition %v after it was started", back.Sub(died).Round(time.Millisecond),
		over.Sub(back).Round(time.Millisecond))
	f.othersWentOn(during(presses, died, over, f.spared))
}

// rowsWhileAway waits until each of the presses has its row.
func (f *failover) rowsWhileAway(presses []press) {
	f.t.Helper()
	kit.Eventually(f.t, healing, func() (bool, string) {
		rows := f.rows()
		var without []app.ID
		for _, p := range presses {
			if !rows[p.receipt.Order] {
				without = append(without, p.receipt.Order)
			}
		}
		return len(without) == 0, fmt.Sprintf("%d of %d answers of living primaries have no row: %v", len(without),
			len(presses), without[:min(len(without), 3)])
	})
}
