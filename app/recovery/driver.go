package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

const (
	checkEvery = 2 * time.Second
	// maxConcurrentChecks is how many partitions are checked concurrently, so that partitions of an unreachable server
	// do not delay the others. Recoveries run one at a time.
	maxConcurrentChecks = 8
	pageSize            = 2000 // orders
)

// Driver checks all partitions of a node and recovers them when needed.
type Driver struct {
	Partitions int
	Store      *store.Store
	Redis      *streams.Inventory
	// PayWindow is the time to pay for an order that is written again and has no deadline. Margin is how long before a
	// deadline the gateway stops accepting payments.
	PayWindow, Margin time.Duration
	// Spread is the period over which the gateway queries about pending orders are distributed. The field
	// MinTimePerOrder is the minimum time per order: many orders extend the period.
	Spread, MinTimePerOrder time.Duration
	// Trust is called before this node works on another history of the database. After the call, the node uses only the
	// server of that history. It mints no id and writes no row under the previous history. Nil: no callback.
	Trust func(ctx context.Context, server string, generation int64) error
	// Node is the lease of this node; nil: a command.
	Node *store.NodeLease

	shopID     atomic.Pointer[string] // of the database; nil: not read yet
	counts     Counts
	recovering sync.Mutex // held while a partition is recovered
	trusted    atomic.Pointer[shop.DatabaseHistory]
	blocked    atomic.Pointer[error] // why this node must not work on its database; nil: no reason

	uncertain atomic.Bool // the last check of the database failed or found lost commits

	mu      sync.Mutex
	checked map[int]bool // partitions whose loaded sales were all found in Redis; Suspect removes one
	// inspected has the generation under which each partition was marked as inspected.
	inspected map[int]int64
}

// Counts has the totals of the recoveries by this node.
type Counts struct {
	Passes   atomic.Int64 // partitions that were recovered
	Written  atomic.Int64 // orders that the database had lost, written again
	Ended    atomic.Int64 // orders that were ended again: their rows were pending again
	Problems atomic.Int64 // open problems for an operator to settle, in all partitions, at the last beat
}

// Counts returns the totals for metrics.
func (d *Driver) Counts() *Counts { return &d.counts }

// ErrReplaced means that the database server was replaced by another one and lacks the later commits.
var ErrReplaced = errors.New("the database server was replaced")

// Blocked returns why this node must not work on its database; nil: no reason.
func (d *Driver) Blocked() error {
	if err := d.blocked.Load(); err != nil {
		return *err
	}
	return nil
}

// Database returns the history that this node works on, with the server's last reported state.
func (d *Driver) Database() shop.DatabaseHistory {
	if h := d.trusted.Load(); h != nil {
		return *h
	}
	return shop.DatabaseHistory{}
}

// Risk describes a database problem for operators; "": none.
func (d *Driver) Risk() string {
	switch {
	case d.Blocked() != nil:
		return "its database server was replaced by another one"
	case d.Database().Fallback:
		return "semi-synchronous replication is not active, so a failover may lose orders"
	}
	return ""
}

// Durable reports that no failover of the database loses a commit, according to the last look at its server.
func (d *Driver) Durable() bool {
	h := d.Database()
	return d.Certain() && (h.Lossless || h.Single)
}

// Certain reports whether this node trusts the history of its database. Data that a recovery would need is trimmed only
// while Certain returns true.
func (d *Driver) Certain() bool {
	return d.Blocked() == nil && !d.uncertain.Load()
}

// Run checks all partitions until ctx ends, and then records that the node stopped as planned.
func (d *Driver) Run(ctx context.Context) error {
	err := shop.Repeat(ctx, checkEvery, "check partitions", d.RunOnce)
	if d.Certain() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkEvery)
		defer cancel()
		err = errors.Join(err, d.Store.History().Stop(ctx, d.Database()))
	}
	return err
}

// RunOnce checks all partitions and raises the beat, even while a partition is unavailable.
func (d *Driver) RunOnce(ctx context.Context) error {
	checkErr := d.Check(ctx)
	if !d.Certain() {
		return checkErr
	}
	return errors.Join(checkErr, d.recordBeat(ctx))
}

// Check checks the database and all partitions, recovers them if needed, and makes this node work on the resulting
// history. If the database may have lost commits, the node switches only after the last reachable partition is
// recovered. Until then this node ends, settles and refunds no order of the promoted database.
func (d *Driver) Check(ctx context.Context) error {
	h, err := d.history(ctx)
	if err != nil {
		return err
	}
	epochs, behind := make([]int64, d.Partitions), make([]bool, d.Partitions)
	checkErr := d.eachPartition(d.All(), func(p int) (err error) {
		epochs[p], behind[p], err = d.check(ctx, p, h)
		return err
	})
	if slices.Contains(behind, true) {
		d.uncertain.Store(true)
		return checkErr
	}
	if err := d.switchTo(ctx, h); err != nil {
		return errors.Join(checkErr, err)
	}
	for p, epoch := range epochs {
		if epoch > 0 {
			d.Redis.SetEpoch(p, epoch)
		}
	}
	return checkErr
}

// eachPartition runs work for the partitions, at most maxConcurrentChecks at a time.
func (d *Driver) eachPartition(partitions []int, work func(p int) error) error {
	return shop.Concurrently(maxConcurrentChecks, len(partitions), func(i int) error {
		if err := work(partitions[i]); err != nil {
			return fmt.Errorf("partition %d: %w", partitions[i], err)
		}
		return nil
	})
}

// check recovers the partition if needed and returns its epoch. behind: the recovery failed, and the database may have
// lost commits of the partition.
func (d *Driver) check(
	ctx context.Context, partition int, h shop.DatabaseHistory,
) (epoch int64, behind bool, err error) {
	found, err := d.inspect(ctx, partition, h)
	if err != nil {
		return 0, false, err
	}
	if !found.lost() {
		epoch, err = d.confirm(ctx, partition, h, found)
		return epoch, false, err
	}
	d.recovering.Lock()
	defer d.recovering.Unlock()
	err = d.Store.Partitions().LockPartition(ctx, partition, func(ctx context.Context) error {
		again, err := d.inspect(ctx, partition, h) // another node may have recovered it meanwhile
		switch {
		case err != nil:
		case again.lost():
			epoch, _, err = d.recoverPartition(ctx, partition, h, again)
		default:
			epoch, err = d.confirm(ctx, partition, h, again)
		}
		return err
	})
	return epoch, err != nil && found.database, err
}

// confirm opens the partition without a recovery.
func (d *Driver) confirm(
	ctx context.Context, partition int, h shop.DatabaseHistory, f finding,
) (epoch int64, err error) {
	if f.redis.History != f.redis.Confirmed {
		if err := d.Redis.Recovery().Confirm(ctx, partition, f.redis); err != nil {
			return 0, fmt.Errorf("confirm: %w", err)
		}
		slog.InfoContext(ctx, "Redis began another history, and nothing is missing in it", "partition", partition,
			"epoch", f.epoch, "seq", f.redis.Seq)
	}
	return f.epoch, d.markInspected(ctx, partition, h.Generation)
}

// markInspected permits changes of the partition's orders under the generation.
func (d *Driver) markInspected(ctx context.Context, partition int, generation int64) error {
	d.mu.Lock()
	known, done := d.inspected[partition]
	d.mu.Unlock()
	if done && known >= generation {
		return nil
	}
	if err := d.Store.Partitions().MarkInspected(ctx, partition, generation); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inspected == nil {
		d.inspected = make(map[int]int64)
	}
	d.inspected[partition] = generation
	return nil
}

// Recover recovers the partitions on request, even if inspect finds no loss, and returns one report for all of them.
func (d *Driver) Recover(ctx context.Context, partitions ...int) (all Report, err error) {
	h, err := d.workOnHistory(ctx)
	if err != nil {
		return all, err
	}
	for _, p := range partitions {
		err := d.Store.Partitions().LockPartition(ctx, p, func(ctx context.Context) error {
			found, err := d.inspect(ctx, p, h)
			if err != nil {
				return err
			}
			found.database = true
			epoch, report, err := d.recoverPartition(ctx, p, h, found)
			all.add(report)
			if err == nil {
				d.Redis.SetEpoch(p, epoch)
			}
			return err
		})
		if err != nil {
			return all, fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return all, nil
}

// Accept lets a replaced database server be used again.
func (d *Driver) Accept(ctx context.Context, server string) error {
	for _, p := range d.All() {
		if err := d.Redis.Recovery().AcceptServer(ctx, p, server); err != nil {
			return err
		}
	}
	return nil
}

// Restore recovers all partitions after backups of the stores were restored. It begins a generation, because the stores
// need not show lost writes, and accepts the server, also if it was replaced before.
func (d *Driver) Restore(ctx context.Context) (Report, error) {
	redis := d.recordedStates(ctx)
	h, err := d.Store.History().Read(ctx)
	if err == nil {
		err = d.requireOwn(ctx, redis)
	}
	if err == nil && h.UnfitReason != "" {
		err = fmt.Errorf("the database cannot be recovered yet: %s", h.UnfitReason)
	}
	if err != nil {
		return Report{}, err
	}
	if err := d.Accept(ctx, h.Server); err != nil {
		return Report{}, err
	}
	if err := d.beginGeneration(ctx, h, redis); err != nil {
		return Report{}, err
	}
	return d.Recover(ctx, d.All()...)
}

// All returns the numbers of all partitions.
func (d *Driver) All() []int {
	all := make([]int, d.Partitions)
	for p := range all {
		all[p] = p
	}
	return all
}

// watch returns the schedule of the gateway queries about orders; nil if the shop never had a gateway.
func (d *Driver) watch(ctx context.Context, now shop.Millis) (*shop.PaymentWatch, error) {
	gateway, err := d.Store.Settings().Gateway(ctx)
	if err != nil || gateway.Name == "" {
		return nil, err
	}
	return &shop.PaymentWatch{Now: now, Margin: d.Margin, Spread: d.Spread, PerOrder: d.MinTimePerOrder}, nil
}

// Suspect makes the next inspection check every loaded sale of the partition, like the first inspection.
func (d *Driver) Suspect(partition int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.checked, partition)
}
