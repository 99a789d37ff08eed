package money

import (
	"errors"
	"fmt"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/shop"
)

// P2, P8: backups of both stores, or only of the database, are restored. The sales are paused until the gateway's lists
// have shown the payments after the backup: paid orders keep their units and money, before another buyer gets a unit.
func TestRestoredBackupKeepsPaidOrders(t *testing.T) {
	t.Parallel()
	for _, olderRedis := range []bool{true, false} {
		t.Run(fmt.Sprint("with a backup of Redis ", olderRedis), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(3, 1)
			w.must(n.recoverPartition(nil))
			paidBefore, paidAfter := w.order(sale, newID()), w.order(sale, newID())
			payAndSettle(w, n, paidBefore)
			openPayment(w, n, paidAfter)
			restoreRedis, restoreRows := w.copyRedis(), w.saveRows(paidAfter)
			payAndSettle(w, n, paidAfter)
			lost := w.order(sale, newID())
			payAndSettle(w, n, lost)

			w.stopWorker()
			w.deleteRows(lost)
			restoreRows()
			w.must(w.client.FlushDB(w.ctx).Err())
			if olderRedis {
				restoreRedis()
			}
			w.exec("UPDATE history SET stopped = 1, doubt_until = 0") // the backup was made while all nodes were stopped
			n = w.node(nil)
			for range 2 { // a repeat after a crash
				w.must(errOf(n.driver().Restore(n.ctx)))
				if doubts := w.count("SELECT COUNT(*) FROM history WHERE doubt_until > 0"); doubts != 1 {
					t.Error("the restore began no doubt about the payments of pending orders")
				}
				now, err := w.inventory.Now(n.ctx)
				w.must(err)
				if paused, err := w.db.RestoredSales().Pause(n.ctx, now); err != nil || paused != 1 {
					t.Errorf("%d sales are paused (%v), want 1", paused, err)
				}
			}
			finisher := &backoffice.SaleFinisherJob{
				Partitions: 1, Service: &backoffice.SaleService{Store: w.db, Redis: w.inventory},
			}
			w.must(finisher.RunOnce(n.ctx))
			w.startWorker()
			another := shop.Buy{Order: newID(), User: newID(), Sale: sale, Qty: 1, Key: "key-of-another-buyer"}
			if got := w.reserve(another); got.Verdict != shop.VerdictPaused {
				t.Errorf("another buyer got the verdict %v before the comparison, want paused", got.Verdict)
			}
			job := &payment.ListingJob{Listing: n.listing(), Store: w.db.Differences()}
			w.retry("compare", func() error {
				w.exec("UPDATE history SET listing_at = 0, doubt_until = listed_until + 1")
				if err := errors.Join(job.RunOnce(n.ctx), finisher.RunOnce(n.ctx)); err != nil {
					return err
				}
				if w.sale(sale.ID).Paused {
					return errors.New("the sale is still paused")
				}
				return nil
			})
			if got := w.reserve(another); got.Verdict != shop.VerdictSoldOut {
				t.Errorf("another buyer got the verdict %v, want sold out", got.Verdict)
			}
			w.awaitRest(sale, []shop.ID{paidBefore.ID, paidAfter.ID, lost.ID}, t.Errorf)
			for _, o := range []shop.Order{paidBefore, paidAfter, lost} {
				if got := w.read(o.ID); got.State != shop.Paid {
					t.Errorf("the order is %s (%s), want paid", got.State, got.Reason)
				}
			}
		})
	}
}

// P8: a sale that an operator has changed during the comparison is not resumed by it.
func TestOperatorDecidesOnARestoredSale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(1, 1)
	w.must(errOf(w.db.RestoredSales().Pause(n.ctx, 1)))
	service := &backoffice.SaleService{Store: w.db, Redis: w.inventory}
	change := func(paused bool) {
		t.Helper()
		act := service.ResumeSale
		if paused {
			act = service.PauseSale
		}
		at := backoffice.SaleOperation{Version: int64(w.sale(sale.ID).Version)}
		w.must(errOf(act(n.ctx, operator(), sale.ID, at)))
	}
	change(false)
	change(true)
	w.exec("UPDATE history SET listed_until = 1")
	if n, err := w.db.RestoredSales().Resume(n.ctx); err != nil || n != 0 || !w.sale(sale.ID).Paused {
		t.Errorf("%d sales were resumed (%v), want the sale paused as the operator decided", n, err)
	}
}

// C10: the same backups are restored twice. The revs of the second restore are above those that buyers have seen after
// the first one, though no store has them any more.
func TestRepeatedRestoreBeginsAnotherGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	restore := w.copyDatabase()
	generation := func() int64 {
		w.stopWorker()
		restore()
		w.must(w.client.FlushDB(w.ctx).Err())
		w.must(errOf(w.node(nil).driver().Restore(w.ctx)))
		return w.count("SELECT generation FROM history")
	}
	first := generation()
	w.awaitNextGeneration()
	if second := generation(); second <= first {
		t.Errorf("the second restore begins generation %d, want above %d", second, first)
	}
}

// awaitNextGeneration waits until the next generation has a higher number than the present one, also if all stores lose
// the present one: generations have the time of their begin in tenths of a second.
func (w *world) awaitNextGeneration() {
	w.t.Helper()
	generation := w.count("SELECT generation FROM history")
	w.retry("the next tenth of a second", func() error {
		now, err := w.inventory.Now(w.ctx)
		if err == nil && int64(now)/100 < generation {
			err = errors.New("it has not begun")
		}
		return err
	})
}

// P8: an address was set within the lag. Its buyer sees that the shop does not have it, and cannot pay before it is
// set.
func TestAddressLostWithinTheLagIsRequestedAgain(t *testing.T) {
	t.Parallel()
	for _, rowLost := range []bool{false, true} {
		t.Run(fmt.Sprint("row lost ", rowLost), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(3, 2)
			w.exec("UPDATE products SET ships = 1 WHERE id = (SELECT product_id FROM sales WHERE id = ?)", sale.ID)
			o := w.order(sale, newID())
			lose := w.saveRows(o)
			w.must(errOf(n.setAddress(o)))
			if lose(); rowLost {
				w.deleteRows(o)
			}
			w.simulatePromotion()
			n = w.node(nil)
			w.recoverAll(n)
			n.runJobs(o.ID)
			row := w.read(o.ID)
			if paid := n.openPayment(o); (paid == nil) != (row.Address != nil) {
				t.Errorf("the row has an address: %v; the payment was opened with the error %v", row.Address != nil, paid)
			}
			if row.Address == nil {
				w.must(errOf(n.setAddress(o)))
			}
			if seen := w.buyers.lastOf(o.ID); seen.Rev != w.read(o.ID).Rev || seen.Address == nil {
				t.Errorf("the buyer has seen rev %d, the row has rev %d", seen.Rev, w.read(o.ID).Rev)
			}
			payAndSettle(w, n, o)
			w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
			if row := w.read(o.ID); row.State != shop.Paid || row.Address == nil {
				t.Errorf("the order is %s with the address %v, want paid with an address", row.State, row.Address)
			}
		})
	}
}
