package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// archivedSums adds up archived orders, sale by sale.
const archivedSums = `SELECT sale_id, COUNT(*) AS orders,
	SUM(CASE WHEN state = 'finished' AND cancelled_at = 0 THEN qty ELSE 0 END) AS sold,
	SUM(CASE WHEN state = 'refunded' AND cancelled_at = 0 THEN qty ELSE 0 END) AS gone,
	MAX(ticket) AS max_ticket, MAX(seq) AS max_seq,
	SUM(CASE WHEN paid_at > 0 THEN amount_fen ELSE 0 END) AS paid_fen,
	SUM(CASE WHEN state = 'refunded' THEN amount_fen ELSE 0 END) AS refunded_fen
	FROM orders_archive WHERE ? GROUP BY sale_id ORDER BY sale_id`

// noSale stands in archive_drops for the month itself, beside the sums of its sales: it is about to be dropped until
// dropped_at says when it was.
const noSale app.ID = 0

const insertDrop = "INSERT INTO archive_drops (month, sale_id, orders, sold, gone, max_ticket, max_seq, paid_fen," +
	" refunded_fen, planned_at, dropped_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "

// PlanDrop notes which months go, and answers what they add up to by now. See app.ArchiveStore.
func (s *Store) PlanDrop(
	ctx context.Context, before app.Month, now app.Millis, dryRun bool,
) (out []app.ArchivedMonth, err error) {
	months, err := s.months(ctx, s.db)
	if err != nil {
		return nil, wrap("list the months of the archive", err)
	}
	out = []app.ArchivedMonth{}
	first := app.ID(0)
	for _, m := range months {
		if m.month >= before {
			break
		}
		one, err := s.planMonth(ctx, m, first, now, dryRun)
		if err != nil {
			return nil, wrap(fmt.Sprintf("plan to drop month %s of the archive", m.month), err)
		}
		out, first = append(out, one), m.end
	}
	return out, nil
}

func (s *Store) planMonth(
	ctx context.Context, m monthRow, first app.ID, now app.Millis, dryRun bool,
) (one app.ArchivedMonth, err error) {
	one = app.ArchivedMonth{Month: m.month, Bytes: m.bytes}
	var sums []app.DropSums
	err = s.db.NewRaw(archivedSums, bun.SafeQuery("id >= ? AND id < ?", first, m.end)).Scan(ctx, &sums)
	if err != nil {
		return one, err
	}
	for i := range sums {
		one.Orders += sums[i].Orders
		one.PaidFen += sums[i].PaidFen
		one.RefundedFen += sums[i].RefundedFen
	}
	one.Sales = len(sums)
	if dryRun {
		return one, nil
	}
	return one, s.inTx(ctx, "note it", func(tx bun.Conn) error {
		// A month of that number may have been dropped before, with the orders that were there by then.
		_, err := exec(ctx, tx, insertDrop+s.d.onTaken+" planned_at = ?, dropped_at = 0",
			int(m.month), noSale, 0, 0, 0, 0, 0, 0, 0, now, 0, now)
		return err
	})
}

// DropSome takes the oldest month that is planned: some of its orders, or, when none is left, the partition; that it is
// gone is noted last. Whoever moves orders into it at this moment is waited for, and nobody begins to any more (see
// Store.move): it stays empty. See app.ArchiveStore.
func (s *Store) DropSome(ctx context.Context, now app.Millis, limit int) (step app.DropStep, err error) {
	var due []int
	err = s.db.NewRaw("SELECT month FROM archive_drops WHERE dropped_at = 0 ORDER BY month LIMIT 1").Scan(ctx, &due)
	if err != nil || len(due) == 0 {
		return step, wrap("look for months to drop", err)
	}
	step.Month = app.Month(due[0])
	months, err := s.months(ctx, s.db)
	if err != nil {
		return step, wrap("list the months of the archive", err)
	}
	what := "drop month " + step.Month.String() + " of the archive"
	if at := slices.IndexFunc(months, func(m monthRow) bool { return m.month == step.Month }); at >= 0 {
		first := app.ID(0)
		if at > 0 {
			first = months[at-1].end
		}
		step.Sums, err = s.dropRange(ctx, step.Month, first, months[at].end, now, limit)
		if err != nil || len(step.Sums) > 0 {
			return step, wrap(what, err)
		}
		if s.writer == nil {
			err := s.alter(ctx, fmt.Sprintf("ALTER TABLE orders_archive DROP PARTITION p%06d", int(step.Month)))
			if err != nil {
				return step, wrap(what, err)
			}
		}
	}
	step.Over = true
	return step, s.inTx(ctx, what, func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE archive_drops SET dropped_at = ? WHERE month = ? AND dropped_at = 0", now,
			int(step.Month))
		return err
	})
}

// dropRange removes the first archived orders of a range, and answers what they add up to; nothing: it has none.
func (s *Store) dropRange(
	ctx context.Context, month app.Month, first, end app.ID, now app.Millis, limit int,
) ([]app.DropSums, error) {
	return inTx(ctx, s, "drop orders", func(tx bun.Conn) ([]app.DropSums, error) {
		var ids []app.ID
		err := tx.NewRaw("SELECT id FROM orders_archive WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"+s.d.forUpdate,
			first, end, limit).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return s.dropOrders(ctx, tx, month, ids, now)
	})
}

// dropOrders removes locked orders, with what hangs on them and has done its work, and adds what they add up to to what
// is kept of their sales: an order counts there or by itself at each instant, also one that is brought back meanwhile
// (see lockArchived). Payments and refunds stay: they are the books of the money, and keep a repeated notification from
// being taken for a new payment.
func (s *Store) dropOrders(
	ctx context.Context, tx bun.Conn, month app.Month, ids []app.ID, now app.Millis,
) (sums []app.DropSums, err error) {
	if err := tx.NewRaw(archivedSums, bun.SafeQuery("id IN (?)", bun.List(ids))).Scan(ctx, &sums); err != nil {
		return nil, err
	}
	for i := range sums {
		n := &sums[i]
		_, err := exec(ctx, tx, insertDrop+s.d.onTaken+
			" orders = archive_drops.orders + ?, sold = archive_drops.sold + ?, gone = archive_drops.gone + ?,"+
			" max_ticket = "+s.d.greatest+"(archive_drops.max_ticket, ?),"+
			" max_seq = "+s.d.greatest+"(archive_drops.max_seq, ?),"+
			" paid_fen = archive_drops.paid_fen + ?, refunded_fen = archive_drops.refunded_fen + ?, dropped_at = ?",
			int(month), n.Sale, n.Orders, n.Sold, n.Gone, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen, now, now,
			n.Orders, n.Sold, n.Gone, n.MaxTicket, n.MaxSeq, n.PaidFen, n.RefundedFen, now)
		if err != nil {
			return nil, err
		}
	}
	for _, table := range []string{"shipments", "outbox", "trades"} {
		if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE order_id IN (?)", bun.List(ids)); err != nil {
			return nil, err
		}
	}
	return sums, execMatching(ctx, tx, len(ids), "delete dropped orders", "DELETE FROM orders_archive WHERE id IN (?)",
		bun.List(ids))
}
