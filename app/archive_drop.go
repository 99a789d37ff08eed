package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Month is a month of UTC by its number, like 202611.
type Month int

// MonthOf is the month of an instant.
func MonthOf(at Millis) Month {
	t := at.Time().UTC()
	return Month(t.Year()*100 + int(t.Month()))
}

// ParseMonth reads a month like 2026-11.
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, failf(BadRequest, "%q is no month: want one like 2026-11", text)
	}
	return MonthOf(MillisOf(t)), nil
}

// Start is its first instant.
func (m Month) Start() Millis {
	return MillisOf(time.Date(int(m)/100, time.Month(m%100), 1, 0, 0, 0, 0, time.UTC))
}

// Next is the month after it.
func (m Month) Next() Month { return MonthOf(MillisOf(m.Start().Time().UTC().AddDate(0, 1, 0))) }

func (m Month) String() string { return fmt.Sprintf("%04d-%02d", int(m)/100, int(m)%100) }

// MarshalText writes it like 2026-11.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads it.
func (m *Month) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMonth(string(text))
	return err
}

// ArchiveDrop is what was deleted of the archive, or would be.
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

// DropArchive deletes the archived orders of all months before the one given. The journal gets the sums of each month
// first; then the orders go in short transactions, but for those whose late money is not settled. If it does not get
// to the end (busy: time is up, or the database does not answer), the same request goes on. A dry run changes
// nothing. Conflict: orders are being moved.
func (d *ArchiveDesk) DropArchive(
	ctx context.Context, actor Actor, month Month, dryRun bool,
) (out ArchiveDrop, err error) {
	store := d.Archivist.Store
	now, err := store.Clock(ctx)
	if err != nil {
		return out, Unreadable("the archive", err)
	}
	if month > MonthOf(now.At) {
		return out, failf(BadRequest, "%s is not over: only whole months that are can be dropped", month)
	}
	sums := func(ctx context.Context) (ArchiveDrop, error) {
		months, err := store.ArchivedMonths(ctx, month)
		return ArchiveDrop{Before: month, DryRun: dryRun, Months: months}, err
	}
	if dryRun {
		out, err = sums(ctx)
		return out, Unreadable("the archive", err)
	}
	err = store.LockArchive(ctx, func(ctx context.Context) error {
		plan, err := sums(ctx) // before the transaction of the journal, which must be short
		if err != nil {
			return err
		}
		out, err = actFor[ArchiveDrop](ctx, d.Journal, actor, func(context.Context) (Act, error) {
			return Act{Kind: "archive.drop", Object: "archive", After: plan, Answer: plan}, nil
		})
		for after := ID(0); err == nil; {
			after, err = store.DropOrders(ctx, month.Start(), after, now.At, archiveChunk)
			if after == 0 {
				break
			}
			if !Sleep(ctx, archiveRest) {
				err = ctx.Err()
			}
		}
		return err
	})
	if errors.Is(err, ErrArchiveTaken) {
		return out, Fail(Conflict, "orders are being moved to the archive; try again in a minute")
	}
	return out, unsettled("delete archived orders", err)
}
