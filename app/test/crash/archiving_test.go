//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// dieDuringArchiving kills a process while it blanks or moves orders of sales that closed long ago. Each order must be
// in one of the two tables. The next process completes the work.
func dieDuringArchiving(t *testing.T, point string) {
	w := newWorld(t, "STAMPEDE_ARCHIVE_AFTER=2208h", "STAMPEDE_PERSONAL_DATA_AFTER=48h")
	w.twoSales()
	w.addBuyers(20)
	n := w.start()
	w.enter(n)
	w.trade(behaviour{cancelPercent: 25, attempts: 10}).wait()
	w.awaitRest(n, "")
	w.ageSales()
	n.Kill()
	before := w.allOrderRows()
	pass := 1
	if point == "archive.after-blank" || point == "archive.after-plan" {
		pass = w.randomExecution(2) // the first or the second sale
	}
	w.launch(w.crashAt(point, pass)).waitDeath(point)
	w.requireUnchanged(before, w.allOrderRows())
	w.audit()
	w.awaitArchived(0)
	w.requireUnchanged(before, w.allOrderRows())
	w.audit()
	if live := w.count("SELECT COUNT(*) FROM orders"); live != 0 {
		t.Errorf("%d orders were not archived, want 0", live)
	}
	if published := w.count("SELECT COUNT(*) FROM orders_archive WHERE tracking <> ''"); published != 0 {
		t.Errorf("%d archived orders contain personal data, want 0", published)
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

// allOrderRows reads the orders of both tables without the columns that blanking clears.
func (w *world) allOrderRows() (rows []string) {
	w.t.Helper()
	const columns = "SELECT CONCAT_WS(' ', id, sale_id, user_id, qty, state, rev, ticket, reason, changed_at) AS line"
	found, err := w.db.QueryContext(kit.Context(w.t), columns+" FROM orders UNION ALL "+columns+
		" FROM orders_archive ORDER BY line")
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

// requireUnchanged requires that each order is unchanged and in one of the tables (I1).
func (w *world) requireUnchanged(before, now []string) {
	w.t.Helper()
	if len(before) == 0 || strings.Join(before, "\n") != strings.Join(now, "\n") {
		w.t.Fatalf("want %d orders:\n%s\ngot %d:\n%s", len(before), strings.Join(before, "\n"), len(now),
			strings.Join(now, "\n"))
	}
}

// awaitArchived starts a node and waits until at most left orders remain in the live table and no sale is due.
func (w *world) awaitArchived(left int64) {
	w.t.Helper()
	n := w.start()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		live := w.count("SELECT COUNT(*) FROM orders")
		due := w.count("SELECT COUNT(*) FROM sales WHERE archive_at IS NOT NULL OR blank_at IS NOT NULL")
		return live == left && due == 0, fmt.Sprintf("%d orders are not archived, %d sales are due\n%s", live, due, n.Tail())
	})
	n.Kill()
}
