package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"stampede/app/board"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// RefundWindow is the period in which Alipay refunds a payment: three months (alipay.trade.refund, "Use case").
	// Orders stay out of the archive for at least this time after the end of their sale. If a contract grants more, set
	// STAMPEDE_ARCHIVE_AFTER.
	RefundWindow = 92 * 24 * time.Hour
	// MinPersonalAfter is the minimum delay before personal data is removed. After this time the sale is no longer in
	// Redis.
	MinPersonalAfter = 48 * time.Hour

	archiveEvery = 10 * time.Minute
	// archiveChunk is the number of orders that one transaction locks for some milliseconds.
	archiveChunk = 200
	archiveSales = 100 // sales per query
	// archiveMinPause is the minimum pause after a transaction; the pause is archivePauseFactor times as long as the
	// transaction.
	archiveMinPause    = 20 * time.Millisecond
	archivePauseFactor = 4

	// No order is archived from quietBeforeOpening before the opening of a sale until quietAfterOpening after the
	// opening, or while archiveMaxWaiting reservations are not yet stored as rows.
	quietBeforeOpening = 10 * time.Minute
	quietAfterOpening  = 5 * time.Minute
	archiveMaxWaiting  = 1000

	// A sale with unsettled orders is checked again after a day, or after a week if the last check changed no order.
	archiveRecheck, archiveIdleRecheck = 24 * time.Hour, 7 * 24 * time.Hour
)

// Archived is the result of one run.
type Archived struct {
	Sales          int    // checked sales
	Moved          int64  // moved orders
	Blanked        int64  // orders whose personal data was removed
	GuestAddresses int64  // deleted address book entries of guests
	Postpone       string // reason why the run ended early
}

// Archiver moves orders of sales that closed long ago to the archive, and removes personal data. One process at a time
// runs it. It uses short transactions with pauses, and no transaction shortly before or after an opening. After a crash
// at any point the next run continues.
type Archiver struct {
	Store *store.Store
	// PartitionFigures reads the state of all streams from Redis.
	PartitionFigures func(ctx context.Context) ([]board.PartitionFigures, error)
	ArchiveAfter     time.Duration // 0: orders are never moved
	PersonalAfter    time.Duration // 0: personal data is never removed
	// Counts holds totals since the start of the process.
	Counts struct{ Moved, Blanked, Failed atomic.Int64 }
}

// Run calls RunOnce periodically until ctx ends.
func (a *Archiver) Run(ctx context.Context) error {
	return shop.Repeat(ctx, archiveEvery, "archive orders", func(ctx context.Context) error {
		done, err := a.RunOnce(ctx)
		switch {
		case errors.Is(err, store.ErrArchiveLocked): // another node holds the lock
			return nil
		case err != nil:
			a.Counts.Failed.Add(1)
			return err
		case done.Moved+done.Blanked+done.GuestAddresses > 0:
			slog.InfoContext(ctx, "archived", "sales", done.Sales, "moved", done.Moved, "blanked", done.Blanked,
				"books", done.GuestAddresses, "postponed", done.Postpone)
		}
		return nil
	})
}

// RunOnce performs all due archive work. It stops early if a sale is about to open. ErrArchiveLocked: another process
// works on the archive.
func (a *Archiver) RunOnce(ctx context.Context) (done Archived, err error) {
	err = a.Store.LockArchive(ctx, func(ctx context.Context) error {
		r := &archiveRun{Archiver: a, done: &done}
		return r.runTasks(ctx)
	})
	return done, err
}

func durationOrNever(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	return d.String()
}

// before returns the instant now - after. If after is 0, it returns 0, an instant before all orders.
func before(now shop.Millis, after time.Duration) shop.Millis {
	if after == 0 {
		return 0
	}
	return now.Add(-after)
}

// archiveRun is one run under the lock.
type archiveRun struct {
	*Archiver
	done *Archived
}

func (r *archiveRun) runTasks(ctx context.Context) error {
	if r.done.Postpone = r.postponeReason(ctx); r.done.Postpone != "" {
		return nil
	}
	var failed []error
	for _, work := range []func(context.Context) error{r.blank, r.move, r.deleteGuestAddresses} {
		if r.done.Postpone == "" && ctx.Err() == nil {
			failed = append(failed, work(ctx))
		}
	}
	return errors.Join(failed...)
}

func (r *archiveRun) move(ctx context.Context) error {
	return r.eachSale(ctx, r.ArchiveAfter, r.Store.SalesToArchive, r.moveSale)
}

// eachSale calls `work` for all due sales. `work` sets the next check of its sale. If `after` is 0, no sale is due.
func (r *archiveRun) eachSale(
	ctx context.Context, after time.Duration,
	due func(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error),
	work func(ctx context.Context, sale shop.ID, now, closedBefore shop.Millis) error,
) error {
	if after == 0 {
		return nil
	}
	for {
		now, err := r.Store.Clock(ctx)
		if err != nil {
			return err
		}
		sales, err := due(ctx, now.At, before(now.At, after), archiveSales)
		if err != nil {
			return err
		}
		for _, sale := range sales {
			if err := work(ctx, sale, now.At, before(now.At, after)); err != nil || r.done.Postpone != "" {
				return err
			}
			r.done.Sales++
		}
		if len(sales) < archiveSales {
			return nil
		}
	}
}

func (r *archiveRun) moveSale(ctx context.Context, sale shop.ID, now, changedBefore shop.Millis) error {
	step := store.ArchiveStep{Sale: sale, Limit: archiveChunk, ChangedBefore: changedBefore, Now: now}
	moved := 0
	err := r.steps(ctx, func() (more bool, err error) {
		done, err := r.Store.MoveOrders(ctx, step)
		if err != nil {
			return false, err
		}
		step.After = done.Last
		moved += done.Moved
		r.done.Moved += int64(done.Moved)
		r.Counts.Moved.Add(int64(done.Moved))
		return done.Checked == archiveChunk, nil
	})
	if err == nil && r.done.Postpone == "" {
		_, err = r.Store.PlanArchive(ctx, sale, nextArchiveCheck(now, moved > 0))
	}
	return err
}

// steps runs short transactions with pauses until step reports false or Postpone is set.
func (r *archiveRun) steps(ctx context.Context, step func() (more bool, err error)) error {
	for r.done.Postpone == "" {
		began := time.Now()
		if more, err := step(); err != nil || !more {
			return err
		}
		r.pause(ctx, time.Since(began))
	}
	return nil
}

// nextArchiveCheck returns the time of the next check of a sale with remaining orders. progress reports whether
// the last check changed an order.
func nextArchiveCheck(now shop.Millis, progress bool) shop.Millis {
	if progress {
		return now.Add(archiveRecheck)
	}
	return now.Add(archiveIdleRecheck)
}

func (r *archiveRun) blank(ctx context.Context) error {
	return r.eachSale(ctx, r.PersonalAfter, r.Store.SalesToBlank, r.blankSale)
}

func (r *archiveRun) blankSale(ctx context.Context, sale shop.ID, now, _ shop.Millis) error {
	blanked, after := int64(0), shop.ID(0)
	err := r.steps(ctx, func() (more bool, err error) {
		n, last, err := r.Store.BlankOrders(ctx, sale, after, archiveChunk)
		if err != nil {
			return false, err
		}
		after = last
		blanked += n
		r.done.Blanked += n
		r.Counts.Blanked.Add(n)
		return last != 0, nil
	})
	if err == nil && r.done.Postpone == "" {
		_, err = r.Store.PlanBlank(ctx, sale, nextArchiveCheck(now, blanked > 0))
	}
	return err
}

func (r *archiveRun) deleteGuestAddresses(ctx context.Context) error {
	if r.PersonalAfter == 0 {
		return nil
	}
	now, err := r.Store.Clock(ctx)
	if err != nil {
		return err
	}
	after := shop.ID(0)
	return r.steps(ctx, func() (more bool, err error) {
		deleted, last, err := r.Store.DeleteGuestAddresses(ctx, before(now.At, r.PersonalAfter), after, archiveChunk)
		after = last
		r.done.GuestAddresses += deleted
		return last != 0, err
	})
}

// pause pauses after a transaction, and sets Postpone if the run must end.
func (r *archiveRun) pause(ctx context.Context, took time.Duration) {
	r.done.Postpone = "the run was stopped"
	if shop.Sleep(ctx, max(archiveMinPause, archivePauseFactor*took)) {
		r.done.Postpone = r.postponeReason(ctx)
	}
}

// postponeReason returns the reason why no order may be moved now; "": moving is allowed. An unreachable store is also
// a reason.
func (r *archiveRun) postponeReason(ctx context.Context) string {
	now, err := r.Store.Clock(ctx)
	if err != nil {
		return "the database is unreachable"
	}
	opens, err := r.Store.OpensBetween(ctx, now.At.Add(-quietAfterOpening), now.At.Add(quietBeforeOpening))
	switch {
	case err != nil:
		return "the database is unreachable"
	case opens:
		return "a sale opens within minutes or has just opened"
	}
	streams, err := r.PartitionFigures(ctx)
	if err != nil {
		return "Redis is unreachable"
	}
	waiting := int64(0)
	for _, s := range streams {
		if s.Unreachable {
			return fmt.Sprintf("partition %d is unreachable", s.P)
		}
		waiting += s.Lag + s.Pending
	}
	if waiting >= archiveMaxWaiting {
		return fmt.Sprintf("%d reservations wait for the database", waiting)
	}
	return ""
}
