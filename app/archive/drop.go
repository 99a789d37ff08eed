package archive

import (
	"context"
	"errors"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// Drop contains the totals of the deleted months; in a dry run, of the months that the operation would delete.
type Drop struct {
	Before shop.Month            `json:"before"`
	DryRun bool                  `json:"dry_run"`
	Months []store.ArchivedMonth `json:"months"`
}

// Service shows the archive to operators and deletes whole months of archived orders.
type Service struct {
	Archiver *Archiver
}

// ArchiveState counts rows per table and month.
func (s *Service) ArchiveState(ctx context.Context) (store.ArchiveState, error) {
	a := s.Archiver
	now, err := a.Store.Clock(ctx)
	if err != nil {
		return store.ArchiveState{}, err
	}
	state, err := a.Store.ArchiveState(ctx, now.At, before(now.At, a.ArchiveAfter), before(now.At, a.PersonalAfter))
	if err != nil {
		return state, err
	}
	state.ArchiveAfter, state.PersonalData = durationOrNever(a.ArchiveAfter), durationOrNever(a.PersonalAfter)
	state.Months, err = a.Store.ArchivedMonths(ctx, 0)
	for _, m := range state.Months {
		state.Orders += m.Orders
	}
	return state, err
}

// DropArchive deletes the archived orders of all months before the given one. It first writes the totals of each month
// to the journal. Then it deletes the orders in short transactions, except orders whose late payments are not settled.
// If it fails with Busy (timeout, or the database is unreachable), a repeated request continues the operation. A dry
// run changes nothing. Conflict: orders are being moved.
func (s *Service) DropArchive(
	ctx context.Context, actor journal.Actor, month shop.Month,
) (out Drop, err error) {
	db := s.Archiver.Store
	now, err := db.Clock(ctx)
	if err != nil {
		return out, shop.Unavailable("the archive", err)
	}
	if month > shop.MonthOf(now.At) {
		return out, shop.Failf(shop.BadRequest, "%s is not over: only complete months can be dropped", month)
	}
	sums := func(ctx context.Context) (Drop, error) {
		months, err := db.ArchivedMonths(ctx, month)
		return Drop{Before: month, DryRun: actor.DryRun, Months: months}, err
	}
	if actor.DryRun {
		out, err = sums(ctx)
		return out, shop.Unavailable("the archive", err)
	}
	err = db.LockArchive(ctx, func(ctx context.Context) error {
		plan, err := sums(ctx) // before the journal's transaction, which must be short
		if err != nil {
			return err
		}
		out, err = store.RunOperationFor[Drop](ctx, db, actor, func(*store.Store) (journal.Operation, error) {
			return journal.Operation{Kind: "archive.drop", Object: "archive", After: plan, Result: plan}, nil
		})
		for after := shop.ID(0); err == nil; {
			after, err = db.DropOrders(ctx, month.Start(), after, now.At, archiveChunk)
			if after == 0 {
				break
			}
			if !shop.Sleep(ctx, archiveMinPause) {
				err = ctx.Err()
			}
		}
		return err
	})
	if errors.Is(err, store.ErrArchiveLocked) {
		return out, shop.Fail(shop.Conflict, "orders are being moved to the archive; try again in a minute")
	}
	return out, shop.UnknownOutcome("delete archived orders", err)
}
