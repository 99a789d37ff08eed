package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/migrations/sqllock"
)

// ArchiveState counts archived orders, sales that are due, sales with unsettled orders, and their remaining orders.
type ArchiveState struct {
	ArchiveAfter string          `json:"archive_after"`
	PersonalData string          `json:"personal_data_after"`
	Orders       int64           `json:"orders"`         // in the archive
	SalesToMove  int64           `json:"sales_to_move"`  // with due orders
	SalesKept    int64           `json:"sales_kept"`     // with orders that were not settled at the last check
	PaidLeft     int64           `json:"paid_left"`      // unshipped orders of these sales
	ShippedLeft  int64           `json:"shipped_left"`   // shipped, but not received, orders of these sales
	SalesToBlank int64           `json:"sales_to_blank"` // that may have personal data
	Months       []ArchivedMonth `json:"months"`
}

// ErrArchiveLocked means that another process works on the archive.
var ErrArchiveLocked = errors.New("another process works on the archive")

// ArchiveStep is one short transaction that moves orders.
type ArchiveStep struct {
	Sale, After   shop.ID // After is the last order that was checked
	Limit         int
	ChangedBefore shop.Millis // orders that changed later stay; by the database's clock
	Now           shop.Millis
}

// ArchiveDone is the result of a step.
type ArchiveDone struct {
	Checked, Moved int
	Last           shop.ID
}

// orderColumns lists the columns that both tables of orders have.
const orderColumns = "id, sale_id, user_id, part, seq, ticket, hold, qty, price_fen, amount_fen, sale_version, state, rev," +
	" published_rev, unpublished_since, created_at, pay_by, paid_at, cancelled_at, trade_opened, idem_key, content_hash, trade_no," +
	" tracking, reason, product_name, address, changed_at, inserted_at"

// archivableCondition matches settled orders, which do not change without an operator or a late payment. A settled
// order is in a final state, and has no open trade, unsettled payment, open refund, unpublished state, unsent posting
// or pending shipment job.
const archivableCondition = "o.state IN ('finished', 'cancelled', 'expired', 'refused', 'refunded') AND o.unpublished_since IS NULL" +
	" AND NOT EXISTS (SELECT 1 FROM trades t WHERE t.order_id = o.id AND t.check_at IS NOT NULL)" +
	" AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.unsettled_since IS NOT NULL)" +
	" AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.state IN ('asked', 'open', 'stuck'))" +
	" AND NOT EXISTS (SELECT 1 FROM outbox b WHERE b.order_id = o.id AND b.next_at IS NOT NULL)" +
	" AND NOT EXISTS (SELECT 1 FROM shipments h WHERE h.order_id = o.id" +
	" AND (h.finish_at IS NOT NULL OR h.mail_at IS NOT NULL))"

// archiveLockMaxIdle is the maximum time without a statement of the process that holds the lock of the archive.
const archiveLockMaxIdle = 30 * time.Second

// LockArchive runs fn while no other process moves, blanks or drops orders. ErrArchiveLocked: another process holds the
// lock; MySQL waits up to one second for it.
func (s *Store) LockArchive(ctx context.Context, fn func(ctx context.Context) error) error {
	if s.writer != nil { // SQLite: only this process and commands use the file
		select {
		case s.archiving <- struct{}{}:
			defer func() { <-s.archiving }()
			return fn(ctx)
		default:
			return ErrArchiveLocked
		}
	}
	lock := sqllock.Lock{Name: "stampede:archive", Wait: time.Second, MaxIdle: archiveLockMaxIdle}
	began := false
	err := lock.Hold(ctx, s.conns, func(ctx context.Context) error {
		began = true
		return fn(ctx)
	})
	switch {
	case errors.Is(err, sqllock.ErrHeld):
		return ErrArchiveLocked
	case began && !errors.Is(err, sqllock.ErrLost):
		return err
	}
	return wrap("lock the archive", err)
}

// OpensBetween reports whether a sale opens at or after the first instant and before the second.
func (s *Store) OpensBetween(ctx context.Context, from, to shop.Millis) (opens bool, err error) {
	opens, err = s.db.NewSelect().TableExpr("sales").Column("id").Where("opens_at >= ? AND opens_at < ?", from, to).
		Where("archived_at = 0").Exists(ctx)
	return opens, wrap("find sales that open", err)
}

// SalesToArchive lists sales that closed before the given instant, have left Redis, and are due for a check.
func (s *Store) SalesToArchive(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error) {
	return s.salesDue(ctx, moveTask, now, closedBefore, limit)
}

// saleTask is a task of the archive that repeats for a sale until no order is left to process.
type saleTask struct {
	column    string // column of sales: the instant of the next check, or NULL
	index     string // the index on the column
	remaining string // condition: sale ?0 has orders to process
}

var moveTask = saleTask{"archive_at", "sales_archive", "EXISTS (SELECT 1 FROM orders WHERE sale_id = ?0)"}

// salesDue lists sales whose check is due. It lists only sales that have left Redis permanently: no rebuild reads their
// orders, and none of their units is held.
func (s *Store) salesDue(
	ctx context.Context, task saleTask, now, closedBefore shop.Millis, limit int,
) (sales []shop.ID, err error) {
	err = s.db.NewSelect().Model((*saleRow)(nil)).ForceIndex(task.index).Column("s.id").
		Where("s."+task.column+" <= ?", now).Where("s.closes_at < ?", closedBefore).
		Where("s.retired_at > 0").
		OrderExpr("s."+task.column+", s.closes_at, s.id").Limit(int64(limit)).Scan(ctx, &sales)
	return sales, wrap("list sales that closed long ago", err)
}

// MoveOrders checks the next orders of a sale and moves the settled ones, in one transaction.
func (s *Store) MoveOrders(ctx context.Context, step ArchiveStep) (done ArchiveDone, err error) {
	action := "move orders of sale " + step.Sale.String()
	var window []shop.ID
	err = s.db.NewSelect().Model((*orderRow)(nil)).ForceIndex("orders_sale").Column("id").
		Where("sale_id = ?", step.Sale).Where("id > ?", step.After).Order("id").Limit(int64(step.Limit)).
		Scan(ctx, &window)
	if err != nil || len(window) == 0 {
		return done, wrap(action, err)
	}
	done.Checked, done.Last = len(window), window[len(window)-1]
	// Settled orders are selected without locks, so that the other orders stay available.
	ids, err := s.settledOrders(ctx, s.db, "orders", window, step.ChangedBefore)
	if err != nil || len(ids) == 0 {
		return done, wrap(action, err)
	}
	err = s.inTx(ctx, action, func(tx bun.Conn) error {
		moved, err := s.move(ctx, tx, step, ids)
		done.Moved = len(moved)
		return err
	})
	return done, err
}

// settledOrders returns the settled orders of a table that have not changed since the given instant.
func (s *Store) settledOrders(
	ctx context.Context, db bun.IDB, table string, ids []shop.ID, changedBefore shop.Millis,
) (found []shop.ID, err error) {
	err = db.NewRaw("SELECT o.id FROM ? AS o WHERE o.id IN (?) AND "+s.d.changed+" <= ? AND "+archivableCondition+
		" ORDER BY o.id", bun.Ident(table), bun.List(ids), changedBefore).Scan(ctx, &found)
	return found, err
}

// move checks the orders again under their locks, copies the rows, deletes them and returns their ids. Both row counts
// must equal the number of locked rows, so that each order is in exactly one table when the transaction ends (I1).
func (s *Store) move(ctx context.Context, tx bun.Conn, step ArchiveStep, ids []shop.ID) ([]shop.ID, error) {
	if _, err := s.lockLive(ctx, tx, ids); err != nil {
		return nil, err
	}
	ids, err := s.settledOrders(ctx, tx, "orders", ids, step.ChangedBefore)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	err = execMatching(ctx, tx, len(ids), "copy orders to the archive",
		"INSERT INTO orders_archive ("+orderColumns+", moved_at) SELECT "+orderColumns+", ? FROM orders WHERE id IN (?)",
		step.Now, bun.List(ids))
	if err != nil {
		return nil, err
	}
	if err := execMatching(ctx, tx, len(ids), "take archived orders out of orders",
		"DELETE FROM orders WHERE id IN (?)", bun.List(ids)); err != nil {
		return nil, err
	}
	// Once moved_at is set, all inserts for the sale also look into the archive, see Insert.
	_, err = exec(ctx, tx, "UPDATE sales SET moved_at = ? WHERE id = ? AND moved_at = 0", step.Now, step.Sale)
	return ids, err
}

// PlanArchive sets the next check of a sale, or none if all its orders have moved. remaining reports whether
// orders remain.
func (s *Store) PlanArchive(ctx context.Context, sale shop.ID, next shop.Millis) (remaining bool, err error) {
	return s.planSale(ctx, moveTask, sale, next)
}

// planSale sets the next check of a sale, or none if no order is left to process. The sale is locked first, because an
// order that is inserted meanwhile resets the plan.
func (s *Store) planSale(
	ctx context.Context, task saleTask, sale shop.ID, next shop.Millis,
) (remaining bool, err error) {
	err = s.inTx(ctx, "plan "+task.column+" of sale "+sale.String(), func(tx bun.Conn) error {
		var id shop.ID
		err := tx.QueryRowContext(ctx, "SELECT id FROM sales WHERE id = ?"+s.d.forUpdate, sale).Scan(&id)
		if err == nil {
			err = tx.NewRaw("SELECT "+task.remaining, sale).Scan(ctx, &remaining)
		}
		if err != nil {
			return err
		}
		at := &next
		if !remaining {
			at = nil
		}
		return execMatching(ctx, tx, 1, "plan archive work", "UPDATE sales SET "+task.column+" = ? WHERE id = ?", at, sale)
	})
	return remaining, err
}

// errMoved means that the sale of the inserted orders has orders in the archive. The caller must look for existing rows
// in the archive first.
var errMoved = fmt.Errorf("%w: orders of the sale are in the archive", shop.ErrTransient)

// ArchiveState counts due sales and remaining orders.
func (s *Store) ArchiveState(
	ctx context.Context, now, closedBefore, blankBefore shop.Millis,
) (state ArchiveState, err error) {
	for _, count := range []struct {
		into   *int64
		column string
		before shop.Millis
	}{{&state.SalesToMove, "archive_at", closedBefore}, {&state.SalesToBlank, "blank_at", blankBefore}} {
		err := s.db.NewRaw("SELECT COUNT(*) FROM sales WHERE "+count.column+" <= ? AND closes_at < ? AND retired_at > 0",
			now, count.before).Scan(ctx, count.into)
		if err != nil {
			return state, wrap("count sales that closed long ago", err)
		}
	}
	err = s.db.NewRaw("SELECT COUNT(*) FROM sales WHERE archive_at > ? AND retired_at > 0", now).Scan(ctx, &state.SalesKept)
	if err != nil {
		return state, wrap("count sales with unsettled orders", err)
	}
	// Few rows are read, because all other orders of these sales have moved.
	err = s.db.NewRaw("SELECT COALESCE(SUM(o.state = 'paid'), 0), COALESCE(SUM(o.state = 'shipped'), 0) FROM sales s"+
		" JOIN orders o ON o.sale_id = s.id WHERE s.archive_at > ? AND s.retired_at > 0", now).
		Scan(ctx, &state.PaidLeft, &state.ShippedLeft)
	return state, wrap("count orders that were not shipped", err)
}
