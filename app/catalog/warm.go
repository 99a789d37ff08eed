package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// WarmAhead is how long before its opening a slot is loaded into Redis.
	WarmAhead = 5 * time.Minute
	// warmTimeout is the time limit of a load. A load may outlive the caller that started it.
	warmTimeout = 10 * time.Second
)

// Warmer is flow 0: it loads a sale's stock into Redis before the sale opens, or when it is first watched. A sale is
// created at most once per epoch of its partition (I7):
//
//	create (unarmed, create-only) → mark loaded in the database, if it was not edited since → arm
//
// After a crash between the steps, the next load repeats them, because an unarmed sale has sold nothing. A sale that is
// marked as loaded but missing in Redis was lost, and only a recovery may restore it.
type Warmer struct {
	Catalogue *Catalogue
	Sales     SaleStore
	Stock     Stock
	Clock     *shop.Clock
	// PartitionEpoch reads the epoch of a partition and the highest seq of its rows.
	PartitionEpoch func(ctx context.Context, partition int) (epoch, seq int64, err error)
	OnLost         func(partition int) // called when a partition needs a recovery

	loads shop.SharedLoad[shop.ID, struct{}]

	mu    sync.Mutex
	armed map[shop.ID]int64 // epochs of the sales that this node has armed
}

// Ensure loads the sale unless it is loaded. Concurrent callers share one load.
func (w *Warmer) Ensure(ctx context.Context, sale shop.ID) error {
	_, err := w.loads.Do(ctx, sale, func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), warmTimeout)
		defer cancel()
		return struct{}{}, w.load(ctx, sale)
	})
	return err
}

func (w *Warmer) load(ctx context.Context, id shop.ID) error {
	sale, err := w.Sales.Sale(ctx, id) // from the database: the snapshot may lack the epoch
	if err != nil {
		return fmt.Errorf("read sale %s: %w", id, err)
	}
	epoch, _, err := w.PartitionEpoch(ctx, sale.Partition)
	if err != nil {
		return fmt.Errorf("read epoch of partition %d: %w", sale.Partition, err)
	}
	if sale.Epoch == 0 {
		state := shop.SaleState{
			Sale: &sale, Stock: sale.Initial + sale.Added - sale.Withdrawn, Withdrawn: sale.Withdrawn,
		}
		if err := w.Stock.Create(ctx, epoch, state); err != nil {
			return fmt.Errorf("create sale %s in Redis: %w", id, err)
		}
		if err := w.Sales.MarkLoaded(ctx, id, epoch, sale.Version); err != nil {
			return fmt.Errorf("mark sale %s loaded: %w", id, err)
		}
	}
	err = w.Stock.Arm(ctx, epoch, sale.Ref())
	if errors.Is(err, shop.ErrLost) && w.OnLost != nil {
		w.OnLost(sale.Partition)
	}
	if err != nil {
		return fmt.Errorf("arm sale %s: %w", id, err)
	}
	w.mu.Lock()
	if w.armed == nil {
		w.armed = make(map[shop.ID]int64)
	}
	w.armed[id] = epoch
	w.mu.Unlock()
	return nil
}

// RunOnce loads the sales that open within WarmAhead or are open, unless this node has loaded them already.
func (w *Warmer) RunOnce(ctx context.Context) error {
	now := w.Clock.Now()
	slots, err := w.Catalogue.SlotsBetween(ctx, now, now.Add(WarmAhead))
	if err != nil {
		return err
	}
	var failed []error
	for _, slot := range slots {
		sales, err := w.Catalogue.SalesOfSlot(ctx, slot.ID)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, sale := range sales {
			if !w.isArmed(sale.ID) {
				failed = append(failed, w.Ensure(ctx, sale.ID))
			}
		}
	}
	return errors.Join(failed...)
}

func (w *Warmer) isArmed(sale shop.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.armed[sale]
	return ok
}

// Run warms up sales every second until ctx ends.
func (w *Warmer) Run(ctx context.Context) error {
	return shop.Repeat(ctx, time.Second, "warm up", w.RunOnce)
}
