package money

import (
	"fmt"

	"stampede/app/shop"
)

// tables lists the tables whose newest rows a lagging replica does not have, with the column of the order id.
var tables = map[string]string{
	"orders": "id", "trades": "order_id", "payments": "order_id", "outbox": "order_id", "refunds": "order_id",
	"order_states": "order_id",
}

// saveRows stores the current rows of an order. The returned function restores them: the database then has lost all
// later changes.
func (w *world) saveRows(o shop.Order) (restore func()) {
	w.t.Helper()
	for table, column := range tables {
		w.exec(fmt.Sprintf("CREATE TABLE IF NOT EXISTS kept_%s AS SELECT * FROM %s WHERE 1 = 0", table, table))
		w.exec(fmt.Sprintf("INSERT INTO kept_%s SELECT * FROM %s WHERE %s = ?", table, table, column), o.ID)
	}
	return func() {
		w.t.Helper()
		for table, column := range tables {
			w.exec(fmt.Sprintf("DELETE FROM %s WHERE %s = ?", table, column), o.ID)
			w.exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM kept_%s WHERE %s = ?", table, table, column), o.ID)
		}
		w.exec("UPDATE sales SET taken = (SELECT COALESCE(SUM(qty), 0) FROM orders WHERE sale_id = sales.id"+
			" AND state NOT IN ('expired', 'cancelled', 'refused') AND (state NOT IN ('refunding', 'refunded')"+
			" OR cancelled_at = 0)) WHERE id = ?", o.Sale)
	}
}

// deleteRows deletes all rows of the orders.
func (w *world) deleteRows(orders ...shop.Order) {
	w.t.Helper()
	for _, o := range orders {
		for table, column := range tables {
			w.exec(fmt.Sprintf("DELETE FROM %s WHERE %s = ?", table, column), o.ID)
		}
	}
	w.exec("UPDATE sales SET taken = (SELECT COALESCE(SUM(qty), 0) FROM orders WHERE sale_id = sales.id" +
		" AND state NOT IN ('expired', 'cancelled', 'refused') AND (state NOT IN ('refunding', 'refunded')" +
		" OR cancelled_at = 0))")
}

// expireOrder sets the deadline of an order into the past and waits until the order expires.
func expireOrder(w *world, n *node, o shop.Order) {
	w.passDeadline(o.ID)
	w.retry("the order expires", func() error {
		err := n.sweep(o.ID)
		if row := w.read(o.ID); err == nil && row.State != shop.Expired {
			err = fmt.Errorf("the order is %s", row.State)
		}
		return err
	})
}
