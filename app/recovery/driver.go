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
)

const (
	lookEvery = 2 * time.Second
	// looksAtOnce is how many partitions are looked at together, so that those of a server that keeps silent hold up
	// no others. Only one of them is recovered at a time.
	looksAtOnce = 8
	pageSize    = 2000 // orders
)

// Driver looks after all partitions of a node, and recovers those that need it.
type Driver struct {
	Partitions int
	Store      Store
	Redis      Redis
	// TakesPayments: there is a gateway, which knows what the stores have lost of payments.
	TakesPayments bool
	// PayWindow is the time to pay of an order that is written again and has no deadline; Margin is how long before a
	// deadline the gateway stops taking money.
	PayWindow, Margin time.Duration
	// Spread is the time over which the gateway is asked about the orders that were pending; of many, one each Each.
	Spread, Each time.Duration
	// Trust is called before this node works on another history of the database: only its server may be used, and
	// nothing is minted or written under the one before. Nil: nobody has to know.
	Trust func(ctx context.Context, server string, generation int64) error

	counts  Counts
	one     sync.Mutex // held while a partition is recovered
	trusted atomic.Pointer[shop.DatabaseHistory]
	barred  atomic.Pointer[error] // why this node may not work on its database; nil: it may

	doubt atomic.Bool // the last look at the database failed, or found that it has lost commits

	mu      sync.Mutex
	checked map[int]bool // partitions of which every loaded sale was seen in Redis; Suspect takes one out
}

// Counts are what this node has recovered.
type Counts struct {
	Passes   atomic.Int64 // partitions that were recovered
	Written  atomic.Int64 // orders that the database had lost, written again
	Ended    atomic.Int64 // orders that had ended and were pending again
	SetAside atomic.Int64 // entries that became dead letters
	Problems atomic.Int64 // what an operator has to settle
}

// Counts are for metrics.
func (d *Driver) Counts() *Counts { return &d.counts }

// ErrReplaced means that the database server was replaced by another one and lacks what was done since.
var ErrReplaced = errors.New("the database server was replaced")

// Barred is why this node may not work on its database; nil: it may.
func (d *Driver) Barred() error {
	if err := d.barred.Load(); err != nil {
		return *err
	}
	return nil
}

// Database is the history that this node works on, with what the server said of itself last.
func (d *Driver) Database() shop.DatabaseHistory {
	if h := d.trusted.Load(); h != nil {
		return *h
	}
	return shop.DatabaseHistory{}
}

// Risk says what is wrong with the database for people; "": nothing.
func (d *Driver) Risk() string {
	switch {
	case d.Barred() != nil:
		return "its database server was replaced by another one"
	case d.Database().Fallback:
		return "semi-synchronous replication is not active, so a failover may lose orders"
	}
	return ""
}

// Certain reports whether this node has nothing against the history of its database: what a recovery would need is not
// trimmed until then.
func (d *Driver) Certain() bool {
	return d.Barred() == nil && !d.doubt.Load()
}

// Run looks after all partitions until ctx ends.
func (d *Driver) Run(ctx context.Context) error {
	return shop.Repeat(ctx, lookEvery, "look after partitions", d.RunOnce)
}

// RunOnce checks all partitions and raises the beat, also while a partition is away.
func (d *Driver) RunOnce(ctx context.Context) error {
	checked := d.Check(ctx)
	if !d.Certain() {
		return checked
	}
	return errors.Join(checked, d.beat(ctx))
}

// Check looks at the database and at all partitions, recovers what needs it, and has this node work on what it found.
// Where the database may have lost commits, it does so only after the last partition that answers: until then no order
// of the promoted database ends, is paid or refunded by this node.
func (d *Driver) Check(ctx context.Context) error {
	h, err := d.history(ctx)
	if err != nil {
		return err
	}
	epochs, behind := make([]int64, d.Partitions), make([]bool, d.Partitions)
	checked := d.each(d.All(), func(p int) (err error) {
		epochs[p], behind[p], err = d.check(ctx, p, h)
		return err
	})
	if slices.Contains(behind, true) {
		d.doubt.Store(true)
		return checked
	}
	if err := d.goOver(ctx, h); err != nil {
		return errors.Join(checked, err)
	}
	for p, epoch := range epochs {
		if epoch > 0 {
			d.Redis.SetEpoch(p, epoch)
		}
	}
	return checked
}

// each does something for partitions, some of them at a time.
func (d *Driver) each(partitions []int, do func(p int) error) error {
	failed := make([]error, len(partitions))
	free := make(chan struct{}, looksAtOnce)
	var running sync.WaitGroup
	for i, p := range partitions {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			if err := do(p); err != nil {
				failed[i] = fmt.Errorf("partition %d: %w", p, err)
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// check recovers the partition if it needs it, and returns its epoch. behind: it could not be recovered, and the
// database may have lost commits of it.
func (d *Driver) check(
	ctx context.Context, partition int, h shop.DatabaseHistory,
) (epoch int64, behind bool, err error) {
	seen, err := d.look(ctx, partition, h)
	if err != nil {
		return 0, false, err
	}
	if !seen.lost() {
		epoch, err = d.confirm(ctx, partition, seen)
		return epoch, false, err
	}
	d.one.Lock()
	defer d.one.Unlock()
	err = d.Store.LockPartition(ctx, partition, func(ctx context.Context) error {
		again, err := d.look(ctx, partition, h) // another node may have done it meanwhile
		switch {
		case err != nil:
		case again.lost():
			epoch, _, err = d.pass(ctx, partition, h, again)
		default:
			epoch, err = d.confirm(ctx, partition, again)
		}
		return err
	})
	return epoch, err != nil && seen.database, err
}

// confirm lets the partition sell as it is.
func (d *Driver) confirm(ctx context.Context, partition int, f finding) (epoch int64, err error) {
	if f.redis.History != f.redis.Confirmed {
		if err := d.Redis.Confirm(ctx, partition, f.redis); err != nil {
			return 0, fmt.Errorf("confirm: %w", err)
		}
		slog.InfoContext(ctx, "Redis began another history, and nothing is missing in it", "partition", partition,
			"epoch", f.epoch, "seq", f.redis.Seq)
	}
	return f.epoch, nil
}

// Recover makes a pass of partitions by hand, whatever a look finds, and returns what it did.
func (d *Driver) Recover(ctx context.Context, partitions ...int) (all Report, err error) {
	h, err := d.workOnHistory(ctx)
	if err != nil {
		return all, err
	}
	for _, p := range partitions {
		err := d.Store.LockPartition(ctx, p, func(ctx context.Context) error {
			seen, err := d.look(ctx, p, h)
			if err != nil {
				return err
			}
			seen.database = true
			epoch, report, err := d.pass(ctx, p, h, seen)
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

// All are the numbers of all partitions.
func (d *Driver) All() []int {
	all := make([]int, d.Partitions)
	for p := range all {
		all[p] = p
	}
	return all
}

// watch is how the gateway is asked about orders; nil where there is none.
func (d *Driver) watch(now shop.Millis) *shop.MoneyWatch {
	if !d.TakesPayments {
		return nil
	}
	return &shop.MoneyWatch{Now: now, Margin: d.Margin, Spread: d.Spread, Each: d.Each}
}

// Suspect has the next look look for every single sale of the partition, as the first one does.
func (d *Driver) Suspect(partition int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.checked, partition)
}
