package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// OldOrders finds and deletes settled orders of sales that closed long ago.
type OldOrders struct{ *session }

// settledCondition matches orders that do not change without an operator or a late payment: the state is final, and no
// trade is open, no payment unsettled, no refund running, no state unpublished, no posting unsent and no work of a
// shipment due.
const settledCondition = "o.state IN ('finished', 'cancelled', 'expired', 'refused', 'refunded') AND o.unpublished_since IS NULL" +
	" AND NOT EXISTS (SELECT 1 FROM trades t WHERE t.order_id = o.id AND t.check_at IS NOT NULL)" +
	" AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.unsettled_since IS NOT NULL)" +
	" AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.state IN ('requested', 'open', 'stuck'))" +
	" AND NOT EXISTS (SELECT 1 FROM outbox b WHERE b.order_id = o.id AND b.next_at IS NOT NULL)" +
	" AND NOT EXISTS (SELECT 1 FROM shipments h WHERE h.order_id = o.id" +
	" AND (h.finish_at IS NOT NULL OR h.mail_at IS NOT NULL))"

// prunable selects those of the orders that may be deleted (I1): they are settled and have not changed since `before`,
// and their sales closed before this instant and have left Redis. No rebuild reads such orders, and none of their units
// is held.
func (s OldOrders) prunable(
	ctx context.Context, db bun.IDB, before shop.Millis, ids []shop.ID,
) (found []shop.ID, err error) {
	err = db.NewRaw("SELECT o.id FROM orders AS o JOIN sales AS s ON s.id = o.sale_id WHERE o.id IN (?)"+
		" AND s.closes_at < ? AND s.retired_at > 0 AND "+s.d.changed+" < ? AND "+settledCondition+" ORDER BY o.id",
		bun.List(ids), before, before).Scan(ctx, &found)
	return found, err
}

// PrunableOrders checks the next orders with an id above `after`, at most limit of them, and returns those that may be
// deleted. last is the id of the last order that it checked, or 0 at the end.
func (s OldOrders) PrunableOrders(
	ctx context.Context, before shop.Millis, after shop.ID, limit int,
) (found []shop.Order, last shop.ID, err error) {
	var ids []shop.ID
	err = s.db.NewRaw("SELECT id FROM orders WHERE id > ? ORDER BY id LIMIT ?", after, limit).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return nil, 0, wrap("list orders to delete", err)
	}
	last = ids[len(ids)-1]
	if ids, err = s.prunable(ctx, s.db, before, ids); err != nil || len(ids) == 0 {
		return nil, last, wrap("list orders to delete", err)
	}
	found, err = s.Orders().OrdersByID(ctx, ids)
	return found, last, err
}

// PruneOrders deletes those of the orders that may be deleted, with their shipments, postings, trades and states, in
// one transaction, and returns their number. It adds their sums to those of their sales, so that the sales balance at
// each instant. Payments and refunds stay: a repeated notification of a payment does not count as new money.
func (s OldOrders) PruneOrders(ctx context.Context, before shop.Millis, ids []shop.ID) (pruned int, err error) {
	return inTx(ctx, s.session, "delete settled orders", func(tx bun.Conn) (int, error) {
		// Check under the locks, because a late payment is entered under the lock of its order.
		if _, err := s.Orders().lockOrders(ctx, tx, ids); err != nil {
			return 0, err
		}
		found, err := s.prunable(ctx, tx, before, ids)
		if err != nil || len(found) == 0 {
			return 0, err
		}
		return len(found), s.deleteOrders(ctx, tx, found)
	})
}

// prunedSums sums the deleted orders of a sale.
type prunedSums struct {
	Sale          shop.ID `bun:"sale_id"`
	Orders        int64   `bun:"orders"`
	Sold          int64   `bun:"sold"` // units
	RefundedUnits int64   `bun:"gone"` // units of refunded orders
	MaxTicket     int64   `bun:"max_ticket"`
	MaxSeq        int64   `bun:"max_seq"`
	PaidFen       int64   `bun:"paid_fen"`
	RefundedFen   int64   `bun:"refunded_fen"`
}

// deleteOrders deletes locked orders, and adds their sums to those of their sales.
func (s OldOrders) deleteOrders(ctx context.Context, tx bun.Conn, ids []shop.ID) error {
	var sums []prunedSums
	err := tx.NewRaw(`SELECT sale_id, COUNT(*) AS orders,
		SUM(CASE WHEN state = 'finished' AND cancelled_at = 0 THEN qty ELSE 0 END) AS sold,
		SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END) AS gone,
		MAX(ticket) AS max_ticket, MAX(seq) AS max_seq,
		SUM(CASE WHEN paid_at > 0 THEN amount_fen ELSE 0 END) AS paid_fen,
		SUM(refunded_fen) AS refunded_fen
		FROM orders WHERE id IN (?) GROUP BY sale_id ORDER BY sale_id`, bun.List(ids)).Scan(ctx, &sums)
	if err != nil {
		return err
	}
	for _, n := range sums {
		_, err := exec(ctx, tx, "INSERT INTO pruned_orders"+
			" (sale_id, orders, sold, gone, max_ticket, max_seq, paid_fen, refunded_fen) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "+
			s.d.onDuplicate+" orders = pruned_orders.orders + ?, sold = pruned_orders.sold + ?, gone = pruned_orders.gone + ?,"+
			" max_ticket = "+s.d.greatest+"(pruned_orders.max_ticket, ?),"+
			" max_seq = "+s.d.greatest+"(pruned_orders.max_seq, ?),"+
			" paid_fen = pruned_orders.paid_fen + ?, refunded_fen = pruned_orders.refunded_fen + ?",
			n.Sale, n.Orders, n.Sold, n.RefundedUnits, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen,
			n.Orders, n.Sold, n.RefundedUnits, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen)
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"shipments", "outbox", "trades", "order_states"} {
		if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE order_id IN (?)", bun.List(ids)); err != nil {
			return err
		}
	}
	return execMatching(ctx, tx, len(ids), "delete settled orders", "DELETE FROM orders WHERE id IN (?)", bun.List(ids))
}
