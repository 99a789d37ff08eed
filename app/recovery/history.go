package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"stampede/app/shop"
)

// history reads the history of the database, and starts a generation if the database may have lost commits.
// ErrReplaced: the server must not be used.
func (d *Driver) history(ctx context.Context) (h shop.DatabaseHistory, err error) {
	defer func() { d.uncertain.Store(err != nil) }()
	// The recorded histories are read first: a database that has lost nothing is never behind them.
	redis := d.recordedStates(ctx)
	if h, err = d.Store.History().Read(ctx); err != nil {
		d.Store.History().Pin("", 0) // the next check may reach another server
		return h, err
	}
	d.Store.History().Pin(h.Server, h.Generation)
	if err := d.requireOwn(ctx, redis); err != nil {
		return h, err
	}
	recorded := redis.histories()
	if by, found := replacedBy(h, recorded); found {
		err := fmt.Errorf("%w: %s by %s (generation %d); connect this node to that one, or run `stampede recover "+
			"--accept %s` to use the old one on purpose", ErrReplaced, h.Server, by.Server, by.Generation, h.Server)
		d.blocked.Store(&err)
		return h, errors.Join(err, d.switchTo(ctx, shop.DatabaseHistory{Server: by.Server, Generation: by.Generation}))
	}
	d.blocked.Store(nil)
	if lostBy(h, recorded) {
		if h.UnfitReason != "" {
			return h, fmt.Errorf("%w: the database has lost commits, and cannot be recovered yet: %s", shop.ErrTransient,
				h.UnfitReason)
		}
		if err := d.beginGeneration(ctx, h, redis); err != nil {
			return h, err
		}
		if h, err = d.Store.History().Read(ctx); err != nil {
			return h, err
		}
		d.Store.History().Pin(h.Server, h.Generation)
		if lostBy(h, recorded) {
			return h, fmt.Errorf("%w: another generation of the database begins", shop.ErrTransient)
		}
	}
	return h, nil
}

// recordedStates are the states of the reachable partitions.
type recordedStates map[int]shop.PartitionState

// recordedStates reads the states of the partitions. Unreachable partitions are omitted: they are compared when
// they are reachable.
func (d *Driver) recordedStates(ctx context.Context) recordedStates {
	states := make(recordedStates)
	var mu sync.Mutex
	_ = d.eachPartition(d.All(), func(p int) error {
		s, err := d.Redis.Recovery().State(ctx, p)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		states[p] = s
		return nil
	})
	return states
}

// histories returns the recorded histories of the database.
func (r recordedStates) histories() (recorded []shop.RecordedHistory) {
	for _, s := range r {
		if s.Database.Server != "" {
			recorded = append(recorded, s.Database)
		}
	}
	return recorded
}

// replacedBy reports whether the server was replaced: another server has a later generation that replaced it, or a
// recovery has started on another server.
func replacedBy(h shop.DatabaseHistory, recorded []shop.RecordedHistory) (by shop.RecordedHistory, found bool) {
	for _, r := range recorded {
		if r.Generation > h.Generation && r.Generation > by.Generation && slices.Contains(r.Replaced, h.Server) {
			by, found = r, true
		}
		if r.Server == h.Server && r.ClaimServer != h.Server && r.ClaimGeneration > max(h.Generation, by.Generation) {
			by, found = shop.RecordedHistory{Server: r.ClaimServer, Generation: r.ClaimGeneration}, true
		}
	}
	return by, found
}

// lostBy reports whether the database may lack commits: the server is not the one of the last recovery, or it is behind
// the recorded history. A generation that a partition has not reached yet is not a loss: its recovery is in progress.
func lostBy(h shop.DatabaseHistory, recorded []shop.RecordedHistory) bool {
	return h.Server != h.RecoveredServer || slices.ContainsFunc(recorded, func(r shop.RecordedHistory) bool {
		return r.Generation > h.Generation || r.Generation == h.Generation && (r.Server != h.Server || r.Beat > h.Beat)
	})
}

// beginGeneration starts a generation, with a doubt about the payments of all pending orders. From then on, no
// transaction of an older epoch takes units, in any partition.
func (d *Driver) beginGeneration(
	ctx context.Context, h shop.DatabaseHistory, redis recordedStates,
) error {
	now, err := d.now(ctx)
	if err != nil {
		return err
	}
	// Two restores of the same backups must not begin the same generation: no store has the first one, but buyers have
	// seen its revs.
	above := max(h.Generation, int64(now)/100)
	epochs := make(map[int]int64, len(redis))
	for p, s := range redis {
		above = max(above, s.Database.Generation, s.Database.ClaimGeneration)
		epochs[p] = s.Epoch
	}
	watched, err := d.watchPending(ctx, now)
	if err != nil {
		return err
	}
	err = d.Store.History().NewGeneration(ctx, h, above, epochs, now)
	if errors.Is(err, shop.ErrStaleEpoch) {
		return nil // another node has started it
	}
	if err != nil {
		return fmt.Errorf("begin a generation: %w", err)
	}
	slog.WarnContext(ctx, "another history of the database began: a replica was promoted, or a backup restored",
		"server", h.Server, "was", h.RecoveredServer, "above", above, "watched", watched)
	return nil
}

// watchPending schedules gateway queries about every pending order, and returns how many were not watched before. It
// runs before a doubt begins, so that no order of the doubt is missing.
func (d *Driver) watchPending(ctx context.Context, now shop.Millis) (watched int, err error) {
	watch, err := d.watch(ctx, now)
	if err != nil || watch == nil {
		return 0, err
	}
	if watched, err = d.Store.Payments().WatchPayments(ctx, *watch); err != nil {
		return 0, fmt.Errorf("watch pending orders for payments: %w", err)
	}
	return watched, nil
}

// switchTo makes this node work on the history.
func (d *Driver) switchTo(ctx context.Context, h shop.DatabaseHistory) error {
	if old := d.trusted.Load(); d.Trust != nil &&
		(old == nil || old.Server != h.Server || old.Generation != h.Generation) {
		if err := d.Trust(ctx, h.Server, h.Generation); err != nil {
			return fmt.Errorf("work on generation %d of database server %s: %w", h.Generation, h.Server, err)
		}
	}
	d.trusted.Store(&h)
	return nil
}

// workOnHistory makes this node work on the current history of its database: the revs of the rows that a command writes
// depend on the generation.
func (d *Driver) workOnHistory(ctx context.Context) (h shop.DatabaseHistory, err error) {
	if h, err = d.history(ctx); err == nil {
		err = d.switchTo(ctx, h)
	}
	return h, err
}

// recordBeat raises the beat and records it in each partition. An unreachable partition gets a later beat. After a gap,
// a doubt begins.
func (d *Driver) recordBeat(ctx context.Context) error {
	now, err := d.now(ctx)
	if err != nil {
		now = 0 // Redis is unreachable: the database's clock counts
	}
	h, watched := d.Database(), 0
	gap := h.Gap
	if gap {
		if watched, err = d.watchPending(ctx, now); err != nil {
			return err
		}
	}
	if h, err = d.Store.History().RaiseBeat(ctx, h, now); err != nil {
		return err
	}
	if gap {
		slog.WarnContext(ctx, "no beat was raised for more than a minute: a backup may have been restored", "watched", watched)
	}
	problems, err := d.Store.Problems().Count(ctx)
	if err != nil {
		return err
	}
	d.counts.Problems.Store(problems)
	return d.eachPartition(d.All(), func(p int) error {
		epoch, changes, err := d.Redis.Recovery().RecordDatabase(ctx, p, h)
		if err != nil {
			return err
		}
		return d.Store.Partitions().RaiseChanges(ctx, p, epoch, changes)
	})
}

func (d *Driver) now(ctx context.Context) (shop.Millis, error) {
	now, err := d.Redis.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	return now, nil
}
