package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// ArchiveLeast is the shortest time after which orders may move or be blanked: a sale has left Redis by then, and
	// every buyer who comes back with a cursor that is younger finds what changed in orders itself (F6).
	ArchiveLeast = 48 * time.Hour

	archiveEvery = 10 * time.Minute
	// archiveChunk is how many orders one transaction locks: for some milliseconds.
	archiveChunk = 200
	archiveSales = 100 // in a list
	// archiveRest is the least pause after a transaction; a longer one rests archiveShare times as long as it took.
	archiveRest  = 20 * time.Millisecond
	archiveShare = 4
	// Around the opening of a sale nothing is moved, nor while so many reservations wait for their rows.
	archiveAhead   = 10 * time.Minute
	archiveBehind  = 5 * time.Minute
	archiveWaiting = 1000
	// A sale with orders that are not at rest is looked at again after a day, or after a week if nothing moved.
	archiveSoon, archiveLater = 24 * time.Hour, 7 * 24 * time.Hour
	// monthsAhead are made before anything needs them.
	monthsAhead = 62 * 24 * time.Hour
)

// ArchivedMonth is a month of the archive.
type ArchivedMonth struct {
	Month       Month `json:"month"`
	Orders      int64 `json:"orders"`
	Sales       int   `json:"sales,omitempty"`
	PaidFen     int64 `json:"paid_fen,omitempty"`
	RefundedFen int64 `json:"refunded_fen,omitempty"`
	Bytes       int64 `json:"bytes,omitempty"` // on disk, about
}

// ArchiveState is what is where.
type ArchiveState struct {
	ArchiveAfter string          `json:"archive_after"`
	PersonalData string          `json:"personal_data_after"`
	Orders       int64           `json:"orders"`         // in the archive
	SalesToMove  int64           `json:"sales_to_move"`  // whose orders are due
	SalesKept    int64           `json:"sales_kept"`     // with orders that were not at rest at the last look
	PaidLeft     int64           `json:"paid_left"`      // orders of these sales that nobody has shipped
	ShippedLeft  int64           `json:"shipped_left"`   // and that nobody has received
	SalesToBlank int64           `json:"sales_to_blank"` // whose orders may say something of people
	MonthsToDrop int64           `json:"months_to_drop"` // that were planned and are not dropped yet
	OldNodes     int             `json:"nodes_without_archive"`
	Months       []ArchivedMonth `json:"months"`
}

// Archived is what a run did.
type Archived struct {
	Sales    int             `json:"sales"`  // that were looked at
	Looked   int64           `json:"looked"` // orders
	Moved    int64           `json:"moved"`
	Blanked  int64           `json:"blanked"`          // orders whose personal data is gone
	Books    int64           `json:"books"`            // addresses of guests
	Months   map[Month]int64 `json:"months,omitempty"` // how many orders moved to each
	Dropped  []ArchivedMonth `json:"dropped,omitempty"`
	Postpone string          `json:"postponed,omitempty"` // why nothing more was done
}

// any reports whether the run changed anything.
func (a *Archived) any() bool { return a.Moved+a.Blanked+a.Books > 0 || len(a.Dropped) > 0 }

// Archivist moves orders of sales that closed long ago to the archive, and takes out of them what they say of people.
// One process does so at a time, in short transactions with pauses, and not around openings. It may die anywhere: what
// is moved is moved, what is left is found by the next run.
type Archivist struct {
	Store   ArchiveStore
	Streams interface {
		// PartitionFigures reads the state of all streams.
		PartitionFigures(ctx context.Context) ([]PartitionFigures, error)
	}
	ArchiveAfter  time.Duration // 0: orders stay where they are
	PersonalAfter time.Duration // 0: addresses stay
	Anyway        bool          // also around openings, and with short pauses

	// Counts are since the start.
	Counts struct{ Moved, Blanked, Failed atomic.Int64 }
}

// Run works until ctx ends.
func (a *Archivist) Run(ctx context.Context) error {
	return Repeat(ctx, archiveEvery, "archive orders", func(ctx context.Context) error {
		done, err := a.RunOnce(ctx)
		switch {
		case errors.Is(err, ErrArchiveTaken): // another node is at it
			return nil
		case err != nil:
			a.Counts.Failed.Add(1)
			return err
		case done.any():
			slog.InfoContext(ctx, "archived", "sales", done.Sales, "moved", done.Moved, "blanked", done.Blanked,
				"books", done.Books, "dropped", len(done.Dropped), "postponed", done.Postpone)
		}
		return nil
	})
}

// RunOnce does everything that is due, or as much as there is quiet for. ErrArchiveTaken: another process is at it.
func (a *Archivist) RunOnce(ctx context.Context) (done Archived, err error) {
	err = a.Store.LockArchive(ctx, func(ctx context.Context) error {
		r := &archiveRun{Archivist: a, done: &done}
		return r.all(ctx)
	})
	return done, err
}

// State counts rows per table and month.
func (a *Archivist) State(ctx context.Context) (ArchiveState, error) {
	now, err := a.Store.Clock(ctx)
	if err != nil {
		return ArchiveState{}, err
	}
	state, err := a.Store.ArchiveState(ctx, now.At, before(now.At, a.ArchiveAfter), before(now.At, a.PersonalAfter))
	if err != nil {
		return state, err
	}
	state.ArchiveAfter, state.PersonalData = orNever(a.ArchiveAfter), orNever(a.PersonalAfter)
	state.OldNodes, err = a.Store.NodesWithoutArchive(ctx)
	return state, err
}

func orNever(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	return d.String()
}

// before is the instant before which something is old enough; with 0 nothing ever is.
func before(now Millis, after time.Duration) Millis {
	if after == 0 {
		return 0
	}
	return now.Add(-after)
}

// archiveRun is one run under the lock.
type archiveRun struct {
	*Archivist
	done *Archived
}

func (r *archiveRun) all(ctx context.Context) error {
	old, err := r.Store.NodesWithoutArchive(ctx)
	if err != nil {
		return err
	}
	if old > 0 {
		r.done.Postpone = fmt.Sprintf("%d nodes of an earlier version would not find archived orders", old)
		return nil
	}
	if r.done.Postpone = r.noise(ctx); r.done.Postpone != "" {
		return nil
	}
	var failed []error // who may not make partitions blanks all the same
	for _, work := range []func(context.Context) error{r.finishDrops, r.blank, r.move, r.forgetGuests} {
		if r.done.Postpone == "" && ctx.Err() == nil {
			failed = append(failed, work(ctx))
		}
	}
	return errors.Join(failed...)
}

// finishDrops drops months of which somebody began to.
func (r *archiveRun) finishDrops(ctx context.Context) error {
	return dropPlanned(ctx, r.Store, &r.done.Dropped, func(took time.Duration) bool {
		r.rest(ctx, took)
		return r.done.Postpone == ""
	})
}

func (r *archiveRun) move(ctx context.Context) error {
	if r.ArchiveAfter == 0 {
		return nil
	}
	now, err := r.Store.Clock(ctx)
	if err != nil {
		return err
	}
	if _, err := r.Store.MakeMonths(ctx, now.At.Add(monthsAhead)); err != nil {
		return err
	}
	return r.eachSale(ctx, r.ArchiveAfter, r.Store.SalesToArchive, r.moveSale)
}

// eachSale works on the sales that are due until none is: each is planned anew when it is done.
func (r *archiveRun) eachSale(
	ctx context.Context, after time.Duration,
	due func(ctx context.Context, now, closedBefore Millis, limit int) ([]ID, error),
	work func(ctx context.Context, sale ID, now, closedBefore Millis) error,
) error {
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

func (r *archiveRun) moveSale(ctx context.Context, sale ID, now, changedBefore Millis) error {
	step := ArchiveStep{Sale: sale, Limit: archiveChunk, ChangedBefore: changedBefore, Now: now}
	moved := 0
	for {
		began := time.Now()
		done, err := r.Store.MoveOrders(ctx, step)
		if err != nil {
			return err
		}
		step.After = done.Last
		moved += done.Moved
		r.done.Looked += int64(done.Looked)
		r.done.Moved += int64(done.Moved)
		for month, n := range done.Months {
			if r.done.Months == nil {
				r.done.Months = make(map[Month]int64)
			}
			r.done.Months[month] += n
		}
		r.Counts.Moved.Add(int64(done.Moved))
		if done.Looked < archiveChunk {
			break
		}
		if r.rest(ctx, time.Since(began)); r.done.Postpone != "" {
			return nil
		}
	}
	_, err := r.Store.PlanArchive(ctx, sale, archiveLook(now, moved > 0))
	return err
}

// archiveLook is when a sale with orders that are left is looked at again.
func archiveLook(now Millis, moving bool) Millis {
	if moving {
		return now.Add(archiveSoon)
	}
	return now.Add(archiveLater)
}

func (r *archiveRun) blank(ctx context.Context) error {
	if r.PersonalAfter == 0 {
		return nil
	}
	return r.eachSale(ctx, r.PersonalAfter, r.Store.SalesToBlank, r.blankSale)
}

func (r *archiveRun) blankSale(ctx context.Context, sale ID, now, _ Millis) error {
	blanked := int64(0)
	for _, archived := range []bool{false, true} {
		for step := (BlankStep{Sale: sale, Archived: archived, Limit: archiveChunk}); ; {
			began := time.Now()
			n, last, err := r.Store.BlankOrders(ctx, step)
			if err != nil {
				return err
			}
			blanked += n
			r.done.Blanked += n
			r.Counts.Blanked.Add(n)
			if last == 0 {
				break
			}
			step.After = last
			if r.rest(ctx, time.Since(began)); r.done.Postpone != "" {
				return nil
			}
		}
	}
	_, err := r.Store.PlanBlank(ctx, sale, archiveLook(now, blanked > 0))
	return err
}

func (r *archiveRun) forgetGuests(ctx context.Context) error {
	if r.PersonalAfter == 0 {
		return nil
	}
	now, err := r.Store.Clock(ctx)
	if err != nil {
		return err
	}
	for after := ID(0); ; {
		began := time.Now()
		deleted, last, err := r.Store.ForgetGuests(ctx, before(now.At, r.PersonalAfter), after, archiveChunk)
		r.done.Books += deleted
		if err != nil || last == 0 {
			return err
		}
		after = last
		if r.rest(ctx, time.Since(began)); r.done.Postpone != "" {
			return nil
		}
	}
}

// rest pauses after a transaction, and says in Postpone when the run had better end.
func (r *archiveRun) rest(ctx context.Context, took time.Duration) {
	pause := max(archiveRest, archiveShare*took)
	if r.Anyway {
		pause = archiveRest
	}
	if !Sleep(ctx, pause) {
		r.done.Postpone = "it was stopped"
		return
	}
	if why := r.noise(ctx); why != "" {
		r.done.Postpone = why
	}
}

// noise says why nothing is to be moved now; "": all is quiet. What cannot be read is no quiet either.
func (r *archiveRun) noise(ctx context.Context) string {
	if r.Anyway {
		return ""
	}
	now, err := r.Store.Clock(ctx)
	if err != nil {
		return "the database does not answer"
	}
	opens, err := r.Store.OpensBetween(ctx, now.At.Add(-archiveBehind), now.At.Add(archiveAhead))
	switch {
	case err != nil:
		return "the database does not answer"
	case opens:
		return "a sale opens within minutes, or has just opened"
	}
	streams, err := r.Streams.PartitionFigures(ctx)
	if err != nil {
		return "Redis does not answer"
	}
	waiting := int64(0)
	for _, s := range streams {
		if s.Away {
			return fmt.Sprintf("partition %d does not answer", s.P)
		}
		waiting += s.Lag + s.Pending
	}
	if waiting >= archiveWaiting {
		return fmt.Sprintf("%d reservations wait for their rows", waiting)
	}
	return ""
}
