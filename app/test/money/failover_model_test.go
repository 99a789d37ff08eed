package money

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stampede/app/alipay/sim"
	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// lossyTables are the tables that a promoted replica, or a backup, has in an older state.
var lossyTables = []string{
	"history", "partitions", "sales", "stock_operations", "orders", "order_states", "problems", "trades", "payments",
	"refunds", "differences", "restored_sales", "outbox", "shipments",
}

// copyDatabase copies the tables. The returned function restores the copy: all later changes are lost.
func (w *world) copyDatabase() (restore func()) {
	w.t.Helper()
	w.stopWorker() // tables are copied one after the other
	defer w.startWorker()
	for _, table := range lossyTables {
		w.exec("DROP TABLE IF EXISTS copy_" + table)
		w.exec(fmt.Sprintf("CREATE TABLE copy_%s AS SELECT * FROM %s", table, table))
	}
	return func() {
		w.t.Helper()
		for _, table := range lossyTables {
			w.exec("DELETE FROM " + table)
			w.exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM copy_%s", table, table))
		}
	}
}

// lossySale is a randomSale whose stores lose writes.
type lossySale struct {
	randomSale
	restoreDatabase, restoreRedis func() // nil: there is no copy
	// seen has the newest rev of each order that its buyer had seen when a store lost writes, and the rev that its row
	// had after the loss.
	seen, kept map[shop.ID]int
}

func (l *lossySale) copies() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"copy the database": func(*rapid.T) { l.restoreDatabase = l.w.copyDatabase() },
		"copy Redis": func(*rapid.T) {
			l.w.stopWorker()
			defer l.w.startWorker()
			l.restoreRedis = l.w.copyRedis()
		},
		"buy and pay": func(rt *rapid.T) {
			o, ok := l.w.buy(l.sale, newID(), 1)
			if !ok {
				rt.Skip("not reserved")
			}
			l.orders = append(l.orders, o)
			_ = l.n.openPayment(o)
			_ = l.w.sim.Pay(o.ID.String())
			if rapid.Bool().Draw(rt, "notified") {
				_ = l.n.settleNow(o)
			}
		},
		"the database fails over": func(rt *rapid.T) { l.lose(rt, true, false, false) },
		"Redis fails over":        func(rt *rapid.T) { l.lose(rt, false, true, false) },
		"both fail over":          func(rt *rapid.T) { l.lose(rt, true, true, false) },
		"a backup is restored":    func(rt *rapid.T) { l.lose(rt, true, rapid.Bool().Draw(rt, "with Redis"), true) },
		"units are withdrawn": func(rt *rapid.T) {
			units := rapid.Int64Range(-2, 1).Draw(rt, "units")
			_ = l.w.changeStock(l.w.ctx, operator(), l.sale.ID, int64(l.w.sale(l.sale.ID).Version), units)
		},
		"a node stops for a minute": func(*rapid.T) { l.w.loseBeats() },
	}
}

// lose makes stores lose the writes since their copies. All processes end. restored: backups of the stores are
// restored, possibly without Redis.
func (l *lossySale) lose(rt *rapid.T, database, redis, restored bool) {
	w := l.w
	if database && l.restoreDatabase == nil || redis && l.restoreRedis == nil {
		rt.Skip("there is no copy")
	}
	w.stopWorker()
	w.awaitNextGeneration()
	if database {
		l.restoreDatabase()
		if !restored {
			w.simulatePromotion()
		}
	}
	if redis || restored {
		w.must(w.client.FlushDB(w.ctx).Err())
	}
	if redis {
		l.restoreRedis()
	}
	l.n = w.node(nil)
	if restored {
		w.retry("restore", func() error {
			if _, err := l.n.driver().Restore(w.ctx); err != nil {
				return err
			}
			now, err := w.inventory.Now(w.ctx)
			return errors.Join(err, errOf(w.db.RestoredSales().Pause(w.ctx, now)), l.finisher().PushTerms(w.ctx))
		})
	}
	if rapid.Bool().Draw(rt, "inspected at once") { // otherwise the partition is cut off until a later step
		w.retry("recover", func() error { return l.n.recoverPartition(nil) })
	}
	w.startWorker()
	l.readAgain()
}

// readAgain lets each buyer read its orders again, as after the event `reset`.
func (l *lossySale) readAgain() {
	w := l.w
	w.buyers.mu.Lock()
	defer w.buyers.mu.Unlock()
	for _, o := range l.orders {
		l.seen[o.ID] = max(l.seen[o.ID], w.buyers.lastEvent[o.ID].Rev)
		row, err := w.db.Orders().Order(w.ctx, o.ID)
		if errors.Is(err, shop.ErrNoRow) {
			delete(w.buyers.lastEvent, o.ID)
			continue
		}
		w.must(err)
		w.buyers.lastEvent[o.ID], l.kept[o.ID] = row, row.Rev
	}
}

func (l *lossySale) finisher() *backoffice.SaleFinisherJob {
	return &backoffice.SaleFinisherJob{
		Partitions: 1, Service: &backoffice.SaleService{Store: l.w.db, Redis: l.w.inventory},
	}
}

// existing returns the orders that have a row. An order without one was lost before it was paid.
func (l *lossySale) existing() (ids []shop.ID) {
	for _, o := range l.orders {
		if _, err := l.w.db.Orders().Order(l.w.ctx, o.ID); err == nil {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// end runs the background jobs and the operator's decisions until no work is pending, and returns pending work.
func (l *lossySale) end(job *payment.ListingJob) string {
	w := l.w
	ids := l.existing()
	l.n.runJobs(ids...)
	w.exec("UPDATE history SET listing_at = 0, doubt_until = GREATEST(doubt_until, listed_until + 1)")
	if err := errors.Join(job.RunOnce(w.ctx), l.finisher().RunOnce(w.ctx)); err != nil {
		return err.Error()
	}
	if why := l.settleProblems(); why != "" {
		return why
	}
	now, err := w.inventory.Now(w.ctx)
	w.must(err)
	if _, err := job.Listing.Compare(w.ctx, now.Add(-time.Hour), now); err != nil {
		return err.Error()
	}
	if differences := l.differences(); len(differences) > 0 {
		return fmt.Sprint(differences)
	}
	return w.pendingWork(l.existing())
}

// settleProblems decides on the open problems according to the runbook, and returns why some remain.
func (l *lossySale) settleProblems() string {
	problems, err := l.w.db.Problems().Open(l.w.ctx, 0)
	l.w.must(err)
	for _, p := range problems {
		decisions := []recovery.Settlement{recovery.SettleWrite, recovery.SettleEnd, recovery.SettleRefund}
		if l.refunded(p.Order) {
			slices.Reverse(decisions)
		}
		var failed []error
		for _, decision := range decisions {
			_, err := l.n.driver().Settle(l.w.ctx, p.Order, decision, 7)
			if err == nil {
				failed = nil
				break
			}
			failed = append(failed, err)
		}
		if failed != nil {
			return fmt.Sprintf("problem %+v: %v", p, failed)
		}
	}
	return ""
}

// refunded reports whether the gateway has refunded the order.
func (l *lossySale) refunded(order shop.ID) bool {
	return slices.ContainsFunc(l.w.sim.Ledger().Trades, func(t sim.Trade) bool {
		return t.Order == order.String() && t.RefundedFen > 0
	})
}

// differences are the fen that the gateway keeps for no live order, or does not keep for a paid one.
func (l *lossySale) differences() (found []string) {
	ids := l.existing()
	found = l.w.ledgerDifferences(ids)
	for _, t := range l.w.sim.Ledger().Trades {
		for _, o := range l.orders {
			if t.Order == o.ID.String() && t.TakenFen != t.RefundedFen && !slices.Contains(ids, o.ID) {
				found = append(found, fmt.Sprintf("the gateway keeps %d fen of order %s, which has no row", t.TakenFen, t.Order))
			}
		}
	}
	return found
}

// P1, P2, P8: after any sequence of steps, faults, deaths, failovers that lose writes, and restored backups, every fen
// that the gateway holds belongs to exactly one paid order, the stock equation holds, and changed orders have higher
// revs than those that their buyers have seen.
func TestRandomFailoversLoseNoMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	users := []shop.ID{newID(), newID(), newID()}
	rapid.Check(t, func(rt *rapid.T) {
		w.retry("recover", func() error { return w.node(nil).recoverPartition(nil) })
		l := &lossySale{seen: make(map[shop.ID]int), kept: make(map[shop.ID]int)}
		l.w, l.n, l.sale = w, w.node(nil), w.offer(rapid.Int64Range(1, 4).Draw(rt, "units"), 2)
		steps := l.steps(users)
		for name, step := range l.copies() {
			steps[name] = step
		}
		delete(steps, "replay")  // a dead letter of a lost order cannot be read
		delete(steps, "rebuild") // a failover of Redis
		rt.Repeat(steps)
		w.sim.RemoveFaults()
		l.n = w.node(nil)
		for _, id := range l.existing() {
			w.passDeadline(id)
		}
		job := &payment.ListingJob{Listing: l.n.listing(), Store: w.db.Differences()}
		for deadline := time.Now().Add(waitTimeout); ; {
			why := l.end(job)
			if why == "" {
				break
			}
			if time.Now().After(deadline) {
				rt.Fatalf("after %v: %s", waitTimeout, why)
			}
		}
		for _, id := range l.existing() {
			if row := w.read(id); row.Rev > l.kept[id] && l.kept[id] > 0 && row.Rev <= l.seen[id] {
				rt.Fatalf("order %s changed to rev %d, but its buyer has seen rev %d", id, row.Rev, l.seen[id])
			}
		}
		if problem := w.audit(l.sale); problem != "" {
			rt.Fatalf("P1: %s", problem)
		}
		w.remove(l.sale)
	})
}
