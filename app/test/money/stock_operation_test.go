package money

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/test/faults"
)

// saleService returns the service for operations on sales.
func (w *world) saleService() *backoffice.SaleService {
	return &backoffice.SaleService{Store: w.db, Redis: w.inventory}
}

func (w *world) runFinisher() error {
	return (&backoffice.SaleFinisherJob{Partitions: 1, Service: w.saleService()}).RunOnce(w.ctx)
}

// operator returns an actor with a new idempotency key.
func operator() journal.Actor {
	return journal.Actor{User: 7, Name: "ada", Role: shop.Operator, Via: journal.ViaHTTP, Key: "act-" + newID().String()}
}

func (w *world) sale(id shop.ID) shop.Sale {
	w.t.Helper()
	s, err := w.db.Sales().Sale(w.ctx, id)
	w.must(err)
	return s
}

func (w *world) redisCounters(sale shop.SaleRef) shop.Counters {
	w.t.Helper()
	c, err := w.inventory.Stock().Counters(w.ctx, []shop.SaleRef{sale})
	w.must(err)
	return c[0]
}

// changeStock adds units, or withdraws them if units is negative. version is the expected version of the sale.
func (w *world) changeStock(ctx context.Context, actor journal.Actor, sale shop.ID, version, units int64) error {
	a := backoffice.SaleOperation{Version: version}
	if units > 0 {
		_, err := w.saleService().AddStock(ctx, actor, sale, a, units)
		return err
	}
	_, pending, err := w.saleService().WithdrawStock(ctx, actor, sale, a, -units)
	if err == nil && pending.State == shop.StockPending {
		err = errors.New("pending")
	}
	return err
}

// P1, I2: an operator adds or withdraws units, and the process dies after each of its steps. The background job
// completes a committed operation, also after a recovery of Redis. A repeat under the same key has no second effect.
func TestInterruptedStockOperationCompletesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, units := range []int64{4, -3, -9} {
		for step, died := 1, true; died; step++ {
			for _, next := range []string{"finished", "repeated", "recovered and repeated"} {
				sale := w.offer(5, 2)
				w.order(sale, newID())
				actor, m := operator(), &dyingProcess{callsLeft: step}
				first := w.changeStock(faults.With(w.ctx, m.fault), actor, sale.ID, 1, units)
				died = m.dead()
				committed := w.sale(sale.ID).Version == 2
				if next == "recovered and repeated" {
					w.forceRebuild()
					w.must(w.node(nil).recoverPartition(nil))
				}
				if next != "finished" {
					if err := w.changeStock(w.ctx, actor, sale.ID, 1, units); err != nil {
						t.Fatalf("%d units, died after step %d, %s: %v", units, step, next, err)
					}
					committed = true
				}
				w.must(w.runFinisher())
				label := fmt.Sprintf("%d units, died after step %d (%v), %s", units, step, first, next)
				w.wantStock(label, sale, units, committed)
				w.remove(sale)
			}
		}
	}
}

// wantStock checks a sale of five units with one held unit, after an operation that was committed or not.
func (w *world) wantStock(label string, sale shop.SaleRef, units int64, committed bool) {
	w.t.Helper()
	stock, added, withdrawn := int64(4), int64(0), int64(0)
	if committed && units > 0 {
		stock, added = stock+units, units
	}
	if committed && units < 0 {
		withdrawn = min(-units, stock)
		stock -= withdrawn
	}
	s, c := w.sale(sale.ID), w.redisCounters(sale)
	if s.Added != added || s.Withdrawn != withdrawn || c.Stock != stock || c.Added != added ||
		c.Withdrawn != withdrawn ||
		c.Version != s.Version {
		w.t.Errorf("%s: the database has %d added and %d withdrawn, Redis %+v; want stock %d, added %d, withdrawn %d",
			label, s.Added, s.Withdrawn, c, stock, added, withdrawn)
	}
	if problem := w.audit(sale); problem != "" {
		w.t.Errorf("%s: P1: %s", label, problem)
	}
	if pending, err := w.db.Withdrawals().PendingWithdrawals(w.ctx, 10); err != nil || len(pending) > 0 {
		w.t.Errorf("%s: got pending withdrawals %+v (%v), want none", label, pending, err)
	}
}

// P1, I8: units are added or withdrawn at each moment of a recovery of the partition. In another case, Redis has
// decided before the recovery, and the database settles the decision at that moment.
func TestStockOperationDuringRebuildAppliesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, moment := range []string{advanced, closed, beforeRows, afterRows, afterWrites, beforeOpen} {
		for _, units := range []int64{4, -3} {
			sale, actor := w.offer(5, 2), operator()
			w.order(sale, newID())
			w.rebuildWith(moment, sale, func() { _ = w.changeStock(w.ctx, actor, sale.ID, 1, units) })
			w.must(w.runFinisher())
			w.wantStock(fmt.Sprintf("%d units %s", units, moment), sale, units, true)
			w.remove(sale)
		}
		sale := w.offer(5, 2)
		w.order(sale, newID())
		// The process dies after the COMMIT of the operation and the decision of Redis, before SettleWithdrawal.
		settleFails := faults.With(w.ctx, func(_ context.Context, name string, call func() error) error {
			if name == "Withdrawals.SettleWithdrawal" {
				return errDied
			}
			return call()
		})
		if err := w.changeStock(settleFails, operator(), sale.ID, 1, -3); err == nil {
			t.Fatal("the settlement succeeded, want the injected failure")
		}
		pending, err := w.db.Withdrawals().PendingWithdrawals(w.ctx, 1)
		w.must(err)
		epoch := w.sale(sale.ID).Epoch
		var settled error
		w.rebuildWith(moment, sale, func() {
			_, settled = w.db.Withdrawals().SettleWithdrawal(w.ctx, pending[0].ID, 3, epoch)
		})
		if settled != nil && !errors.Is(settled, shop.ErrStaleEpoch) {
			t.Errorf("%s: SettleWithdrawal returned %v, want nil or a stale epoch", moment, settled)
		}
		w.must(w.runFinisher())
		w.wantStock("decided before, settled "+moment, sale, -3, true)
		w.remove(sale)
	}
}

// rebuildWith recovers the partition and runs action at a moment of the recovery.
func (w *world) rebuildWith(moment string, sale shop.SaleRef, action func()) {
	w.t.Helper()
	w.forceRebuild()
	once := false
	err := w.node(nil).recoverPartition(func(at string, of shop.ID) {
		if at == moment && (of == 0 || of == sale.ID) && !once {
			once = true
			action()
		}
	})
	if err != nil || !once {
		w.t.Fatalf("%s: recovery returned %v; operation applied: %v", moment, err, once)
	}
}

// P1: a late repeat of a settled withdrawal returns its result and takes no more units, also after a recovery of Redis.
func TestRepeatedWithdrawalTakesNoMoreUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(5, 2)
	w.must(w.changeStock(w.ctx, operator(), sale.ID, 1, -2))
	for range 2 {
		taken, _, err := w.inventory.Stock().WithdrawUnits(w.ctx, sale, 1, 2)
		if c := w.redisCounters(sale); err != nil || taken != 2 || c.Stock != 3 || c.Withdrawn != 2 {
			t.Errorf("got %d taken units (%v) and counters %+v, want 2 taken, stock 3, withdrawn 2", taken, err, c)
		}
		w.forceRebuild()
		w.must(w.node(nil).recoverPartition(nil))
	}
	if problem := w.audit(sale); problem != "" {
		t.Errorf("P1: %s", problem)
	}
}

// Of several operators with the same version, one succeeds. The others get a conflict with the current sale.
func TestConcurrentOperationsGetAConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(5, 2)
	var g errgroup.Group
	conflicts := make(chan *shop.Error, 8)
	for range 4 {
		g.Go(func() error {
			_, err := w.saleService().PauseSale(w.ctx, operator(), sale.ID, backoffice.SaleOperation{Version: 1})
			if errors.Is(err, &shop.Error{Code: shop.Conflict}) {
				conflicts <- shop.AsError(err)
				return nil
			}
			return err
		})
	}
	w.must(g.Wait())
	if len(conflicts) != 3 {
		t.Fatalf("%d of 4 operations got a conflict, want 3", len(conflicts))
	}
	now, ok := (<-conflicts).Current.(backoffice.OperatorSale)
	if c := w.redisCounters(sale); !ok || now.Version != 2 || !now.Paused || !c.Paused || c.Version != 2 {
		t.Errorf("the conflict returned %+v; Redis has %+v", now, c)
	}
	service, user := w.saleService(), newID()
	d := w.reserve(shop.Buy{Order: newID(), User: user, Sale: sale, Qty: 1, Key: "key-paused", Hash: "0123456789abcdef"})
	if d.Verdict != shop.VerdictPaused {
		t.Errorf("a buy of a paused sale got verdict %d", d.Verdict)
	}
	terms, err := service.ResumeSale(w.ctx, operator(), sale.ID, backoffice.SaleOperation{Version: 2})
	if err != nil || terms.Paused {
		t.Errorf("got terms %+v (%v), want not paused", terms, err)
	}
	w.order(sale, user)
	terms, err = service.EndSale(w.ctx, operator(), sale.ID, backoffice.SaleOperation{Version: 3, Note: "enough"})
	w.must(err)
	if _, ok := w.buy(sale, newID(), 1); ok || terms.ClosesAt > w.sale(sale.ID).OpensAt.Add(payWindow) {
		t.Errorf("a buy of an ended sale succeeded: %+v", terms)
	}
	for name, err := range map[string]error{
		"ended twice":     second(service.EndSale(w.ctx, operator(), sale.ID, backoffice.SaleOperation{Version: 4})),
		"added units":     second(service.AddStock(w.ctx, operator(), sale.ID, backoffice.SaleOperation{Version: 4}, 1)),
		"resumed again":   second(service.ResumeSale(w.ctx, operator(), sale.ID, backoffice.SaleOperation{Version: 4})),
		"withdrawn units": w.changeStock(w.ctx, operator(), sale.ID, 4, -1),
	} {
		if !errors.Is(err, &shop.Error{Code: shop.WrongState}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// P1: after any sequence of operations, buys, deaths and recoveries, the equation holds in both stores when all work is
// complete, and both stores agree.
func TestRandomStockOperationsKeepStoresEqual(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		sale := w.offer(6, 2)
		orders := []shop.Order{}
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			var m *dyingProcess
			if rapid.Bool().Draw(r, "mortal") {
				m = &dyingProcess{callsLeft: rapid.IntRange(1, 6).Draw(r, "dies after")}
			}
			version := w.sale(sale.ID).Version
			switch rapid.SampledFrom([]string{"add", "withdraw", "buy", "cancel", "rebuild", "finish"}).Draw(r, "step") {
			case "add":
				_ = w.changeStock(
					faults.With(w.ctx, m.fault), operator(), sale.ID, version, rapid.Int64Range(1, 4).Draw(r, "units"),
				)
			case "withdraw":
				_ = w.changeStock(
					faults.With(w.ctx, m.fault), operator(), sale.ID, version, -rapid.Int64Range(1, 4).Draw(r, "units"),
				)
			case "buy":
				if o, ok := w.buy(sale, newID(), 1); ok {
					orders = append(orders, o)
				}
			case "cancel":
				if len(orders) > 0 {
					_, _ = w.node(nil).expirer.Cancel(w.ctx, orders[0].User, orders[0].ID)
					orders = orders[1:]
				}
			case "rebuild":
				w.forceRebuild()
				w.must(w.node(nil).recoverPartition(nil))
			case "finish":
				w.must(w.runFinisher())
			}
			if problem := w.counterMismatch(sale); problem != "" {
				r.Fatalf("P1 in Redis: %s", problem)
			}
		}
		w.must(w.runFinisher())
		s, c := w.sale(sale.ID), w.redisCounters(sale)
		if s.Added != c.Added || s.Withdrawn != c.Withdrawn || s.Version != c.Version {
			r.Fatalf("the database has %d added and %d withdrawn, Redis %+v", s.Added, s.Withdrawn, c)
		}
		if problem := w.audit(sale); problem != "" {
			r.Fatalf("P1: %s", problem)
		}
		w.remove(sale)
	})
}

// P1: the database has lost an edit of a sale that Redis has. The sale cannot be edited until the partition is
// inspected, because the edit would get the version of the lost one. Afterwards both edits count.
func TestEditWaitsUntilLostTermsAreImported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(3, 2)
	w.must(w.node(nil).recoverPartition(nil))
	restore, version := w.copyDatabase(), int64(w.sale(sale.ID).Version)
	w.must(w.changeStock(w.ctx, operator(), sale.ID, version, 2))
	w.stopWorker()
	restore()
	w.simulatePromotion()
	n := w.node(nil)
	w.startWorker()
	if err := w.changeStock(w.ctx, operator(), sale.ID, version, 1); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("before the inspection: got %v, want %v", err, shop.ErrTransient)
	}
	w.retry("recover", func() error { return n.recoverPartition(nil) })
	w.must(w.changeStock(w.ctx, operator(), sale.ID, int64(w.sale(sale.ID).Version), 1))
	if added := w.sale(sale.ID).Added; added != 3 {
		t.Errorf("added units: got %d, want 3", added)
	}
	if problem := w.audit(sale); problem != "" {
		t.Error(problem)
	}
}
