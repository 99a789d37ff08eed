package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
)

const (
	reconcileEvery = 5 * time.Second
	reconcileBatch = 1000
	// lateAfter is how long the quick way (sweep, consumer) has before the slow scan steps in.
	lateAfter = 3 * time.Second
	// holdsPerScan bounds what one scan reads: a few thousand open orders are all looked at each time, and for half a
	// million a turn takes minutes, instead of reading them all every five seconds beside those who buy.
	holdsPerScan = 5000
)

// Reconciler is flow 5: the slow scan that finds what the quick ways lost. It repairs only what a committed
// row proves; everything else is for the audit to report.
type Reconciler struct {
	Partitions int
	Redis      Redis
	Store      Store
	Effects    *order.Effects

	// at is the sale, and place in its holds, at which the next scan goes on; zero: at the first. count is the recount
	// of that sale, nil when it is not counted this turn.
	at    shop.SaleRef
	place uint64
	count *recount

	mu         sync.Mutex
	suspicions map[shop.ID]suspicion // what the last turns found wrong
	corrected  atomic.Int64
}

// Run scans until ctx ends.
func (r *Reconciler) Run(ctx context.Context) error {
	return shop.Repeat(ctx, reconcileEvery, "reconcile", r.RunOnce)
}

// RunOnce scans once: deadlines that the delay queue lost, states that were not told, holds whose order has ended,
// counts without a hold, and sales whose time is over.
func (r *Reconciler) RunOnce(ctx context.Context) error {
	now, err := r.Redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	return errors.Join(r.overdue(ctx, now), r.untold(ctx, now), r.sales(ctx, now))
}

// overdue puts pending orders whose deadline has passed back into the delay queue, where the sweeper finds them.
func (r *Reconciler) overdue(ctx context.Context, now shop.Millis) error {
	return r.eachPartition("list overdue orders",
		func(but []int) ([]shop.Order, error) {
			return r.Store.Overdue(ctx, now.Add(-lateAfter), reconcileBatch, but...)
		},
		func(rows []*shop.Order) error { return r.Effects.Schedule(ctx, rows) })
}

func (r *Reconciler) untold(ctx context.Context, now shop.Millis) error {
	return r.eachPartition("list untold orders",
		func(but []int) ([]shop.Order, error) {
			return r.Store.Untold(ctx, now.Add(-lateAfter), reconcileBatch, but...)
		},
		func(rows []*shop.Order) error { return r.Effects.Tell(ctx, now, rows) })
}

// eachPartition repairs the listed rows by partition. Rows of a partition whose primary is away stay the oldest, so a
// full list is read again without that partition.
func (r *Reconciler) eachPartition(
	what string, list func(but []int) ([]shop.Order, error), repair func([]*shop.Order) error,
) error {
	var failed []error
	var away []int
	for {
		rows, err := list(away)
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("%s: %w", what, err))...)
		}
		known := len(away)
		for partition, some := range shop.ByPartition(shop.Pointers(rows)) {
			if err := repair(some); err != nil {
				failed, away = append(failed, err), append(away, partition)
			}
		}
		if len(rows) < reconcileBatch || len(away) == known {
			return errors.Join(failed...)
		}
	}
}

func (r *Reconciler) sales(ctx context.Context, now shop.Millis) error {
	var failed []error
	var all []shop.SaleRef
	for p := range r.Partitions {
		sales, err := r.Store.LoadedSales(ctx, p)
		if err != nil {
			failed = append(failed, fmt.Errorf("list sales of partition %d: %w", p, err))
			continue
		}
		for i := range sales {
			all = append(all, sales[i].Ref())
			failed = append(failed, r.retire(ctx, &sales[i], now))
		}
	}
	ids := shop.Mapped(all, func(s shop.SaleRef) shop.ID { return s.ID })
	free, err := r.Store.FreeUnits(ctx, ids) // before any hold is read, see recount
	return errors.Join(append(failed, err, r.orphans(ctx, all, free))...)
}

// orphans looks after holds that do not say what their order has become, because whoever ended it, or saw it paid, did
// not live to do the rest: it returns the units or counts them as sold. It goes on where the last scan has stopped,
// and stops after a whole turn or holdsPerScan. free is what the database has left of each sale.
func (r *Reconciler) orphans(ctx context.Context, sales []shop.SaleRef, free map[shop.ID]int64) error {
	first := slices.Index(sales, r.at)
	if first < 0 { // the first scan, or the sale was retired meanwhile
		first, r.place, r.count = 0, 0, nil
	}
	var failed []error
	read := 0
	for i := 0; i < len(sales) && read < holdsPerScan; i++ {
		r.at = sales[(first+i)%len(sales)]
		n, err := r.orphansOf(ctx, r.at, holdsPerScan-read, free)
		if err != nil {
			failed = append(failed, err)
			r.place, r.count = 0, nil
		}
		if r.place == 0 {
			r.at = sales[(first+i+1)%len(sales)]
		}
		read += n
	}
	return errors.Join(failed...)
}

// orphansOf looks at the holds of one sale from place on, to the end, where place is 0, or about most of them.
func (r *Reconciler) orphansOf(
	ctx context.Context, sale shop.SaleRef, most int, free map[shop.ID]int64,
) (read int, err error) {
	if r.place == 0 {
		if r.count, err = r.begin(ctx, sale, free); err != nil {
			return 0, err
		}
	}
	for {
		holds, next, err := r.Redis.Holds(ctx, sale, r.place)
		if err != nil {
			return read, fmt.Errorf("scan holds of sale %s: %w", sale.ID, err)
		}
		if err := r.catchUp(ctx, sale, holds); err != nil {
			return read, err
		}
		read, r.place = read+len(holds), next
		if next == 0 {
			return read, r.conclude(ctx, r.count)
		}
		if read >= most {
			return read, nil
		}
	}
}

func (r *Reconciler) catchUp(ctx context.Context, sale shop.SaleRef, holds []shop.OpenHold) error {
	if len(holds) == 0 {
		return nil
	}
	held := make(map[shop.ID]shop.OpenHold, len(holds))
	ids := make([]shop.ID, len(holds))
	for i, h := range holds {
		held[h.Order], ids[i] = h, h.Order
	}
	rows, err := r.Store.OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read orders of sale %s: %w", sale.ID, err)
	}
	r.count.add(holds, rows)
	var moved []*shop.Order
	for _, row := range rows {
		switch h := held[row.ID]; {
		case row.LacksRevival(h): // the database has lost it: see app/recovery
		case !row.HoldsUnits() && h.Sold && row.TradeNo == "": // refunded by a commit that the database has lost
			gone := []shop.SoldHold{{Sale: row.Ref(), Order: row.ID, Hold: h.Hold}}
			if _, err := r.Redis.Withdraw(ctx, gone); err != nil {
				return err
			}
		case !row.HoldsUnits():
			if err := r.returnEnded(ctx, row, h); err != nil {
				return err
			}
		case row.State.Sold() && !h.Sold:
			moved = append(moved, &row)
		case row.State == shop.Refunded:
			row.Hold = h.Hold
			moved = append(moved, &row)
		}
	}
	return r.Effects.Units(ctx, moved)
}

// returnEnded returns the units of a hold whose order has ended.
func (r *Reconciler) returnEnded(ctx context.Context, row shop.Order, h shop.OpenHold) error {
	if row.Hold == h.Hold && row.State == shop.Refused {
		// A replay may be about to revive the row under this very hold. Taking the next number first
		// makes that impossible (I3).
		if _, err := r.Store.ClaimHold(ctx, row.ID, row.State); err != nil && !errors.Is(err, shop.ErrArchived) {
			return nil // revived just now, or for the next scan
		}
	}
	row.Hold = h.Hold
	return r.Effects.Units(ctx, []*shop.Order{&row})
}

// retire lets the keys of a sale go when it ended long ago and nothing of it is under way (I7).
func (r *Reconciler) retire(ctx context.Context, sale *shop.Sale, now shop.Millis) error {
	if now < sale.ClosesAt.Add(shop.RetireAfter) {
		return nil
	}
	totals, err := r.Store.SaleTotals(ctx, sale.ID)
	if err != nil || totals.PendingRows > 0 {
		return err
	}
	// Not marked, after a crash here or because a recovery came between, the sale is retired again; until then its
	// window answers for it (see Checkout.reserve).
	gone, err := r.Redis.Retire(ctx, sale.Ref())
	if err != nil || !gone {
		return err
	}
	return r.Store.MarkRetired(ctx, sale.ID, sale.Epoch)
}
