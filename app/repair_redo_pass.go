package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// redoPass is what was given back to a partition so far. A sale may have to wait, because its row is locked or
// because the gateway does not respond; the other sales continue, and a retry does not read the stream again. It is
// good for one history of the database and one epoch.
type redoPass struct {
	history string
	epoch   int64
	units   map[ID]bool // sales whose units were counted
	walked  bool        // through the stream,
	without []ID        // but for entries of these sales, in the order of their ids
	states  map[ID]bool // sales whose held and ended orders were looked at
}

// pass is the one that is to go on for the partition.
func (r *Redo) pass(partition int, history string, epoch int64) *redoPass {
	if r.passes == nil {
		r.passes = make(map[int]*redoPass)
	}
	p := r.passes[partition]
	if p == nil || p.history != history || p.epoch != epoch {
		p = &redoPass{history: history, epoch: epoch, units: make(map[ID]bool), states: make(map[ID]bool)}
		r.passes[partition] = p
	}
	return p
}

// countUnits gives sales the units that they lack, and answers which have to wait for that: their orders must not be
// written before, since rows are refused for which there are no units.
func (r *Redo) countUnits(
	ctx context.Context, p *redoPass, sales []Sale, report *RedoReport,
) (waiting []ID, err error) {
	var failed []error
	for i := range sales {
		sale := &sales[i]
		if p.units[sale.ID] {
			continue
		}
		if err := r.terms(ctx, sale, report); err != nil {
			failed, waiting = append(failed, fmt.Errorf("sale %s: %w", sale.ID, err)), append(waiting, sale.ID)
			continue
		}
		p.units[sale.ID] = true
	}
	slices.Sort(waiting)
	return waiting, errors.Join(failed...)
}

// walk writes rows for entries of the stream that have none, but for sales that wait.
func (r *Redo) walk(ctx context.Context, partition int, p *redoPass, waiting []ID, report *RedoReport) error {
	if p.walked && slices.Equal(p.without, waiting) {
		return nil
	}
	err := r.Redis.Leftover(ctx, partition, func(entries []Entry) error {
		return r.rows(ctx, p.epoch, slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
			_, waits := slices.BinarySearch(waiting, e.Sale)
			return waits
		}), report)
	})
	if err != nil {
		return fmt.Errorf("write rows of the stream: %w", err)
	}
	p.walked, p.without = true, waiting
	return nil
}

// settleStates has orders be again what their holds say that they were, but for sales that wait.
func (r *Redo) settleStates(ctx context.Context, p *redoPass, sales []Sale, waiting []ID, report *RedoReport) error {
	var failed []error
	for i := range sales {
		sale := sales[i].Ref()
		if _, waits := slices.BinarySearch(waiting, sale.ID); waits || p.states[sale.ID] {
			continue
		}
		if err := errors.Join(r.heldOrders(ctx, sale, report), r.endedOrders(ctx, sale, report)); err != nil {
			failed = append(failed, fmt.Errorf("sale %s: %w", sale.ID, err))
			continue
		}
		p.states[sale.ID] = true
	}
	return errors.Join(failed...)
}
