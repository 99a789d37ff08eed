package money

import (
	"fmt"
	"slices"
	"strings"

	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// awaitRest repairs the gateway and runs the background jobs of a fresh process until no work is pending. It then
// checks that no fen and no unit is lost and that no counter needed a correction. fail receives the violations.
func (w *world) awaitRest(sale shop.SaleRef, orders []shop.ID, fail func(format string, args ...any)) {
	w.t.Helper()
	w.sim.RemoveFaults()
	n := w.node(nil)
	kit.Eventually(w.t, waitTimeout, func() (bool, string) {
		n.runJobs(orders...)
		why := w.pendingWork(orders)
		return why == "", why
	})
	for _, difference := range w.ledgerDifferences(orders) {
		fail("P8: %s", difference)
	}
	if problem := w.audit(sale); problem != "" {
		fail("P1: %s", problem)
	}
	for _, scan := range w.reconcilers {
		if scan.Corrected() > 0 || scan.Mismatched() > 0 {
			fail("I3: counters had to be corrected %d times, %d sales do not agree with their rows", scan.Corrected(),
				scan.Mismatched())
		}
	}
}

// audit returns the failures of the sale's audit; "" on success.
func (w *world) audit(sale shop.SaleRef) string {
	w.t.Helper()
	audit := recovery.Auditor{Store: w.db, Redis: w.inventory}
	report, err := audit.AuditSale(w.ctx, sale.ID)
	w.must(err)
	return strings.Join(report.Failures, "; ")
}

// pendingWork returns pending work of the orders; "" if there is no such work.
func (w *world) pendingWork(orders []shop.ID) string {
	w.t.Helper()
	if list, err := w.db.Payments().Unresolved(w.ctx, 1<<60, 0, 10); err != nil || len(list) > 0 {
		return fmt.Sprintf("unsettled payments %+v, %v", list, err)
	}
	for _, id := range orders {
		o := w.read(id)
		switch {
		case o.State == shop.Refunding:
			return fmt.Sprintf("order %s is refunding", id)
		case o.State == shop.Pending && o.PayBy <= 1000:
			return fmt.Sprintf("order %s is pending", id)
		case w.buyers.lastOf(id).Rev != o.Rev:
			return fmt.Sprintf("order %s is %s, its buyer received %s", id, o.State, w.buyers.lastOf(id).State)
		}
	}
	return ""
}

// ledgerDifferences compares the gateway's ledger with the orders and returns the differences.
func (w *world) ledgerDifferences(orders []shop.ID) []string {
	kept := make(map[string]int64)
	for _, t := range w.sim.Ledger().Trades {
		kept[t.Order] = t.TakenFen - t.RefundedFen
	}
	var differences []string
	for _, id := range orders {
		o := w.read(id)
		want := int64(0)
		if slices.Contains([]shop.OrderState{shop.Paid, shop.Shipped, shop.Finished}, o.State) {
			want = o.AmountFen - o.RefundedFen
		}
		if kept[id.String()] != want {
			differences = append(differences, fmt.Sprintf("order %s is %s (%s), and the gateway keeps %d fen of it, want %d",
				id, o.State, o.Reason, kept[id.String()], want))
		}
	}
	return differences
}
