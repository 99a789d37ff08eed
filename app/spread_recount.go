package app

import (
	"context"
	"fmt"
	"time"
)

// A database that was promoted may have forgotten moves that Redis has made: then its rows give units to a portion that
// has given them away, and refuse orders of the one that has got them. Redis knows better, so it is asked, once nothing
// moves any more:
//
//	COMMIT (fenced, above all numbers) ──▶ move_fence.lua at each portion ──▶ COMMIT (each has what Redis says; done, or taken)
//
// The first step ends what the database knows of a move, the second what a node still has in hand. Each may be repeated
// by anybody, and whoever meets the fence does so: a crash leaves nothing but that. What was on its way belongs to
// nobody in Redis then, and goes to one portion by a move of its own.

// fenceAhead is how far above the time the number of a fence is: clocks of nodes that ask for moves may differ by less.
const fenceAhead = time.Minute

// fenceTries bounds one turn: each finds a later number than the one before, or another node at work.
const fenceTries = 5

// SurplusError means that the portions of a sale have more units in Redis than the sale. That takes a partition that
// was made anew from a row that lacks a move.
type SurplusError struct {
	Sale  ID
	Units int64
}

// Error says it.
func (e *SurplusError) Error() string {
	return fmt.Sprintf("the portions of sale %s have %d units more in Redis than the sale has", e.Sale, e.Units)
}

// Agree reports whether the rows of the portions say what Redis says, no move is under way, and Redis knows of none
// that the database has forgotten. Moves that were forgotten may cancel each other out, and yet a node that stood still
// may have one of them in hand: it would find its number unknown in a portion that was made anew from such rows.
// Whoever cannot tell counts.
func (v *Mover) Agree(ctx context.Context, inventory Inventory, id ID) (sale Sale, agree bool, err error) {
	before, err := v.Store.Move(ctx, id)
	if err != nil {
		return sale, false, fmt.Errorf("read the move of sale %s: %w", id, err)
	}
	if sale, err = v.Store.Sale(ctx, id); err != nil {
		return sale, false, fmt.Errorf("read sale %s: %w", id, err)
	}
	refs := sale.Refs()
	counters, err := inventory.Counters(ctx, refs)
	if err != nil {
		return sale, false, fmt.Errorf("read the portions of sale %s: %w", id, err)
	}
	last := int64(0)
	for _, ref := range refs {
		no, err := v.Redis.LastMove(ctx, ref)
		if err != nil {
			return sale, false, err
		}
		last = max(last, no)
	}
	after, err := v.Store.Move(ctx, id)
	if err != nil {
		return sale, false, fmt.Errorf("read the move of sale %s: %w", id, err)
	}
	agree = before.settledLike(after) && last <= after.No
	for i, c := range counters {
		agree = agree && (!c.Loaded || c.Initial == sale.Portions[i].Initial)
	}
	return sale, agree, nil
}

// Forgotten reports whether Redis knows of a later move of a portion than the database, and the number of it.
func (v *Mover) Forgotten(ctx context.Context, sale ID, portion SaleRef) (last int64, forgotten bool, err error) {
	if last, err = v.Redis.LastMove(ctx, portion); err != nil || last == 0 {
		return last, false, err
	}
	m, err := v.Store.Move(ctx, sale) // behind Redis: a number is asked for in the database first
	if err != nil {
		return last, false, fmt.Errorf("read the move of sale %s: %w", sale, err)
	}
	return last, last > m.No, nil
}

// Recount makes the rows of the portions of a sale agree with Redis. A *SurplusError: they cannot.
func (v *Mover) Recount(ctx context.Context, sale ID) error {
	m, err := v.Store.FenceMoves(ctx, sale, int64(v.Clock.Now().Add(fenceAhead)))
	for range fenceTries {
		if err != nil || m.State != MoveFenced {
			return err
		}
		m, err = v.finish(ctx, m)
	}
	if err == nil && m.State == MoveFenced {
		err = fmt.Errorf("%w: moves of sale %s go on", ErrTransient, sale)
	}
	return err
}

// count is the way from the fence to the move behind it.
func (v *Mover) count(ctx context.Context, m Move) (Move, error) {
	sale, err := v.Store.Sale(ctx, m.Sale)
	if err != nil {
		return m, fmt.Errorf("read the portions of sale %s: %w", m.Sale, err)
	}
	refs := sale.Refs()
	counts := make([]PortionCount, len(refs))
	for i, ref := range refs {
		if counts[i], err = v.Redis.FencePortion(ctx, ref, m.No); err != nil {
			return m, err
		}
		if later := counts[i].Later; later > 0 {
			now, err := v.Store.Move(ctx, m.Sale)
			if err != nil || now.No != m.No || now.State != m.State { // somebody else was faster
				return now, err
			}
			return v.Store.FenceMoves(ctx, m.Sale, later+1)
		}
	}
	now, surplus, err := v.Store.CountMoved(ctx, m, counts)
	if err == nil && surplus > 0 {
		err = &SurplusError{m.Sale, surplus}
	}
	return now, err
}
