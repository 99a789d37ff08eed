package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"stampede/app"
)

var _ app.RehearsalStore = (*Store)(nil)

type rehearsalRow struct {
	bun.BaseModel `bun:"table:rehearsals"`

	Sale      app.ID             `bun:"sale_id,pk"`
	Of        app.ID             `bun:"of_sale"`
	Partition int                `bun:"part"`
	Shoppers  int                `bun:"shoppers"`
	Units     int64              `bun:"units"`
	State     app.RehearsalState `bun:"state"`
	BeganAt   app.Millis         `bun:"began_at"`
	AliveAt   app.Millis         `bun:"alive_at"`
	UntilAt   app.Millis         `bun:"until_at"`
	EndedAt   app.Millis         `bun:"ended_at"`
	By        string             `bun:"started_by"`
}

func (r *rehearsalRow) rehearsal() app.Rehearsal {
	return app.Rehearsal{
		Sale: r.Sale, Of: r.Of, Partition: r.Partition, Shoppers: r.Shoppers, Units: r.Units, State: r.State,
		BeganAt: r.BeganAt, AliveAt: r.AliveAt, UntilAt: r.UntilAt, EndedAt: r.EndedAt, By: r.By,
	}
}

// AddRehearsal writes a rehearsal and its sale. Acts go one after the other, so two that look at the same time cannot
// both find none. See app.RehearsalStore.
func (s *Store) AddRehearsal(ctx context.Context, r *app.Rehearsal, sale *app.Sale, lasts time.Duration) error {
	return s.edit(ctx, "begin a rehearsal", func(tx bun.Conn) error {
		others, now, err := s.rehearsing(ctx, tx)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return app.Fail(app.Conflict, fmt.Sprintf("another rehearsal is %s, of sale %s, begun at %s by %s: wait until it is "+
				"over, or end it with stampede rehearse --clean", others[0].State, others[0].Of,
				others[0].BeganAt.Time().UTC().Format(time.TimeOnly), others[0].By))
		}
		r.State, r.BeganAt, r.UntilAt, r.By = app.RehearsalRunning, now, now.Add(lasts), clip(r.By, longestActorName)
		row := rehearsalRow{
			Sale: r.Sale, Of: r.Of, Partition: r.Partition, Shoppers: r.Shoppers, Units: r.Units, State: r.State,
			BeganAt: now, AliveAt: now, UntilAt: r.UntilAt, By: r.By,
		}
		if _, err := tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx); err != nil {
			return err
		}
		return insertAll(ctx, tx, []newSale{newSaleRow(sale, wallClock())})
	})
}

// Rehearsing reads the rehearsal that is not gone. See app.RehearsalStore.
func (s *Store) Rehearsing(ctx context.Context) (app.Rehearsal, app.Millis, error) {
	what := "look for a rehearsal"
	found, now, err := s.rehearsing(ctx, s.reading(ctx))
	r, err := only(what, found, wrap(what, err))
	return r, now, err
}

func (s *Store) rehearsing(ctx context.Context, db bun.IDB) (found []app.Rehearsal, now app.Millis, err error) {
	at, err := s.clock(ctx, db)
	if err != nil {
		return nil, 0, err
	}
	var rows []rehearsalRow
	err = db.NewSelect().Model(&rows).
		Where("state IN (?)", bun.List([]app.RehearsalState{app.RehearsalRunning, app.RehearsalEnding})).Scan(ctx)
	return convert(rows, (*rehearsalRow).rehearsal), at.At, err
}

// KeepRehearsal notes that somebody runs it. See app.RehearsalStore.
func (s *Store) KeepRehearsal(ctx context.Context, sale app.ID) error {
	return s.inTx(ctx, "keep a rehearsal", func(tx bun.Conn) error {
		return s.stillRuns(ctx, tx, sale)
	})
}

// stillRuns notes that a rehearsal is alive, which holds its row. ErrNoRow: it does not run any more.
func (s *Store) stillRuns(ctx context.Context, tx bun.Conn, sale app.ID) error {
	var state app.RehearsalState
	err := tx.QueryRowContext(ctx, "SELECT state FROM rehearsals WHERE sale_id = ?"+s.d.forUpdate, sale).Scan(&state)
	if err != nil {
		return err
	}
	if state != app.RehearsalRunning {
		return app.ErrNoRow
	}
	now, err := s.clock(ctx, tx)
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, "UPDATE rehearsals SET alive_at = ? WHERE sale_id = ?", now.At, sale)
	return err
}

// OpenRehearsal sets the window of its sale. See app.RehearsalStore.
func (s *Store) OpenRehearsal(ctx context.Context, sale app.ID, opens, closes app.Millis) error {
	return s.edit(ctx, "open the sale of a rehearsal", func(tx bun.Conn) error {
		if err := s.stillRuns(ctx, tx, sale); err != nil {
			return err
		}
		return execMatching(ctx, tx, 1, "open the sale of a rehearsal",
			"UPDATE sales SET opens_at = ?, closes_at = ?, version = version + 1 WHERE id = ? AND rehearses <> 0",
			opens, closes, sale)
	})
}

// EndRehearsal takes a running one to ending. See app.RehearsalStore.
func (s *Store) EndRehearsal(ctx context.Context, sale app.ID, now app.Millis) error {
	return s.edit(ctx, "end a rehearsal", func(tx bun.Conn) error {
		at, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		n, err := exec(ctx, tx, "UPDATE rehearsals SET state = ?, ended_at = ? WHERE sale_id = ? AND state = ?",
			app.RehearsalEnding, at.At, sale, app.RehearsalRunning)
		if err != nil || n == 0 {
			return err
		}
		return execMatching(ctx, tx, 1, "close the sale of a rehearsal",
			"UPDATE sales SET opens_at = ?, closes_at = ?, version = version + 1 WHERE id = ? AND rehearses <> 0",
			now-1, now, sale)
	})
}

// RemoveRehearsed removes orders that have ended. Their rows are locked in the order of their ids, and what follows
// them, which nothing of a rehearsal should have, goes with them. See app.RehearsalStore.
func (s *Store) RemoveRehearsed(ctx context.Context, sale app.ID, ids []app.ID) error {
	return s.inTx(ctx, "remove orders of a rehearsal", func(tx bun.Conn) error {
		for some := range inOrder(ids) {
			found, err := s.lockOrders(ctx, tx, some)
			if err != nil {
				return err
			}
			for i := range found {
				if o := &found[i]; o.Sale != sale || o.HoldsUnits() {
					return fmt.Errorf("%w: order %s of sale %s is %s", app.ErrPermanent, o.ID, o.Sale, o.State)
				}
			}
			if len(found) == 0 {
				continue
			}
			err = execMatching(ctx, tx, len(found), "remove orders of a rehearsal",
				"DELETE FROM orders WHERE id IN (?) AND sale_id IN (SELECT sale_id FROM rehearsals WHERE sale_id = ? AND state = ?)",
				bun.List(some), sale, app.RehearsalEnding)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveRehearsal removes the sale of a rehearsal. See app.RehearsalStore.
func (s *Store) RemoveRehearsal(ctx context.Context, sale app.ID) error {
	return s.edit(ctx, "remove the sale of a rehearsal", func(tx bun.Conn) error {
		n, err := exec(ctx, tx, "UPDATE rehearsals SET state = ? WHERE sale_id = ? AND state = ?",
			app.RehearsalGone, sale, app.RehearsalEnding)
		if err != nil || n == 0 {
			return err
		}
		if err := s.keepSeq(ctx, tx, sale); err != nil {
			return err
		}
		var left int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale).Scan(&left); err != nil {
			return err
		}
		if left > 0 {
			return fmt.Errorf("%w: %d orders of the rehearsal are left", app.ErrTransient, left)
		}
		if _, err := exec(ctx, tx, "DELETE FROM stock_acts WHERE sale_id = ?", sale); err != nil {
			return err
		}
		return execMatching(ctx, tx, 1, "remove the sale of a rehearsal",
			"DELETE FROM sales WHERE id = ? AND rehearses <> 0", sale)
	})
}

// ForgetRehearsals removes the rows of those that are long gone. See app.RehearsalStore.
func (s *Store) ForgetRehearsals(ctx context.Context, before app.Millis) error {
	return s.inTx(ctx, "forget old rehearsals", func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "DELETE FROM rehearsals WHERE state = ? AND ended_at < ?", app.RehearsalGone, before)
		return err
	})
}

// NextOpening is the first sale that opens between two instants. See app.RehearsalStore.
func (s *Store) NextOpening(ctx context.Context, from, to app.Millis) (app.Sale, error) {
	what := "look for the next opening"
	found, err := s.sales(ctx, what, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("s.opens_at >= ? AND s.opens_at < ? AND s.archived_at = 0 AND s.rehearses = 0", from, to).
			Order("s.opens_at", "s.id").Limit(1)
	})
	return only(what, found, err)
}

// wasRehearsed reports whether a sale that is not there was that of a rehearsal.
func wasRehearsed(ctx context.Context, tx bun.Conn, sale app.ID) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM rehearsals WHERE sale_id = ?", sale).Scan(&n)
	return n > 0, err
}

// unwrite takes back the rows, written a moment ago in the same transaction, of orders whose sale is gone with its
// rehearsal: an entry that comes late, or that a rebuild finds in the old stream, becomes nothing.
func unwrite(ctx context.Context, tx bun.Conn, of []*app.Order) ([]refusal, error) {
	ids, refused := make([]app.ID, len(of)), make([]refusal, len(of))
	for i, o := range of {
		ids[i], refused[i] = o.ID, refusal{o, app.ReasonNoSale}
	}
	return refused, execMatching(ctx, tx, len(ids), "take back orders of a rehearsal that is gone",
		"DELETE FROM orders WHERE id IN (?)", bun.List(ids))
}

// rehearsedNow is the sale of the rehearsal that is not gone, whose orders a search finds only where they are asked
// for; 0: there is none.
func (s *Store) rehearsedNow(ctx context.Context) (app.ID, error) {
	r, _, err := s.Rehearsing(ctx)
	if errors.Is(err, app.ErrNoRow) {
		return 0, nil
	}
	return r.Sale, err
}
