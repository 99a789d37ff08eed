package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// FenceMoves ends what the database knows of a sale's move. See app.MoveStore.
func (s *Store) FenceMoves(ctx context.Context, sale app.ID, no int64) (app.Move, error) {
	return inTx(ctx, s, "fence the moves of sale "+sale.String(), func(tx bun.Conn) (app.Move, error) {
		row, err := s.lockMove(ctx, tx, sale)
		if err != nil || row.State == app.MoveFenced && row.No >= no {
			return row.move(), err
		}
		was := *row
		row.No, row.State = max(row.No+1, no), app.MoveFenced
		return row.move(), execMatching(ctx, tx, 1, "fence a move",
			"UPDATE portion_moves SET no = ?, state = ? WHERE sale_id = ? AND no = ? AND state = ?",
			row.No, row.State, sale, was.No, was.State)
	})
}

// portionRow is what a fence asks of a portion.
type portionRow struct {
	ID      app.ID `bun:"id"`
	Part    int    `bun:"part"`
	Initial int64  `bun:"initial"`
	Epoch   int64  `bun:"epoch"`
	Retired int64  `bun:"retired_at"`
}

// CountMoved writes what the portions have in Redis, in one transaction that asks for the epoch of each: a partition
// that was made anew since was made from rows as they were, and is not fenced. See app.MoveStore.
func (s *Store) CountMoved(
	ctx context.Context, m app.Move, counts []app.PortionCount,
) (now app.Move, surplus int64, err error) {
	err = s.inTx(ctx, aboutMove("count behind", &m), func(tx bun.Conn) error {
		surplus = 0
		row, err := s.lockMove(ctx, tx, m.Sale)
		now = row.move()
		if err != nil || row.No != m.No || row.State != app.MoveFenced {
			return err
		}
		portions, err := s.lockPortions(ctx, tx, m.Sale)
		if err != nil {
			return err
		}
		initials, left, err := countOf(portions, counts)
		if err != nil {
			return err
		}
		row.State, row.Taken = app.MoveDone, 0
		if left < 0 {
			surplus = -left
		} else if err := setPortions(ctx, tx, row, portions, initials, left); err != nil {
			return err
		}
		now = row.move()
		return execMatching(ctx, tx, 1, "end a fence", "UPDATE portion_moves SET no = ?, state = ?, from_id = ?, from_part = ?,"+
			" to_id = ?, to_part = ?, units = ?, taken = ? WHERE sale_id = ? AND no = ? AND state = ?",
			row.No, row.State, row.From, row.FromPart, row.To, row.ToPart, row.Units, row.Taken, row.Sale, m.No,
			app.MoveFenced)
	})
	return now, surplus, err
}

func (s *Store) lockPortions(ctx context.Context, tx bun.Conn, sale app.ID) ([]portionRow, error) {
	var rows []portionRow
	err := s.locking(tx.NewSelect().TableExpr("sales").Column("id", "part", "initial", "epoch", "retired_at")).
		Where("portion_of = ?", sale).Order("id").Scan(ctx, &rows)
	return rows, err
}

// countOf are the units that each portion has in Redis, or in its row if it is not there, and what is left of the
// sale's. A portion whose row does not know yet that it is in Redis (epoch 0) has forgotten that; whoever buys there
// says so.
func countOf(portions []portionRow, counts []app.PortionCount) (initials []int64, left int64, err error) {
	initials = make([]int64, len(portions))
	for i, p := range portions {
		n := slices.IndexFunc(counts, func(c app.PortionCount) bool { return c.ID == p.ID })
		if n < 0 {
			return nil, 0, fmt.Errorf("%w: portion %s was not counted", app.ErrPermanent, p.ID)
		}
		c, gone := counts[n], p.Epoch == 0 || p.Retired > 0
		switch {
		case c.Loaded && (p.Epoch == c.Epoch || p.Epoch == 0):
			initials[i] = c.Initial
		case !c.Loaded && gone:
			initials[i] = p.Initial
		default:
			return nil, 0, fmt.Errorf("%w: portion %s is at epoch %d, and was counted at %d", app.ErrStaleEpoch, p.ID, p.Epoch,
				c.Epoch)
		}
		left += p.Initial - initials[i]
	}
	return initials, left, nil
}

// setPortions writes them. What is left goes to the first portion, as a move that it has not got yet.
func setPortions(
	ctx context.Context, tx bun.Conn, row *moveRow, portions []portionRow, initials []int64, left int64,
) error {
	for i, p := range portions {
		in := row.No
		if i == 0 && left > 0 {
			in++
			initials[i] += left
		}
		err := execMatching(ctx, tx, 1, "count a portion", "UPDATE sales SET initial = ?, moved_out = ?, moved_in = ?"+
			" WHERE id = ? AND epoch = ?", initials[i], row.No, in, p.ID, p.Epoch)
		if err != nil {
			return locked(err, p.ID)
		}
	}
	if left > 0 {
		first := portions[0]
		row.No, row.State, row.Units, row.Taken = row.No+1, app.MoveTaken, left, left
		row.From, row.FromPart, row.To, row.ToPart = first.ID, first.Part, first.ID, first.Part
	}
	return nil
}
