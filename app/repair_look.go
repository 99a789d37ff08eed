package app

import (
	"context"
	"fmt"
	"log/slog"
)

// finding is what a look at a partition has found: why it has to be made anew, or nothing.
type finding struct {
	why   string // "": all is well
	epoch int64
	redis PartitionState
}

// forgotten reports whether all that is wrong is that the database was at the epoch of Redis, and does not know it any
// more: Redis itself has lost nothing.
func (f *finding) forgotten() bool {
	s := &f.redis
	return s.Exists && !s.Rebuilding && s.Epoch > f.epoch && s.Seq >= s.Seen && s.History == s.Confirmed
}

// look finds out whether Redis has everything of the partition that anybody knows of (I8). The database is read first:
// whatever it has seen, a healthy Redis has seen before. What other nodes have seen they compare themselves, with every
// call of the gate and with looks of their own.
func (r *Rebuild) look(ctx context.Context, partition int) (f finding, err error) {
	var seq int64
	if f.epoch, seq, err = r.Sales.PartitionEpoch(ctx, partition); err != nil {
		return f, fmt.Errorf("read epoch: %w", err)
	}
	rows, err := r.Sales.Witnesses(ctx, partition)
	if err != nil {
		return f, fmt.Errorf("read newest orders: %w", err)
	}
	if f.redis, err = r.Redis.State(ctx, partition); err != nil {
		return f, fmt.Errorf("read state: %w", err)
	}
	switch s := &f.redis; {
	case !s.Exists:
		f.why = "Redis has nothing of it"
	case s.Rebuilding:
		f.why = "an earlier rebuild did not finish"
	case s.Epoch != f.epoch:
		f.why = fmt.Sprintf("Redis is at epoch %d, the database at %d", s.Epoch, f.epoch)
	case s.Seq < seq:
		f.why = fmt.Sprintf("Redis is at seq %d, the database has seen %d", s.Seq, seq)
	case s.Seq < s.Seen:
		f.why = fmt.Sprintf("Redis is at seq %d, this node has seen %d", s.Seq, s.Seen)
	case s.promoted():
		f.why = "a replica was promoted, and nobody can tell what it lacks"
	default:
		f.why, err = r.missing(ctx, partition, s, rows)
	}
	return f, err
}

// promoted reports whether the partition has come to a server that was a replica of another one when somebody looked
// last. Replicas are behind by what was under way, and who knows of that may be gone, or not have spoken yet; rows of
// it may be on their way into the database. So nothing is compared: a new epoch keeps all of them out.
func (s *PartitionState) promoted() bool {
	return s.Confirmed != "" && s.History != s.Confirmed && s.Followed != ""
}

// missing says which accepted order, or which sale that was loaded, is not in Redis. A sale was there before it was
// marked as loaded, so it was lost. Sales are looked for at the first look, in a new history and after a suspicion, not
// every time.
func (r *Rebuild) missing(
	ctx context.Context, partition int, s *PartitionState, rows []Witness,
) (why string, err error) {
	lost, err := r.Redis.Lacks(ctx, partition, s.Epoch, rows)
	if err != nil {
		return "", fmt.Errorf("look for newest orders: %w", err)
	}
	if len(lost) > 0 {
		return fmt.Sprintf("Redis does not know order %s of sale %s, which was accepted", lost[0].Order,
			lost[0].Sale.ID), nil
	}
	if s.History != s.Confirmed {
		r.Suspect(partition)
	}
	r.mu.Lock()
	checked := r.checked[partition]
	r.mu.Unlock()
	if checked {
		return "", nil
	}
	if why, err = r.missingSale(ctx, partition); why != "" || err != nil {
		return why, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checked == nil {
		r.checked = make(map[int]bool)
	}
	r.checked[partition] = true
	return "", nil
}

// missingSale leaves out sales that ended so long ago that their keys were let go: a crash, or a database that was
// promoted or restored, may have forgotten to note that. Making their partition anew would bring back what it alone has
// forgotten, before a Redo could give it back.
func (r *Rebuild) missingSale(ctx context.Context, partition int) (why string, err error) {
	now, err := r.Inventory.Now(ctx)
	if err != nil {
		return "", fmt.Errorf("read Redis time: %w", err)
	}
	sales, err := r.Sales.LoadedSales(ctx, partition)
	if err != nil {
		return "", fmt.Errorf("list loaded sales: %w", err)
	}
	counters, err := r.Inventory.Counters(ctx, refsOf(pointers(sales)))
	if err != nil {
		return "", fmt.Errorf("look for loaded sales: %w", err)
	}
	for i, c := range counters {
		if !c.Loaded && now < sales[i].ClosesAt.Add(retireAfter) {
			return fmt.Sprintf("sale %s was loaded and is not in Redis", sales[i].ID), nil
		}
	}
	return "", nil
}

// Suspect has the next look look for every single sale of the partition, as the first one does.
func (r *Rebuild) Suspect(partition int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.checked, partition)
}

// trust lets the partition sell as it is.
func (r *Rebuild) trust(ctx context.Context, partition int, f finding) error {
	if f.redis.History != f.redis.Confirmed {
		if err := r.Redis.Confirm(ctx, partition, f.redis); err != nil {
			return fmt.Errorf("confirm: %w", err)
		}
		slog.InfoContext(ctx, "Redis began another history, and nothing is missing in it", "partition", partition,
			"epoch", f.epoch, "seq", f.redis.Seq)
	}
	r.Redis.SetEpoch(partition, f.epoch)
	return nil
}
