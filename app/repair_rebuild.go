package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	watchEvery = 2 * time.Second
	// looksAtOnce is how many partitions are looked at together, so that those of a server that keeps silent hold up
	// no others. Only one of them is made anew at a time.
	looksAtOnce = 8
)

// Rebuild makes a partition's state in Redis anew from the database, when Redis is empty, or older than what
// the database has already seen (I8):
//
//	pause → next epoch in the database → rows for what the old stream still has → sales from their rows → resume
//
// A database that was promoted may have forgotten that a partition was made anew: then Redis is at a later epoch, which
// the database takes over. It may also have forgotten that sales were loaded, units were added or moved: what Redis
// still knows of that is learnt before it is lost.
//
// From the moment of the next epoch no transaction of the old one can take units, nor write a row. So the rows that are
// read afterwards are all there are, and their units are gone from the stock. Orders go on ending, being paid and
// refunded meanwhile; what that asks of Redis is refused until the partition is open again, and then finds the hold
// that the row had when it was read (see Reconciler). A crash anywhere leaves the partition paused, and the next one
// starts over; of two that believe to have the lock, the one of the later epoch goes on.
type Rebuild struct {
	Partitions int
	Redis      Rebuilder
	Inventory  Inventory
	Orders     OrderStore
	Sales      SaleStore
	Fulfiller  *Fulfiller

	one sync.Mutex // held while a partition is made anew

	mu      sync.Mutex
	checked map[int]bool // partitions of which every loaded sale was seen in Redis; Suspect takes one out
}

// Run looks after all partitions until ctx ends.
func (r *Rebuild) Run(ctx context.Context) error {
	return Repeat(ctx, watchEvery, "look after partitions", r.RunOnce)
}

// RunOnce rebuilds every partition that needs it and learns the epochs of all.
func (r *Rebuild) RunOnce(ctx context.Context) error {
	failed := make([]error, r.Partitions)
	free := make(chan struct{}, looksAtOnce)
	var looks sync.WaitGroup
	for p := range r.Partitions {
		free <- struct{}{}
		looks.Go(func() {
			defer func() { <-free }()
			if err := r.Check(ctx, p); err != nil {
				failed[p] = fmt.Errorf("partition %d: %w", p, err)
			}
		})
	}
	looks.Wait()
	return errors.Join(failed...)
}

// Check rebuilds the partition if it needs it, and in any case makes this node carry its epoch.
func (r *Rebuild) Check(ctx context.Context, partition int) error {
	seen, err := r.look(ctx, partition)
	if err != nil {
		return err
	}
	if seen.why == "" {
		return r.trust(ctx, partition, seen)
	}
	r.one.Lock()
	defer r.one.Unlock()
	return r.Sales.LockRebuild(ctx, partition, func(ctx context.Context) error {
		seen, err := r.look(ctx, partition) // another node may have done it meanwhile
		if err != nil {
			return err
		}
		if s := &seen.redis; s.Exists && s.Epoch > seen.epoch {
			if err := r.distrust(ctx, partition); err != nil {
				return err
			}
		}
		if seen.forgotten() {
			if seen, err = r.adopt(ctx, partition, seen); err != nil {
				return err
			}
		}
		if seen.why == "" {
			return r.trust(ctx, partition, seen)
		}
		epoch, err := r.rebuild(ctx, partition, seen)
		if err != nil {
			return err
		}
		r.Redis.SetEpoch(partition, epoch)
		return nil
	})
}

// forgetful is the history of a database that has been seen to have forgotten something, whatever its name.
const forgetful = "it has forgotten something"

// distrust asks for a Redo of every partition: a database that has forgotten an epoch of one has forgotten rows of all,
// and may be called what it was called before. Of the others it is asked as well as can be: they may be away.
func (r *Rebuild) distrust(ctx context.Context, partition int) error {
	if err := r.Redis.NoteDatabase(ctx, partition, forgetful); err != nil {
		return err
	}
	for p := range r.Partitions {
		if p == partition {
			continue
		}
		if err := r.Redis.NoteDatabase(ctx, p, forgetful); err != nil {
			slog.WarnContext(ctx, "the database has forgotten an epoch, and no redo could be asked for", "partition", p, "err", err)
		}
	}
	return nil
}

// adopt gives the database the epoch of Redis, and looks again. Nobody has got it from the database that has forgotten
// it, so it is still one epoch, with one history of sales. What the database lacks of that, a Redo gives back, which
// was asked for first (distrust); a partition that is made anew from what the database knows would have lost it.
func (r *Rebuild) adopt(ctx context.Context, partition int, found finding) (finding, error) {
	epoch, err := r.Sales.AdvanceEpoch(ctx, partition, found.redis.Epoch-1)
	if err != nil {
		return found, fmt.Errorf("take the epoch of Redis over: %w", err)
	}
	slog.WarnContext(ctx, "the database had forgotten the epoch of a partition", "partition", partition, "was", found.epoch,
		"epoch", epoch)
	return r.look(ctx, partition)
}

func (r *Rebuild) rebuild(ctx context.Context, partition int, found finding) (int64, error) {
	if err := r.Redis.Pause(ctx, partition); err != nil {
		return 0, fmt.Errorf("pause: %w", err)
	}
	if found.redis.Exists {
		if err := r.learn(ctx, partition, found.epoch); err != nil {
			return 0, err
		}
	}
	epoch, err := r.Sales.AdvanceEpoch(ctx, partition, found.redis.Epoch)
	if err != nil {
		return 0, fmt.Errorf("advance epoch: %w", err)
	}
	leftover := 0
	err = r.Redis.Leftover(ctx, partition, func(entries []Entry) error {
		n, err := r.rescue(ctx, epoch, entries)
		leftover += n
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("rescue the old stream: %w", err)
	}
	sales, err := r.Sales.LoadedSales(ctx, partition)
	if err != nil {
		return 0, fmt.Errorf("list loaded sales: %w", err)
	}
	toldUntil, err := r.Sales.ToldUntil(ctx, partition)
	if err != nil {
		return 0, fmt.Errorf("read until when rows were told: %w", err)
	}
	for i := range sales {
		if err := r.restore(ctx, epoch, &sales[i], toldUntil); err != nil {
			return 0, fmt.Errorf("restore sale %s: %w", sales[i].ID, err)
		}
	}
	_, seq, err := r.Sales.PartitionEpoch(ctx, partition)
	if err != nil {
		return 0, fmt.Errorf("read seq: %w", err)
	}
	if err := r.Redis.Resume(ctx, partition, epoch, max(seq, found.redis.Seq)); err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	slog.InfoContext(ctx, "partition rebuilt", "partition", partition, "why", found.why, "epoch", epoch,
		"sales", len(sales), "rescued", leftover)
	return epoch, nil
}

// rescue writes rows for those entries of the old stream that have none. They were answered to their buyers,
// so they go before anything sold under the new epoch.
func (r *Rebuild) rescue(ctx context.Context, epoch int64, entries []Entry) (int, error) {
	ids := make([]ID, 0, len(entries))
	for _, e := range entries {
		if e.Bad == nil {
			ids = append(ids, e.Order)
		}
	}
	rows, err := r.Orders.OrdersByID(ctx, ids)
	if err != nil {
		return 0, fmt.Errorf("read rows: %w", err)
	}
	written := byID(rows)
	missing := make([]Entry, 0, len(entries)-len(rows))
	for _, e := range entries {
		if e.Bad == nil && written[e.Order] == nil {
			e.Epoch = epoch
			missing = append(missing, e)
		}
	}
	if len(missing) == 0 {
		return 0, nil
	}
	if err := r.Fulfiller.rescue(ctx, epoch, missing); err != nil {
		return 0, err
	}
	return len(missing), nil
}
