package app

import (
	"context"
	"errors"
	"fmt"
)

// Mover moves free units from one portion of a sale to another, exactly once. Decreases go to Redis first, increases to
// the database first (I2), so the units are never free on both sides:
//
//	COMMIT (asked, under the next number) ──▶ move_out.lua ──▶ COMMIT (one portion's initial − n, the other's + n) ──▶ move_in.lua ──▶ COMMIT (done)
//
// The database never sees them twice or not at all; what is on its way in Redis is missing there only. A crash between
// any two steps leaves a move that anybody finishes who meets it: each step does nothing when it was done. A partition
// that is rebuilt meanwhile is made from its row: the one that gives decides again, under its new epoch, as long as its
// row has the units; the one that gets finds the number of the move beside them, and takes them once. One move of a
// sale is under way at a time, which keeps its numbers in order.
type Mover struct {
	Store MoveStore
	Redis MoveKeeper
	Clock *Clock
}

// Move moves at most so many units, and answers how many; 0 when nothing was free, or when another move had to be
// finished first.
func (v *Mover) Move(ctx context.Context, sale ID, from, to SaleRef, units int64) (moved int64, err error) {
	m, asked, err := v.Store.AskMove(ctx, Move{
		Sale: sale, No: int64(v.Clock.Now()), From: from, To: to, Units: units,
	})
	if err != nil {
		return 0, fmt.Errorf("ask for a move in sale %s: %w", sale, err)
	}
	done, err := v.finish(ctx, m)
	if !asked || done.No != m.No {
		return 0, err
	}
	return done.Taken, err
}

// finish takes a move to its end, wherever it stands.
func (v *Mover) finish(ctx context.Context, m Move) (Move, error) {
	if m.State == MoveFenced {
		var err error
		if m, err = v.count(ctx, m); err != nil {
			return m, err
		}
	}
	if m.State == MoveAsked {
		taken, epoch, known, err := v.Redis.MoveOut(ctx, m)
		if err == nil && !known {
			return v.overtaken(ctx, m)
		}
		if err == nil {
			m, err = v.Store.SettleMove(ctx, m, taken, epoch)
		}
		if err != nil {
			return m, v.dropped(ctx, m, err)
		}
	}
	if m.State == MoveTaken {
		return v.give(ctx, m)
	}
	return m, nil
}

// give is the way from taken to done. Whoever waited may have in hand what a promoted database has forgotten since, and
// the portion made anew from that. So it goes by the row as it is now, under an epoch that was known before it was
// read.
func (v *Mover) give(ctx context.Context, m Move) (Move, error) {
	epoch := v.Redis.Epoch(m.To.Partition)
	now, err := v.Store.Move(ctx, m.Sale)
	if err != nil {
		return m, fmt.Errorf("read the move of sale %s: %w", m.Sale, err)
	}
	if now.No != m.No || now.State != MoveTaken {
		return now, nil
	}
	if err = v.Redis.MoveIn(ctx, m, epoch); err == nil {
		err = v.Store.EndMove(ctx, m)
	}
	if err != nil {
		return m, v.dropped(ctx, m, err)
	}
	m.State = MoveDone
	return m, nil
}

// overtaken is for a move of which Redis knows a later one. Mostly somebody else was faster; where the row still asks
// for it, the database has forgotten the later one, and the portions are counted.
func (v *Mover) overtaken(ctx context.Context, m Move) (Move, error) {
	now, err := v.Store.Move(ctx, m.Sale)
	if err != nil || now.No != m.No || now.State != m.State {
		return now, err
	}
	if err := v.Recount(ctx, m.Sale); err != nil {
		return m, err
	}
	return v.Store.Move(ctx, m.Sale)
}

// dropped ends a move whose portion is not in Redis, if it has left it for good; then nobody buys there any more.
func (v *Mover) dropped(ctx context.Context, m Move, err error) error {
	err = fmt.Errorf("move %d of sale %s: %w", m.No, m.Sale, err)
	if errors.Is(err, ErrLost) {
		err = errors.Join(err, v.Store.DropMove(ctx, m))
	}
	return err
}

// FinishAll finishes what crashes have left.
func (v *Mover) FinishAll(ctx context.Context) error {
	open, err := v.Store.OpenMoves(ctx)
	if err != nil {
		return fmt.Errorf("list moves: %w", err)
	}
	var failed []error
	for _, m := range open {
		_, err := v.finish(ctx, m)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
