package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ArchiveDrop is what of the archive was dropped, or would be.
type ArchiveDrop struct {
	Before Month           `json:"before"`
	DryRun bool            `json:"dry_run"`
	Months []ArchivedMonth `json:"months"`
}

// ArchiveDesk shows the archive to operators and drops months of it.
type ArchiveDesk struct {
	Archivist *Archivist
	Journal   *Journal
}

// ArchiveState counts rows per table and month.
func (d *ArchiveDesk) ArchiveState(ctx context.Context) (ArchiveState, error) {
	return d.Archivist.State(ctx)
}

// DropArchive removes the archived orders of all months before the one given, for good. What they add up to is
// written down in the act's transaction, as it is by then; each sale keeps what the very orders that go add up to,
// and still balances. The months go after the COMMIT; what a crash or the end of ctx leaves, the next run of the
// Archivist drops. A dry run changes nothing. Conflict: orders are being moved.
func (d *ArchiveDesk) DropArchive(
	ctx context.Context, actor Actor, month Month, dryRun bool,
) (out ArchiveDrop, err error) {
	store := d.Archivist.Store
	now, err := store.Clock(ctx)
	if err != nil {
		return out, err
	}
	if month > MonthOf(now.At) {
		return out, Fail(BadRequest, fmt.Sprintf("%s is not over: only whole months that are can be dropped", month))
	}
	if dryRun {
		out = ArchiveDrop{Before: month, DryRun: true}
		out.Months, err = store.PlanDrop(ctx, month, now.At, true)
		return out, err
	}
	err = store.LockArchive(ctx, func(ctx context.Context) error {
		done, err := d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
			plan := ArchiveDrop{Before: month}
			var err error
			plan.Months, err = store.PlanDrop(ctx, month, now.At, false)
			return Act{Kind: "archive.drop", Object: "archive", After: plan, Answer: plan}, err
		})
		if err == nil {
			err = done.Into(&out)
		}
		if err != nil {
			return err
		}
		var dropped []ArchivedMonth
		return dropPlanned(ctx, store, &dropped, func(time.Duration) bool { return Sleep(ctx, archiveRest) })
	})
	if errors.Is(err, ErrArchiveTaken) {
		err = Fail(Conflict, "orders are being moved to the archive right now; try again in a minute")
	}
	return out, err
}

// dropPlanned drops all months that are planned, in short transactions, until rest says after one of them that it is
// time to stop. What went is noted step by step.
func dropPlanned(
	ctx context.Context, store ArchiveStore, into *[]ArchivedMonth, rest func(took time.Duration) bool,
) error {
	now, err := store.Clock(ctx)
	if err != nil {
		return err
	}
	var sales map[ID]bool // of the month that goes
	for {
		began := time.Now()
		step, err := store.DropSome(ctx, now.At, archiveChunk)
		if err != nil || step.Month == 0 {
			return err
		}
		if n := len(*into); n == 0 || (*into)[n-1].Month != step.Month {
			*into, sales = append(*into, ArchivedMonth{Month: step.Month}), make(map[ID]bool)
		}
		month := &(*into)[len(*into)-1]
		for _, sums := range step.Sums {
			sales[sums.Sale] = true
			month.Orders += sums.Orders
			month.PaidFen += sums.PaidFen
			month.RefundedFen += sums.RefundedFen
		}
		month.Sales = len(sales)
		if !rest(time.Since(began)) {
			return ctx.Err()
		}
	}
}
