package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app"
)

// moveRow is app.Move as the table has it. A sale has one row: what a finished move has left in the rows of the two
// portions is all that anybody asks of it later.
type moveRow struct {
	bun.BaseModel `bun:"table:portion_moves"`

	Sale     app.ID        `bun:"sale_id,pk"`
	No       int64         `bun:"no"`
	State    app.MoveState `bun:"state"`
	From     app.ID        `bun:"from_id"`
	FromPart int           `bun:"from_part"`
	To       app.ID        `bun:"to_id"`
	ToPart   int           `bun:"to_part"`
	Units    int64         `bun:"units"`
	Taken    int64         `bun:"taken"`
}

func (r *moveRow) move() app.Move {
	return app.Move{
		Sale: r.Sale, No: r.No, State: r.State, Units: r.Units, Taken: r.Taken,
		From: app.SaleRef{ID: r.From, Partition: r.FromPart}, To: app.SaleRef{ID: r.To, Partition: r.ToPart},
	}
}

func aboutMove(what string, m *app.Move) string {
	return fmt.Sprintf("%s move %d of sale %s", what, m.No, m.Sale)
}

// Move reads the move of a sale. See app.MoveStore.
func (s *Store) Move(ctx context.Context, sale app.ID) (app.Move, error) {
	var row moveRow
	err := s.db.NewSelect().Model(&row).Where("sale_id = ?", sale).Scan(ctx)
	return row.move(), wrap("read the move of sale "+sale.String(), err)
}

// OpenMoves lists those that are under way. There is one row for each spread sale. See app.MoveStore.
func (s *Store) OpenMoves(ctx context.Context) ([]app.Move, error) {
	var rows []moveRow
	err := s.db.NewSelect().Model(&rows).Where("state <> ?", app.MoveDone).Order("sale_id").Scan(ctx)
	return convert(rows, (*moveRow).move), wrap("list moves", err)
}

// AskMove begins a move under a number that is above all that the row has seen. See app.MoveStore.
func (s *Store) AskMove(ctx context.Context, m app.Move) (now app.Move, asked bool, err error) {
	err = s.inTx(ctx, aboutMove("ask for", &m), func(tx bun.Conn) error {
		row, err := s.lockMove(ctx, tx, m.Sale)
		now, asked = row.move(), false
		if err != nil || row.State != app.MoveDone {
			return err
		}
		m.No, m.State, m.Taken = max(row.No+1, m.No), app.MoveAsked, 0
		now, asked = m, true
		return execMatching(ctx, tx, 1, "ask for a move",
			"UPDATE portion_moves SET no = ?, state = ?, from_id = ?, from_part = ?, to_id = ?, to_part = ?, units = ?,"+
				" taken = 0 WHERE sale_id = ? AND state = ? AND no = ?",
			m.No, m.State, m.From.ID, m.From.Partition, m.To.ID, m.To.Partition, m.Units, m.Sale, app.MoveDone, row.No)
	})
	return now, asked, err
}

// SettleMove moves what Redis has taken, in one transaction: no statement sees the units twice, or not at all. The
// statement on the portion that gives asks for the epoch, as that of a withdrawal does (see SettleStock). That on the
// other needs none: its partition is given the units by a rebuild that reads the row later, or by app.MoveKeeper,
// never by both, because the number of the move is in the row beside them. The portions are compared as well: a
// database that was promoted may have forgotten a move and given its number to another one.
func (s *Store) SettleMove(ctx context.Context, m app.Move, taken, epoch int64) (app.Move, error) {
	return inTx(ctx, s, aboutMove("settle", &m), func(tx bun.Conn) (app.Move, error) {
		row, err := s.lockMove(ctx, tx, m.Sale)
		other := row.No != m.No || row.From != m.From.ID || row.To != m.To.ID
		if err != nil || other || row.State != app.MoveAsked {
			return row.move(), err
		}
		if taken < 0 || taken > row.Units {
			return row.move(), fmt.Errorf("%w: %d of %d units were taken", app.ErrPermanent, taken, row.Units)
		}
		give := func() error { return giveUnits(ctx, tx, row, taken, epoch) }
		get := func() error { return getUnits(ctx, tx, row, taken) }
		if row.To < row.From { // sales are locked in the order of their ids
			give, get = get, give
		}
		if err := errors.Join(give(), get()); err != nil {
			return row.move(), err
		}
		row.State, row.Taken = app.MoveTaken, taken
		if taken == 0 {
			row.State = app.MoveDone
		}
		return row.move(), execMatching(ctx, tx, 1, "settle a move",
			"UPDATE portion_moves SET state = ?, taken = ? WHERE sale_id = ? AND no = ? AND state = ?",
			row.State, row.Taken, row.Sale, row.No, app.MoveAsked)
	})
}

func giveUnits(ctx context.Context, tx bun.Conn, row *moveRow, taken, epoch int64) error {
	matched, err := exec(ctx, tx, "UPDATE sales SET initial = initial - ?, moved_out = ? WHERE id = ? AND epoch = ?"+
		" AND moved_out < ? AND taken + withdrawn + ? <= initial + added", taken, row.No, row.From, epoch, row.No, taken)
	if err != nil {
		return locked(err, row.From)
	}
	if matched == 0 {
		return unsettledBecause(ctx, tx, row.From, epoch)
	}
	return nil
}

func getUnits(ctx context.Context, tx bun.Conn, row *moveRow, taken int64) error {
	if taken == 0 {
		return nil
	}
	return locked(execMatching(ctx, tx, 1, "give a portion the units of a move",
		"UPDATE sales SET initial = initial + ?, moved_in = ? WHERE id = ? AND moved_in < ?",
		taken, row.No, row.To, row.No), row.To)
}

// EndMove notes that the units have arrived. See app.MoveStore.
func (s *Store) EndMove(ctx context.Context, m app.Move) error {
	return s.inTx(ctx, aboutMove("end", &m), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE portion_moves SET state = ? WHERE sale_id = ? AND no = ? AND state = ?",
			app.MoveDone, m.Sale, m.No, app.MoveTaken)
		return err
	})
}

// DropMove ends a move of which a portion has left Redis for good: units are where the database says. See
// app.MoveStore.
func (s *Store) DropMove(ctx context.Context, m app.Move) error {
	return s.inTx(ctx, aboutMove("drop", &m), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE portion_moves SET state = ? WHERE sale_id = ? AND no = ? AND (state = ? AND EXISTS"+
			" (SELECT 1 FROM sales WHERE id = from_id AND retired_at > 0) OR state = ? AND EXISTS"+
			" (SELECT 1 FROM sales WHERE id = to_id AND retired_at > 0))",
			app.MoveDone, m.Sale, m.No, app.MoveAsked, app.MoveTaken)
		return err
	})
}

func (s *Store) lockMove(ctx context.Context, tx bun.Conn, sale app.ID) (*moveRow, error) {
	row := new(moveRow)
	err := s.locking(tx.NewSelect().Model(row)).Where("sale_id = ?", sale).Scan(ctx)
	return row, err
}
