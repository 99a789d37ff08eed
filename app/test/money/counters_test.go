package money

import (
	"testing"

	"stampede/app/shop"
)

// P1, I3: an operator or a defect has changed the counters of a sale. The scan sets them to the sums of the holds if
// the rows prove these holds. It reports a missing hold, and a recovery restores it.
func TestScanCorrectsSaleCounters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runScans := func(n *node) {
		t.Helper()
		for range 3 {
			w.must(n.reconciler.RunOnce(n.ctx))
		}
	}
	for name, change := range map[string]map[string]int64{
		"a held unit without a hold":  {"held": 1, "stock": -1},
		"a sold unit without a hold":  {"sold": 1, "stock": -1},
		"a sold unit counted as held": {"held": 1, "sold": -1},
		"a held unit counted as free": {"held": -1, "stock": 1},
		"a missing unit":              {"stock": -1},
		"a surplus unit":              {"stock": 1},
		"more held units than units":  {"held": 5, "stock": -5},
	} {
		t.Run(name, func(t *testing.T) {
			n, sale := w.node(nil), w.offer(3, 2)
			o := w.order(sale, newID())
			payAndSettle(w, n, w.order(sale, newID()))
			for field, by := range change {
				w.must(w.client.HIncrBy(w.ctx, "stampede:{0}:sale:"+sale.ID.String(), field, by).Err())
			}
			if w.audit(sale) == "" {
				t.Fatal("the audit reports no failure")
			}
			runScans(n)
			corrected, mismatched := n.reconciler.Corrected(), n.reconciler.Mismatched()
			if problem := w.audit(sale); problem != "" || corrected != 1 || mismatched != 0 {
				t.Errorf("got %d corrections, %d mismatched sales and audit failures %q; want 1, 0 and none", corrected,
					mismatched, problem)
			}
			if row := w.read(o.ID); row.State != shop.Pending {
				t.Errorf("the order is %s", row.State)
			}
		})
	}
	t.Run("a row without a hold", func(t *testing.T) {
		n, sale := w.node(nil), w.offer(3, 2)
		o, key := w.order(sale, newID()), "stampede:{0}:sale:"+sale.ID.String()
		w.must(w.client.HDel(w.ctx, key+":open", o.ID.String()).Err())
		before := w.client.HGetAll(w.ctx, key).Val()
		runScans(n)
		if after := w.client.HGetAll(w.ctx, key).Val(); after["held"] != before["held"] ||
			after["stock"] != before["stock"] {
			t.Errorf("corrected without proof: %v", after)
		}
		if n.reconciler.Mismatched() != 1 || n.reconciler.Corrected() != 0 {
			t.Errorf("got %d mismatched sales and %d corrections, want 1 and 0", n.reconciler.Mismatched(), n.reconciler.Corrected())
		}
		w.forceRebuild() // as in the runbook
		w.must(n.recoverPartition(nil))
		runScans(n)
		if problem := w.audit(sale); problem != "" || n.reconciler.Mismatched() != 0 {
			t.Errorf("after a recovery: %d mismatched: %s", n.reconciler.Mismatched(), problem)
		}
	})
}
