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

// ArchiveDesk archives and drops for operators.
type ArchiveDesk struct {
	Store   ArchiveStore
	Journal *Journal
}

// noteWait is how long a run that was stopped still has to journal what it did.
const noteWait = 5 * time.Second

// Run has what is due be done now. Its row in the journal says what was done, also by a run that was stopped or failed
// half-way; one that did nothing has none. A process that was killed leaves no row: it did what the duty of a node
// would have done by itself, and the archive says when each order came.
func (d *ArchiveDesk) Run(ctx context.Context, actor Actor, a *Archivist) (Archived, error) {
	done, err := a.RunOnce(ctx)
	if !done.any() {
		return done, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWait)
	defer cancel()
	_, noteErr := d.Journal.Act(ctx, actor, func(context.Context) (Act, error) {
		return Act{Kind: "archive.run", Object: "archive", After: done, Answer: done}, nil
	})
	return done, errors.Join(err, noteErr)
}

// Drop removes the archived orders of all months before the one given, for good. What they add up to is written down
// in the act's transaction, as it is by then; each sale keeps what the very orders that go add up to, and still
// balances. The months go after the COMMIT; what a crash leaves, the next run of the Archivist drops. Of a dry run
// nothing stays. ErrArchiveTaken: orders are being moved.
func (d *ArchiveDesk) Drop(ctx context.Context, actor Actor, month Month, dryRun bool) (out ArchiveDrop, err error) {
	now, err := d.Store.Clock(ctx)
	if err != nil {
		return out, err
	}
	if month > MonthOf(now.At) {
		return out, Fail(BadRequest, fmt.Sprintf("%s is not over: only whole months that are can be dropped", month))
	}
	if dryRun {
		out = ArchiveDrop{Before: month, DryRun: true}
		out.Months, err = d.Store.PlanDrop(ctx, month, now.At, true)
		return out, err
	}
	err = d.Store.LockArchive(ctx, func(ctx context.Context) error {
		done, err := d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
			plan := ArchiveDrop{Before: month}
			var err error
			plan.Months, err = d.Store.PlanDrop(ctx, month, now.At, false)
			return Act{Kind: "archive.drop", Object: "archive", After: plan, Answer: plan}, err
		})
		if err == nil {
			err = done.Into(&out)
		}
		if err != nil {
			return err
		}
		var dropped []ArchivedMonth
		return dropPlanned(ctx, d.Store, &dropped, func(time.Duration) bool { return Sleep(ctx, archiveRest) })
	})
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
