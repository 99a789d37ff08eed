package money

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app"
)

// remember answers what makes the database forget all moves of a sale that come from now on, as one that was promoted
// may have. Epochs it knows: that of a promoted database goes on above what Redis has.
func (w *world) remember(sale app.ID) (forget func()) {
	w.t.Helper()
	type row struct {
		ID       app.ID `bun:"id"`
		Initial  int64  `bun:"initial"`
		MovedOut int64  `bun:"moved_out"`
		MovedIn  int64  `bun:"moved_in"`
	}
	var rows []row
	w.must(w.db.DB().NewRaw("SELECT id, initial, moved_out, moved_in FROM sales WHERE portion_of = ?", sale).
		Scan(w.ctx, &rows))
	m, err := w.db.Move(w.ctx, sale)
	w.must(err)
	return func() {
		w.t.Helper()
		for _, r := range rows {
			w.exec("UPDATE sales SET initial = ?, moved_out = ?, moved_in = ? WHERE id = ?", r.Initial, r.MovedOut,
				r.MovedIn, r.ID)
		}
		w.exec("UPDATE portion_moves SET no = ?, state = ?, from_id = ?, to_id = ?, units = ?, taken = ? WHERE sale_id = ?",
			m.No, m.State, m.From.ID, m.To.ID, m.Units, m.Taken, sale)
	}
}

// recounted has the sale counted by somebody who lives.
func (w *world) recounted(sale app.ID) {
	w.t.Helper()
	w.until("counted", func() error { return w.mover(nil).Recount(w.ctx, sale) })
}

// P1, I2: a promoted database has forgotten a move that had come to any of its steps, and who counts the portions again
// dies after any step of that. Then each portion has in the database what it has in Redis, and units that were on their
// way there are nowhere else, but somewhere.
func TestForgottenMovesAreCountedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const gives, all = 4, 5 // steps of a move
	for step := 1; step <= all; step++ {
		for counts := 1; counts <= 6; counts++ { // steps of a count
			sale := w.offerSpread(10, 2)
			from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			forget := w.remember(sale.ID)
			_, _ = w.mover(&mortal{left: step}).Move(w.ctx, sale.ID, from, to, 3)
			forget()
			died := w.mover(&mortal{left: counts}).Recount(w.ctx, sale.ID)
			if counts%2 == 0 {
				w.finishMoves() // the fence, or what it left, is found by whoever looks for moves
			}
			w.recounted(sale.ID)
			want := int64(0)
			if step >= gives {
				want = 3
			}
			what := fmt.Sprintf("forgotten after step %d, counted to step %d (%v)", step, counts, died)
			w.wantMoved(what, sale, want)
			// Units move as before.
			if n, err := w.mover(nil).Move(w.ctx, sale.ID, to, from, 2); n != 2 || err != nil {
				t.Errorf("%s: %d units moved back, %v", what, n, err)
			}
			w.wantMoved(what+", moved back", sale, want-2)
		}
	}
}

// P1, I2: a node stood still in the middle of a move, which the promoted database has forgotten, or knows in an earlier
// state, and goes on after the portions were counted: it changes nothing, in Redis or in rows.
func TestStalledMoveFindsTheFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, knows := range []string{"nothing", "that it was asked for"} {
		for _, stands := range []string{"before it takes", "before it settles", "before it gives"} {
			sale := w.offerSpread(10, 2)
			from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			forget := w.remember(sale.ID)
			m, _, err := w.db.AskMove(w.ctx, app.Move{Sale: sale.ID, No: now(), From: from, To: to, Units: 3})
			w.must(err)
			if knows != "nothing" {
				forget = w.remember(sale.ID)
			}
			var taken, epoch int64
			if stands != "before it takes" {
				taken, epoch, _, err = w.inventory.MoveOut(w.ctx, m)
				w.must(err)
			}
			settled := m
			if stands == "before it gives" {
				settled, err = w.db.SettleMove(w.ctx, m, taken, epoch)
				w.must(err)
			}
			forget()
			w.recounted(sale.ID)

			_, _, known, err := w.inventory.MoveOut(w.ctx, m)
			if known || err != nil {
				t.Errorf("%s: takes units again: %v", stands, err)
			}
			if after, err := w.db.SettleMove(w.ctx, m, 3, epoch); err != nil || after.No <= m.No {
				t.Errorf("%s: settles %+v, %v", stands, after, err)
			}
			settled.Taken = 3
			w.must(w.inventory.MoveIn(w.ctx, settled, w.inventory.Epoch(settled.To.Partition)))
			w.must(w.db.EndMove(w.ctx, settled))
			w.wantMoved(fmt.Sprintf("the database knows %s, the node stood %s", knows, stands), sale, 0)
		}
	}
}

// P1, I2: a promoted database has forgotten a move and the one that brought the units back, so its rows say what Redis
// says; and yet a node that stood still has the first of them in hand. It gives nobody units, also not after the
// partition was made anew from those rows.
func TestForgottenMovesThatCancelOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	agree := func() bool {
		_, agree, err := w.mover(nil).Agree(w.ctx, w.inventory, sale.ID)
		w.must(err)
		return agree
	}
	forget := w.remember(sale.ID)
	m, _, err := w.db.AskMove(w.ctx, app.Move{Sale: sale.ID, No: now(), From: from, To: to, Units: 3})
	w.must(err)
	taken, epoch, _, err := w.inventory.MoveOut(w.ctx, m)
	w.must(err)
	stalled, err := w.db.SettleMove(w.ctx, m, taken, epoch)
	w.must(err)
	w.finishMoves()
	if n, err := w.mover(nil).Move(w.ctx, sale.ID, to, from, 3); n != 3 || err != nil {
		t.Fatalf("%d units moved back, %v", n, err)
	}
	if !agree() {
		t.Error("rows and Redis do not agree before anything was forgotten")
	}
	forget()
	if agree() {
		t.Error("nobody notices that moves were forgotten")
	} else {
		w.recounted(sale.ID)
	}
	if !agree() {
		t.Error("rows and Redis do not agree after they were counted")
	}
	w.rebuildWith(afterRows, to, func() {})
	w.must(w.inventory.MoveIn(w.ctx, stalled, w.inventory.Epoch(stalled.To.Partition)))
	w.wantMoved("a node goes on with a forgotten move", sale, 0)
}

// waiting is a keeper whose next gift waits, as behind a partition that does not answer, while others go on.
type waiting struct {
	app.MoveKeeper
	meanwhile func()
}

func (k *waiting) MoveIn(ctx context.Context, m app.Move, epoch int64) error {
	if others := k.meanwhile; others != nil {
		k.meanwhile = nil
		others()
	}
	return k.MoveKeeper.MoveIn(ctx, m, epoch)
}

// P1, I2: what gives the units of a move waits, within a node that lives. Meanwhile others end the move and bring the
// units back, the database is promoted and has forgotten both, and the portion is made anew from its row. It does not
// get the units a second time.
func TestGiftThatWaitedIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	forget := w.remember(sale.ID)
	keeper := &waiting{MoveKeeper: w.inventory, meanwhile: func() {
		w.finishMoves()
		if n, err := w.mover(nil).Move(w.ctx, sale.ID, to, from, 3); n != 3 || err != nil {
			t.Fatalf("%d units moved back, %v", n, err)
		}
		forget()
		w.rebuildWith(afterRows, to, func() {})
	}}
	mover := app.Mover{Store: w.db, Redis: keeper, Clock: app.NewClock()}
	_, err := mover.Move(w.ctx, sale.ID, from, to, 3)
	if keeper.meanwhile != nil || !errors.Is(err, app.ErrTransient) && !errors.Is(err, app.ErrStaleEpoch) {
		t.Fatalf("the move that waited ends with %v", err)
	}
	w.wantMoved("a gift that waited", sale, 0)
}

// P1: Redis knows a later move than the promoted database, which asks for another one under a number that is long past.
// The portions are counted, and units move again.
func TestMoveBehindAForgottenOneIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	forget := w.remember(sale.ID)
	w.askAhead(sale.ID, from, to)
	w.finishMoves()
	forget()
	if n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 1); n != 0 || err != nil {
		t.Errorf("%d units moved behind a later move, %v", n, err)
	}
	w.wantMoved("counted", sale, 3)
	if n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 1); n != 1 || err != nil {
		t.Errorf("%d units moved, %v", n, err)
	}
}

// P1, I8: several nodes count at once while units move and the partition is made anew, at any moment of that. It is
// made from rows that have forgotten a move, or from those that know it again; either way no unit is there twice.
func TestCountsDuringARebuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, moment := range []string{paused, advanced, beforeRows, afterRows, afterWrites, beforeOpen} {
		for i := range 2 { // whose moment it is
			sale := w.offerSpread(10, 2)
			from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			forget := w.remember(sale.ID)
			if n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 3); n != 3 || err != nil {
				t.Fatalf("%d units moved, %v", n, err)
			}
			forget()
			w.rebuildWith(moment, sale.Portions[i].SaleRef, func() {
				_ = w.mover(nil).Recount(w.ctx, sale.ID) // refused while the partition is made anew
			})
			var g errgroup.Group
			for range 3 {
				g.Go(func() error { return w.mover(nil).Recount(w.ctx, sale.ID) })
				g.Go(func() error { _, err := w.mover(nil).Move(w.ctx, sale.ID, to, from, 1); return err })
			}
			if err := g.Wait(); err != nil && !errors.Is(err, app.ErrTransient) && !errors.Is(err, app.ErrStaleEpoch) {
				t.Error(err)
			}
			w.finishMoves()
			w.recounted(sale.ID)
			w.wantMoved(fmt.Sprintf("counted %s, portion %d", moment, i), sale, 3, 2, 1, 0, -1, -2, -3)
		}
	}
}

// A partition that was made anew from rows that lack a move has units that another portion has, too. Nobody can say
// whose they are: the sale is named with their number, the rows stay, and units move on.
func TestSurplusIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	w.exec("UPDATE sales SET initial = initial - 3 WHERE id = ?", to.ID)
	var surplus *app.SurplusError
	err := w.mover(nil).Recount(w.ctx, sale.ID)
	if !errors.As(err, &surplus) || *surplus != (app.SurplusError{Sale: sale.ID, Units: 3}) {
		t.Fatalf("%v", err)
	}
	for i, p := range w.sale(sale.ID).Portions {
		if want := sale.Portions[i].Initial - 3*int64(i); p.Initial != want {
			t.Errorf("portion %d has %d units by the database, want %d", i, p.Initial, want)
		}
	}
	if n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 2); n != 2 || err != nil {
		t.Errorf("%d units moved afterwards, %v", n, err)
	}
}

// P1: a clock that was far ahead has left a later number in Redis than that of the fence: the fence goes above it.
func TestFenceGoesAboveWhatRedisKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	forget := w.remember(sale.ID)
	ahead := w.askAhead(sale.ID, to, from)
	_, _, _, err := w.inventory.MoveOut(w.ctx, ahead)
	w.must(err)
	forget()
	w.recounted(sale.ID)
	w.wantMoved("a number of tomorrow", sale, -3) // the first portion has got what was on its way
	if m, err := w.db.Move(w.ctx, sale.ID); err != nil || m.No <= ahead.No {
		t.Errorf("%+v, %v", m, err)
	}
}

// askAhead asks for a move of three units under the number of a clock that is a day ahead.
func (w *world) askAhead(sale app.ID, from, to app.SaleRef) app.Move {
	w.t.Helper()
	m, _, err := w.db.AskMove(w.ctx, app.Move{
		Sale: sale, No: now() + 24*time.Hour.Milliseconds(), From: from, To: to, Units: 3,
	})
	w.must(err)
	return m
}

func now() int64 { return int64(app.NewClock().Now()) }
