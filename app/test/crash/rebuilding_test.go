//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P1, P2, I3, I8: Redis loses a partition whose orders all have rows. During its recovery, buyers cancel orders, other
// orders expire, and the node may die at a point of the recovery. Afterwards no data is missing, and the scan has
// corrected nothing.
func TestRebuildWhileOrdersEndLosesNoData(t *testing.T) {
	for point, pass := range recoveryPoints {
		t.Run(pointName(point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "STAMPEDE_PAY_WINDOW=6s")
			w.twoSales()
			w.addBuyers(20)
			var settings []string
			if point != "" {
				settings = append(settings, w.crashAt(point, pass))
			}
			n := w.start(settings...)
			w.enter(n)
			w.trade(behaviour{attempts: 5}).wait()
			w.awaitWritten()
			w.losePartition(w.sales[0].Partition)
			w.forAllBuyers("cancel", func(b *buyer) error {
				for _, op := range w.memory.acceptedBuysOf(b.id) {
					if b.rng.IntN(3) > 0 {
						b.cancel(op.Order, op.Sale)
					}
				}
				return nil
			})
			if point != "" {
				n.waitDeath(point)
				n = w.start()
			}
			w.reconnectAll(n)
			w.trade(behaviour{cancelPercent: 25, attempts: 2}).wait()
			w.awaitRest(n, "")
			w.requireNoCorrections()
		})
	}
}

// P1, P8, I3: a recovery like in TestRebuildWhileOrdersEndLosesNoData while orders are paid, refunded and paid late.
func TestRebuildWhileOrdersArePaidLosesNoMoney(t *testing.T) {
	for point, pass := range recoveryPoints {
		t.Run(pointName(point), func(t *testing.T) {
			t.Parallel()
			sim, settings := newGateway(t)
			w := newWorld(t, append(settings, "STAMPEDE_PAY_WINDOW=10s")...)
			sale := w.offer(6, 1, w.rng.IntN(partitions))
			var crashSettings []string
			if point != "" {
				crashSettings = append(crashSettings, w.crashAt(point, pass))
			}
			n := w.start(crashSettings...)
			flows := []string{"pay", "refund", "close", "pay", "refund", "close"}
			payers := make([]*payer, len(flows))
			for i, flow := range flows {
				payers[i] = w.payer(sim)
				payers[i].buy(n, &sale)
				if flow == "refund" {
					payers[i].pay(n, "pay", nil)
					payers[i].awaitState(n, shop.Paid)
				}
			}
			w.losePartition(sale.Partition)
			for i, flow := range flows {
				if flow == "refund" {
					_ = payers[i].post(n, "/api/v1/orders/"+payers[i].order.String()+"/refund",
						map[string]any{"reason": "too large"}, nil)
				} else {
					payers[i].pay(n, flow, nil)
				}
			}
			if point != "" {
				n.waitDeath(point)
				w.start()
			}
			kit.Eventually(t, settleTimeout,
				func() (bool, string) { problem := w.moneyProblem(sim); return problem == "", problem })
			w.audit()
			w.requireNoCorrections()
			report.line("ok  %-58s %d nodes started", w.name, w.nodesStarted)
		})
	}
}

// recoveryPoints maps the crash points of a Redis recovery to the first execution after the start. At the start each
// partition is recovered once, without a sale to restore. Points for missing rows are not included. The point "" means
// that no node dies.
var recoveryPoints = map[string]int{
	"":                      0,
	"recover.after-close":   partitions + 1,
	"recover.after-advance": partitions + 1,
	"recover.after-restore": 1,
	"recover.before-open":   partitions + 1,
}

func pointName(point string) string {
	if point == "" {
		return "no node dies"
	}
	return point
}

// losePartition deletes all keys of a partition, like the replacement of a disk.
func (w *world) losePartition(partition int) {
	w.t.Helper()
	ctx := kit.Context(w.t)
	keys, err := w.redis.Keys(ctx, fmt.Sprintf("stampede:{%d}:*", partition)).Result()
	w.must(err)
	w.must(w.redis.Del(ctx, keys...).Err())
}

// requireNoCorrections requires that no node logged counters that differ from the sums of their holds, because the
// scan corrects such counters and hides the defect.
func (w *world) requireNoCorrections() {
	w.t.Helper()
	logs, err := filepath.Glob(filepath.Join(w.folder, "node-*.log"))
	w.must(err)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		w.must(err)
		for _, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "differed from the sums of its holds") ||
				strings.Contains(line, "the holds and rows of a sale differ") {
				w.t.Errorf("I3: %s", line)
			}
		}
	}
}
