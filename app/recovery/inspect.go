package recovery

import (
	"context"
	"fmt"

	"stampede/app/shop"
)

// finding is the result of an inspection of a partition.
type finding struct {
	redisLost string // why Redis must be restored from rows; "": Redis has lost nothing
	database  bool   // the database may have lost commits of the partition
	epoch     int64  // of the partition in the database
	seq       int64  // the highest seq of the partition's rows
	changes   int64  // the recorded number of changes of sales in Redis
	redis     shop.PartitionState

	generation int64 // under which the partition was last inspected
}

func (f *finding) lost() bool { return f.redisLost != "" || f.database }

// unopened reports whether the partition was never opened, so that an empty Redis has lost nothing.
func (f *finding) unopened() bool { return !f.redis.Exists && f.epoch == shop.FirstEpoch }

// reason returns why the partition must be recovered.
func (f *finding) reason() string {
	switch {
	case f.redisLost == "":
		return "the database may have lost commits"
	case f.database:
		return "the database may have lost commits, and " + f.redisLost
	default:
		return f.redisLost
	}
}

// inspect checks whether Redis has all facts of the partition that rows prove or this node has seen (I8), and whether
// the partition was opened after the history of the database began. The database is read first, because a healthy Redis
// has each fact earlier than the database. Other nodes check the facts that they have seen, with every call of the gate
// and with their own inspections.
func (d *Driver) inspect(ctx context.Context, partition int, h shop.DatabaseHistory) (f finding, err error) {
	if f.epoch, f.seq, err = d.Store.Partitions().PartitionEpoch(ctx, partition); err != nil {
		return f, fmt.Errorf("read epoch: %w", err)
	}
	if f.changes, f.generation, err = d.Store.Partitions().Known(ctx, partition); err != nil {
		return f, err
	}
	rows, err := d.Store.Partitions().LastOrders(ctx, partition)
	if err != nil {
		return f, fmt.Errorf("read newest orders: %w", err)
	}
	if f.redis, err = d.Redis.Recovery().State(ctx, partition); err != nil {
		return f, fmt.Errorf("read state: %w", err)
	}
	if err := f.compare(h); err != nil || f.redisLost != "" {
		return f, err
	}
	f.redisLost, err = d.missing(ctx, partition, &f, rows)
	return f, err
}

// compare compares the state of the partition in Redis with the database, and with the numbers that this node has seen.
func (f *finding) compare(h shop.DatabaseHistory) error {
	s := &f.redis
	if s.Database.Generation > h.Generation {
		return fmt.Errorf("%w: generation %d of the database has begun", shop.ErrTransient, s.Database.Generation)
	}
	f.database = s.Database.Server != "" && s.Database.Generation < h.Generation || s.Recovering && !s.Lost
	switch {
	case !s.Exists:
		f.redisLost = "Redis has no data of it"
	case s.Lost:
		f.redisLost = "an earlier recovery did not finish"
	case s.Epoch != f.epoch && !f.database:
		f.redisLost = fmt.Sprintf("Redis is at epoch %d, the database at %d", s.Epoch, f.epoch)
	case s.Seq < f.seq:
		f.redisLost = fmt.Sprintf("Redis is at seq %d, the database has seen %d", s.Seq, f.seq)
	case s.Seq < s.Seen:
		f.redisLost = fmt.Sprintf("Redis is at seq %d, this node has seen %d", s.Seq, s.Seen)
	case s.Changes < max(f.changes, s.SeenChanges):
		f.redisLost = fmt.Sprintf("Redis has %d changes of sales, and had %d", s.Changes, max(f.changes, s.SeenChanges))
	case s.Database.Server != "" && s.Database.Generation < f.generation:
		f.redisLost = fmt.Sprintf("Redis is at generation %d, and was at %d", s.Database.Generation, f.generation)
	case promoted(s):
		f.redisLost = "a replica was promoted, and its lost writes are unknown"
	}
	return nil
}

// promoted reports whether the partition moved to a server that was a replica at the last inspection. A replica lacks
// the writes that were in progress. The node that has seen these writes may be gone or may not have reported them yet.
// The rows of these writes may be on their way into the database. So the data are not compared: a new epoch rejects all
// these writes and rows.
func promoted(s *shop.PartitionState) bool {
	return s.Confirmed != "" && s.History != s.Confirmed && s.Followed != ""
}

// missing returns which accepted order or which loaded sale is not in Redis. A sale is written to Redis before it is
// marked as loaded, so a missing sale was lost. Sales are checked only at the first inspection, in a new history and
// after Suspect.
func (d *Driver) missing(
	ctx context.Context, partition int, f *finding, rows []shop.LastOrder,
) (reason string, err error) {
	s := &f.redis
	lost, err := d.Redis.Recovery().Missing(ctx, partition, s.Epoch, rows)
	if err != nil {
		return "", fmt.Errorf("look for newest orders: %w", err)
	}
	if len(lost) > 0 {
		return fmt.Sprintf("Redis lacks order %s of sale %s, which was accepted", lost[0].Order,
			lost[0].Sale.ID), nil
	}
	if s.History != s.Confirmed {
		d.Suspect(partition)
	}
	d.mu.Lock()
	checked := d.checked[partition]
	d.mu.Unlock()
	if checked {
		return "", nil
	}
	// A database that has lost returns of units has fewer free units than a Redis that has lost nothing.
	onlyDatabase := f.database && s.History == s.Confirmed
	if reason, err = d.missingSale(ctx, partition, onlyDatabase); reason != "" || err != nil {
		return reason, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.checked == nil {
		d.checked = make(map[int]bool)
	}
	d.checked[partition] = true
	return "", nil
}

// missingSale returns which loaded sale is not in Redis, or sells more units than the database has (I2): Redis has lost
// a write since the last beat, for example a withdrawal, unless the database has lost the return of units. It ignores
// sales that ended so long ago that their keys may be retired: a crash, or a promoted or restored database, may have
// lost the mark of a retired sale.
func (d *Driver) missingSale(ctx context.Context, partition int, onlyDatabase bool) (reason string, err error) {
	now, err := d.now(ctx)
	if err != nil {
		return "", err
	}
	sales, err := d.Store.Sales().LoadedSales(ctx, partition)
	if err != nil {
		return "", fmt.Errorf("list loaded sales: %w", err)
	}
	ids := shop.Mapped(sales, func(s shop.Sale) shop.ID { return s.ID })
	before, err := d.Store.Sales().FreeUnits(ctx, ids)
	if err != nil {
		return "", err
	}
	counters, err := d.Redis.Stock().Counters(ctx, refsOf(sales))
	if err != nil {
		return "", fmt.Errorf("look for loaded sales: %w", err)
	}
	after, err := d.Store.Sales().FreeUnits(ctx, ids) // orders begin and end meanwhile
	if err != nil {
		return "", err
	}
	for i, c := range counters {
		id := ids[i]
		switch free := max(before[id], after[id]); {
		case !c.Loaded && now < sales[i].ClosesAt.Add(shop.RetireAfter):
			return fmt.Sprintf("sale %s was loaded and is not in Redis", id), nil
		case !onlyDatabase && c.Loaded && c.Stuck == "" && c.Stock > free:
			return fmt.Sprintf("Redis sells %d units of sale %s, the database has %d", c.Stock, id, free), nil
		}
	}
	return "", nil
}

func refsOf(sales []shop.Sale) []shop.SaleRef {
	refs := make([]shop.SaleRef, len(sales))
	for i := range sales {
		refs[i] = sales[i].Ref()
	}
	return refs
}
