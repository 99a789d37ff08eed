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
	"stampede/app/store"
	"stampede/streams"
)

const (
	reconcileEvery = 5 * time.Second
	reconcileBatch = 1000
	// lateAfter is the time for the fast path (sweep, consumer) before the slow scan repairs.
	lateAfter = 3 * time.Second
	// holdsPerScan limits the holds that one scan reads, because scans compete with buyers. A few thousand open orders
	// are read every time; for half a million a cycle takes minutes.
	holdsPerScan = 5000
)

// Reconciler is flow 5: the slow scan that repairs the losses of the fast paths. It repairs only differences that a
// committed row proves; the audit reports the others.
type Reconciler struct {
	Partitions int
	Store      *store.Store
	Redis      *streams.Inventory
	Effects    *order.Effects

	position scanPosition
	count    *recount // of the sale at the position; nil: the sale is not counted in this cycle

	mu         sync.Mutex
	suspicions map[shop.ID]suspicion // differences found by the last cycles
	corrected  atomic.Int64
}

// Run scans until ctx ends.
func (r *Reconciler) Run(ctx context.Context) error {
	return shop.Repeat(ctx, reconcileEvery, "reconcile", r.RunOnce)
}

// RunOnce scans once: deadlines that the delay queue lost, unpublished states, holds of ended orders, counts without a
// hold, and sales to retire.
func (r *Reconciler) RunOnce(ctx context.Context) error {
	now, err := r.Redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	return errors.Join(r.overdue(ctx, now), r.unpublished(ctx, now), r.sales(ctx, now))
}

// overdue puts pending orders with a passed deadline back into the delay queue for the sweeper.
func (r *Reconciler) overdue(ctx context.Context, now shop.Millis) error {
	return r.eachPartition("list overdue orders",
		func(except []int) ([]shop.Order, error) {
			return r.Store.Orders().Overdue(ctx, now.Add(-lateAfter), reconcileBatch, except...)
		},
		func(rows []*shop.Order) error { return r.Effects.Schedule(ctx, rows) })
}

// unpublished publishes states of orders that were not published in time.
func (r *Reconciler) unpublished(ctx context.Context, now shop.Millis) error {
	return r.eachPartition("list unpublished orders",
		func(except []int) ([]shop.Order, error) {
			return r.Store.Orders().Unpublished(ctx, now.Add(-lateAfter), reconcileBatch, except...)
		},
		func(rows []*shop.Order) error { return r.Effects.Publish(ctx, now, rows) })
}

// eachPartition repairs the listed rows by partition. Rows of a partition whose primary is unavailable stay the oldest,
// so a full list is read again without that partition.
func (r *Reconciler) eachPartition(
	task string, list func(except []int) ([]shop.Order, error), repair func([]*shop.Order) error,
) error {
	var failed []error
	var unreachable []int
	for {
		rows, err := list(unreachable)
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("%s: %w", task, err))...)
		}
		before := len(unreachable)
		for partition, partitionRows := range shop.ByPartition(shop.Pointers(rows)) {
			if err := repair(partitionRows); err != nil {
				failed, unreachable = append(failed, err), append(unreachable, partition)
			}
		}
		if len(rows) < reconcileBatch || len(unreachable) == before {
			return errors.Join(failed...)
		}
	}
}

// sales retires sales that ended long ago, and repairs the holds of the loaded sales.
func (r *Reconciler) sales(ctx context.Context, now shop.Millis) error {
	var failed []error
	var all []shop.SaleRef
	for p := range r.Partitions {
		sales, err := r.Store.Sales().LoadedSales(ctx, p)
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
	free, err := r.Store.Sales().FreeUnits(ctx, ids) // before any hold is read, see recount
	return errors.Join(append(failed, err, r.repairHolds(ctx, all, free))...)
}

// repairHolds repairs holds whose order has ended or is paid: the process that changed the order crashed before its
// effects. It returns the units or counts them as sold. free has the free units of each sale in the database.
func (r *Reconciler) repairHolds(ctx context.Context, sales []shop.SaleRef, free map[shop.ID]int64) error {
	return r.position.scan(sales, func(sale shop.SaleRef, cursor uint64) (read int, next uint64, err error) {
		if cursor == 0 {
			if r.count, err = r.beginRecount(ctx, sale, free); err != nil {
				return 0, 0, err
			}
		}
		holds, next, err := r.Redis.Stock().Holds(ctx, sale, cursor)
		if err != nil {
			return 0, 0, fmt.Errorf("scan holds of sale %s: %w", sale.ID, err)
		}
		if err := r.repairBatch(ctx, sale, holds); err != nil {
			return 0, 0, err
		}
		if next == 0 {
			err = r.conclude(ctx, r.count)
		}
		return len(holds), next, err
	})
}

// scanPosition is where the next scan of holds continues.
type scanPosition struct {
	sale   shop.SaleRef // zero: the first sale
	cursor uint64       // in the holds of the sale
}

// scan reads pages of holds from the position on, until each sale was read or holdsPerScan holds were read. page reads
// one page; its next cursor is 0 at the end of a sale. After an error, the scan continues with the next sale.
func (p *scanPosition) scan(
	sales []shop.SaleRef, page func(sale shop.SaleRef, cursor uint64) (read int, next uint64, err error),
) error {
	if len(sales) == 0 {
		return nil
	}
	at := slices.Index(sales, p.sale)
	if at < 0 { // the first scan, or the sale was retired meanwhile
		at, p.cursor = 0, 0
	}
	var failed []error
	for scanned, holds := 0, 0; scanned < len(sales) && holds < holdsPerScan; {
		read, next, err := page(sales[at], p.cursor)
		if err != nil {
			failed, next = append(failed, err), 0
		}
		holds, p.cursor = holds+read, next
		if next == 0 {
			scanned, at = scanned+1, (at+1)%len(sales)
		}
	}
	p.sale = sales[at]
	return errors.Join(failed...)
}

func (r *Reconciler) repairBatch(ctx context.Context, sale shop.SaleRef, holds []shop.OpenHold) error {
	if len(holds) == 0 {
		return nil
	}
	byOrder := make(map[shop.ID]shop.OpenHold, len(holds))
	ids := make([]shop.ID, len(holds))
	for i, h := range holds {
		byOrder[h.Order], ids[i] = h, h.Order
	}
	rows, err := r.Store.Orders().OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read orders of sale %s: %w", sale.ID, err)
	}
	r.count.add(holds, rows)
	var moved []*shop.Order
	for _, row := range rows {
		switch h := byOrder[row.ID]; {
		case row.LostRevival(h): // the database has lost the revival: see compare.go
		case !row.HoldsUnits() && h.Sold && row.TradeNo == "": // refunded by a commit that the database has lost
			removed := []shop.SoldHold{{Sale: row.Ref(), Order: row.ID, Hold: h.Hold}}
			if _, err := r.Redis.Stock().Withdraw(ctx, removed); err != nil {
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

func (r *Reconciler) returnEnded(ctx context.Context, row shop.Order, h shop.OpenHold) error {
	if row.Hold == h.Hold && row.State == shop.Refused {
		// A replay may be about to revive the row under this hold. Claiming the next number first prevents that (I3).
		if _, err := r.Store.Orders().ClaimHold(ctx, row.ID, row.State); err != nil {
			return nil // revived meanwhile, or left to the next scan
		}
	}
	row.Hold = h.Hold
	return r.Effects.Units(ctx, []*shop.Order{&row})
}

// retire removes the keys of a sale that ended long ago and has no orders in progress (I7).
func (r *Reconciler) retire(ctx context.Context, sale *shop.Sale, now shop.Millis) error {
	if now < sale.ClosesAt.Add(shop.RetireAfter) {
		return nil
	}
	totals, err := r.Store.Sales().SaleTotals(ctx, sale.ID)
	if err != nil || totals.PendingRows > 0 {
		return err
	}
	// If the mark is missing after a crash or a recovery, the sale is retired again. Until then order.Checkout rejects
	// buys, because the sale has closed.
	removed, err := r.Redis.Stock().Retire(ctx, sale.Ref())
	if err != nil || !removed {
		return err
	}
	return r.Store.Sales().MarkRetired(ctx, sale.ID, sale.Epoch)
}
