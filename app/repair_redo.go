package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// Redo gives a database back what it lacks after a failover. A replica that is promoted may be behind by the last
// transactions, or by minutes; so is a database that was restored from a backup. Redis has seen all of them: the stream
// keeps each reservation for about an hour after its row was written, and a sale's holds say what became of it.
//
//	loaded sales → terms, added units → rows for entries that have none → payments → orders that had ended → the database is known
//
// A hold that is gone proves that its order had ended, because Redis gives units back only after a terminal row was
// committed (I1); one that counts as sold proves that money came. What the money was only the gateway knows, so it is
// asked. Everything is conditional on the rows as they are and has an identity, so a redo may be cut off anywhere, run
// twice, and beside people who buy: meanwhile nothing is oversold, since a database that lacks rows has too many free
// units. Where it has too few, because it lacks units too, orders wait and are not refused (Fulfiller).
//
// What nobody can give back is listed: holds whose entry the stream has forgotten, and what is in no stream (refunds,
// parcels, accounts, what of the catalogue is not in Redis, the journal).
type Redo struct {
	Partitions int
	Database   interface {
		// Clock is the database's clock, and which server says so.
		Clock(ctx context.Context) (Instant, error)
	}
	Redis     RedoSource
	Inventory Inventory
	Orders    OrderStore
	Sales     SaleStore
	Fulfiller *Fulfiller
	Cashier   *Cashier

	passes map[int]*redoPass // of partitions that are not done with; only who runs the redo touches them
	counts RedoCounts
}

// RedoSource is what Redis knows of orders beyond the rows. Errors are ErrTransient.
type RedoSource interface {
	// State reads what Redis has of the partition.
	State(ctx context.Context, partition int) (PartitionState, error)
	// Leftover walks through all entries that the stream still has, oldest first, settled ones included.
	Leftover(ctx context.Context, partition int, each func([]Entry) error) error
	// Standing answers the holds that are open among the orders of a sale, and whether the sale is in Redis at all.
	Standing(ctx context.Context, sale SaleRef, orders []ID) (holds map[ID]OpenHold, loaded bool, err error)
	// NoteDatabase notes up to which history of the database the partition is known to lack nothing.
	NoteDatabase(ctx context.Context, partition int, history string) error
}

// RedoReport is what a database lacked, and what became of that.
type RedoReport struct {
	Rows     int      `json:"rows"`     // orders that have their row again
	Ended    int      `json:"ended"`    // of them, those that had ended before, and orders that had ended and were pending again
	Payments int      `json:"payments"` // orders that are paid again
	Added    int64    `json:"added"`    // units that operators had added
	Edited   int      `json:"edited"`   // sales that sell again as an operator had decided
	Missing  []Lacked `json:"missing"`  // what could not be given back
}

// Lacked is something that people have to look at.
type Lacked struct {
	Sale  ID     `json:"sale"`
	Order ID     `json:"order,omitempty"`
	Says  string `json:"says"`
}

func (r *RedoReport) lacks(sale, order ID, says string) {
	r.Missing = append(r.Missing, Lacked{Sale: sale, Order: order, Says: says})
}

func (r *RedoReport) add(other RedoReport) {
	r.Rows += other.Rows
	r.Ended += other.Ended
	r.Payments += other.Payments
	r.Added += other.Added
	r.Edited += other.Edited
	r.Missing = append(r.Missing, other.Missing...)
}

// RedoCounts are what this node has given back.
type RedoCounts struct {
	Rows, Ended, Payments, Missing atomic.Int64
}

// Counts are for metrics.
func (r *Redo) Counts() *RedoCounts { return &r.counts }

// Run looks after all partitions until ctx ends.
func (r *Redo) Run(ctx context.Context) error {
	return Repeat(ctx, watchEvery, "look which database answers", r.RunOnce)
}

// RunOnce gives back what is lacking in the partitions that were known to lack nothing on another database server than
// the one that answers now. One that nobody has noted yet is noted: there is nothing to compare it with.
func (r *Redo) RunOnce(ctx context.Context) error {
	at, err := r.Database.Clock(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for p := range r.Partitions {
		known, err := r.Inventory.KnownDatabase(ctx, p)
		switch {
		case err == nil && known == "":
			err = r.Redis.NoteDatabase(ctx, p, at.History)
		case err == nil && known != at.History:
			_, err = r.partition(ctx, p, false)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	return errors.Join(failed...)
}

// All gives back what is lacking in all partitions, whichever database they were known on.
func (r *Redo) All(ctx context.Context) (RedoReport, error) {
	var all RedoReport
	for p := range r.Partitions {
		report, err := r.partition(ctx, p, true)
		all.add(report)
		if err != nil {
			return all, fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return all, nil
}

// partition does it for one, unless another node has just done it (again: also then), and notes the database that
// answered before it began. Until then none counts as whole, also where somebody asks for it by hand, so that no order
// is refused meanwhile.
func (r *Redo) partition(ctx context.Context, partition int, again bool) (report RedoReport, err error) {
	err = r.Sales.LockRebuild(ctx, partition, func(ctx context.Context) error {
		at, err := r.Database.Clock(ctx)
		if err != nil {
			return err
		}
		known, err := r.Inventory.KnownDatabase(ctx, partition)
		if err != nil || known == at.History && !again {
			return err
		}
		if err := r.Redis.NoteDatabase(ctx, partition, forgetful); err != nil {
			return err
		}
		if report, err = r.giveBack(ctx, partition, at.History); err != nil {
			return err
		}
		return r.Redis.NoteDatabase(ctx, partition, at.History)
	})
	r.tell(ctx, partition, &report)
	return report, err
}

// tell counts and logs what was given back, and what was not, also of a pass that has to go on later.
func (r *Redo) tell(ctx context.Context, partition int, report *RedoReport) {
	r.counts.Rows.Add(int64(report.Rows))
	r.counts.Ended.Add(int64(report.Ended))
	r.counts.Payments.Add(int64(report.Payments))
	r.counts.Missing.Add(int64(len(report.Missing)))
	if report.Rows+report.Ended+report.Payments+report.Edited+len(report.Missing) > 0 || report.Added > 0 {
		slog.WarnContext(ctx, "the database lacked what the stream of a partition knows", "partition", partition,
			"rows", report.Rows, "ended", report.Ended, "payments", report.Payments, "added", report.Added,
			"edited", report.Edited, "missing", len(report.Missing))
	}
	for _, m := range report.Missing {
		slog.ErrorContext(ctx, "the database lacks what nobody can give back", "sale", m.Sale, "order", m.Order,
			"what", m.Says)
	}
}

// errUnfit means that Redis has to be made whole first: what it does not know proves nothing then.
var errUnfit = fmt.Errorf("%w: the partition is to be rebuilt first", ErrTransient)

func (r *Redo) giveBack(ctx context.Context, partition int, history string) (report RedoReport, err error) {
	epoch, _, err := r.Sales.PartitionEpoch(ctx, partition)
	if err != nil {
		return report, fmt.Errorf("read epoch: %w", err)
	}
	state, err := r.Redis.State(ctx, partition)
	switch {
	case err != nil:
		return report, fmt.Errorf("read state: %w", err)
	case !state.Exists || state.Rebuilding || state.Epoch != epoch || state.promoted():
		return report, errUnfit
	}
	if err := learnLoaded(ctx, r.Sales, r.Inventory, partition, epoch); err != nil {
		return report, err
	}
	sales, err := r.Sales.LoadedSales(ctx, partition)
	if err != nil {
		return report, fmt.Errorf("list loaded sales: %w", err)
	}
	p := r.pass(partition, history, epoch)
	waiting, waits := r.countUnits(ctx, p, sales, &report)
	if err := r.walk(ctx, partition, p, waiting, &report); err != nil {
		return report, errors.Join(waits, err)
	}
	if err := errors.Join(waits, r.settleStates(ctx, p, sales, waiting, &report)); err != nil {
		return report, err
	}
	delete(r.passes, partition)
	return report, nil
}
