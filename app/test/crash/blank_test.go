//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// dieDuringBlanking kills a process while it removes the personal data of sales that closed long ago. The next process
// completes the work, and nothing else of the orders changes.
func dieDuringBlanking(t *testing.T, point string) {
	w := newWorld(t, "STAMPEDE_PERSONAL_DATA_AFTER=48h")
	w.twoSales()
	w.addBuyers(20)
	n := w.start()
	w.enter(n)
	w.trade(behaviour{cancelPercent: 25, attempts: 10}).wait()
	w.awaitRest(n, "")
	w.ageSales()
	n.Kill()
	before := w.allOrderRows()
	w.launch(w.crashAt(point, w.randomExecution(2))).waitDeath(point) // the first or the second sale
	w.requireUnchanged(before, w.allOrderRows())
	w.audit()
	w.awaitBlanked()
	w.requireUnchanged(before, w.allOrderRows())
	w.audit()
	if left := w.count("SELECT COUNT(*) FROM orders WHERE tracking <> ''"); left != 0 {
		t.Errorf("%d orders contain personal data, want 0", left)
	}
}

// ageSales moves both sales into the past: they leave Redis, and their orders have an old changed_at. Each order gets a
// tracking number as personal data.
func (w *world) ageSales() {
	w.t.Helper()
	ctx := kit.Context(w.t)
	exec := func(statement string, args ...any) {
		w.t.Helper()
		_, err := w.db.ExecContext(ctx, statement, args...)
		w.must(err)
	}
	for i := range w.sales {
		exec("UPDATE sales SET opens_at = 500, closes_at = 1000 WHERE id = ?", w.sales[i].ID)
		w.must(w.redis.HSet(ctx, kit.SaleKey(&w.sales[i]), "closes", 1000).Err())
	}
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		remaining := w.count("SELECT COUNT(*) FROM sales WHERE retired_at = 0")
		return remaining == 0, fmt.Sprintf("%d sales are in Redis, want 0", remaining)
	})
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		unpublished := w.count("SELECT COUNT(*) FROM orders WHERE unpublished_since IS NOT NULL")
		return unpublished == 0, fmt.Sprintf("%d orders are unpublished, want 0", unpublished)
	})
	exec("UPDATE orders SET tracking = 'SF1', changed_at = '2020-01-02'")
}

// allOrderRows reads all orders without the columns that blanking clears.
func (w *world) allOrderRows() (rows []string) {
	w.t.Helper()
	found, err := w.db.QueryContext(kit.Context(w.t), "SELECT CONCAT_WS(' ', id, sale_id, user_id, qty, state, rev, ticket,"+
		" reason, changed_at) AS line FROM orders ORDER BY line")
	w.must(err)
	defer func() { _ = found.Close() }()
	for found.Next() {
		var row string
		w.must(found.Scan(&row))
		rows = append(rows, row)
	}
	w.must(found.Err())
	return rows
}

// requireUnchanged requires that the orders are unchanged (I1).
func (w *world) requireUnchanged(before, now []string) {
	w.t.Helper()
	if len(before) == 0 || strings.Join(before, "\n") != strings.Join(now, "\n") {
		w.t.Fatalf("want %d orders:\n%s\ngot %d:\n%s", len(before), strings.Join(before, "\n"), len(now),
			strings.Join(now, "\n"))
	}
}

// awaitBlanked starts a node and waits until no sale is due.
func (w *world) awaitBlanked() {
	w.t.Helper()
	n := w.start()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		due := w.count("SELECT COUNT(*) FROM sales WHERE blank_at IS NOT NULL")
		return due == 0, fmt.Sprintf("%d sales are due\n%s", due, n.Tail())
	})
	n.Kill()
}
