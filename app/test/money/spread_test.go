package money

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stampede/app"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// offerSpread opens a spread sale. Its portions share the only partition, so that one rebuild meets all of them.
func (w *world) offerSpread(units int64, portions int) app.Sale {
	w.t.Helper()
	product := app.Product{ID: newID(), Name: "Teapot", ListPriceFen: 9900}
	w.must(w.db.AddProducts(w.ctx, []app.Product{product}))
	sale := app.Sale{
		ID: newID(), Slot: w.slot, Product: product, PriceFen: priceFen, Initial: units, Limit: 2, Cap: 100,
	}
	sale.PortionOf = sale.ID
	for i, share := range app.Deal(units, portions) {
		ref := app.SaleRef{ID: sale.ID}
		if i > 0 {
			ref.ID = newID()
		}
		sale.Portions = append(sale.Portions, app.Portion{SaleRef: ref, Initial: share})
	}
	w.must(w.db.AddSales(w.ctx, []app.Sale{sale}))
	w.must((&app.Warmer{Sales: w.db, Inventory: w.inventory}).Ensure(w.ctx, sale.ID))
	return w.sale(sale.ID)
}

// mover moves units; m is the process, nil for one that does not die.
func (w *world) mover(m *mortal) *app.Mover {
	return &app.Mover{
		Store: faults.Moves(w.db, m.fault), Redis: faults.MoveKeeper(w.inventory, m.fault), Clock: app.NewClock(),
	}
}

func (w *world) gatherer() *app.Gatherer {
	return &app.Gatherer{
		Mover: w.mover(nil), Inventory: w.inventory,
		Ensure: (&app.Warmer{Sales: w.db, Inventory: w.inventory}).Ensure,
	}
}

// finishMoves is the duty of whoever lives.
func (w *world) finishMoves() {
	w.t.Helper()
	w.until("moves are finished", func() error { return w.mover(nil).FinishAll(w.ctx) })
}

// wantMoved checks a sale after moves of so many units from its first portion to its second, of which any side may have
// been made anew: each portion has what its row says, once. After that units rest, and a move that finds them resting
// moves none: then any of the numbers is right, on both sides.
func (w *world) wantMoved(what string, sale app.Sale, anyOf ...int64) {
	w.t.Helper()
	now := w.sale(sale.ID)
	moved := now.Portions[1].Initial - sale.Portions[1].Initial
	if !slices.Contains(anyOf, moved) {
		w.t.Errorf("%s: %d units were moved, want one of %d", what, moved, anyOf)
	}
	for i, change := range []int64{-moved, moved} {
		want := sale.Portions[i].Initial + change
		c := w.inRedis(now.Portions[i].SaleRef)
		if now.Portions[i].Initial != want || c.Initial != want || c.Stock != want {
			w.t.Errorf("%s: portion %d has %d units by the database, Redis says %+v; want %d", what, i,
				now.Portions[i].Initial, c, want)
		}
	}
	if wrong := w.audit(sale.Ref()); wrong != "" {
		w.t.Errorf("%s: P1: %s", what, wrong)
	}
	if open, err := w.db.OpenMoves(w.ctx); err != nil || len(open) > 0 {
		w.t.Errorf("%s: moves are open: %+v, %v", what, open, err)
	}
}

// P1, I2: units move from one portion to another, and the process dies after any of its steps. Whoever comes next
// finishes what was asked for, once, also when Redis is made anew in between.
func TestMoveDiesAnywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for step := 1; step <= 6; step++ {
		for _, then := range []string{"finished", "finished by who asks next", "made anew and finished"} {
			sale := w.offerSpread(10, 2)
			from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			_, first := w.mover(&mortal{left: step}).Move(w.ctx, sale.ID, from, to, 3)
			m, err := w.db.Move(w.ctx, sale.ID)
			w.must(err)
			if then == "made anew and finished" {
				w.lose()
				w.must(w.node(nil).rebuilds(nil))
			}
			if then == "finished by who asks next" && m.State != app.MoveDone {
				if n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 3); err != nil || n != 0 {
					t.Fatalf("another move beside one that is open: %d, %v", n, err)
				}
			} else {
				w.finishMoves()
			}
			want := []int64{0}
			if m.No > 0 { // it was asked for
				want = []int64{3}
			}
			if then == "made anew and finished" {
				want = append(want, 0)
			}
			w.wantMoved(fmt.Sprintf("dead after step %d (%v), %s", step, first, then), sale, want...)
		}
	}
}

// P1, I8: units move while the partition is made anew, at any moment of that, or a step that was asked for before is
// done then: the portion that gives decides again, the one that gets has the units once.
func TestMoveDuringARebuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, moment := range []string{paused, advanced, beforeRows, afterRows, afterWrites, beforeOpen} {
		for i := range 2 { // whose moment it is
			sale := w.offerSpread(10, 2)
			from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			w.rebuildWith(moment, sale.Portions[i].SaleRef, func() {
				_, _ = w.mover(nil).Move(w.ctx, sale.ID, from, to, 3)
			})
			w.finishMoves()
			w.wantMoved(fmt.Sprintf("moved %s, portion %d", moment, i), sale, 0, 3)

			sale = w.offerSpread(10, 2)
			from, to = sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			m, _, err := w.db.AskMove(w.ctx, app.Move{Sale: sale.ID, From: from, To: to, Units: 3})
			w.must(err)
			taken, epoch, _, err := w.inventory.MoveOut(w.ctx, m)
			w.must(err)
			var settled error
			w.rebuildWith(moment, sale.Portions[i].SaleRef, func() {
				_, settled = w.db.SettleMove(w.ctx, m, taken, epoch)
			})
			if settled != nil && !errors.Is(settled, app.ErrStaleEpoch) {
				t.Errorf("%s: %v", moment, settled)
			}
			w.finishMoves()
			want := []int64{3}
			if settled != nil {
				want = append(want, 0) // Redis was made without it, and decided again
			}
			w.wantMoved(fmt.Sprintf("taken before, settled %s, portion %d", moment, i), sale, want...)
		}
	}
}

// P1: a call of a move that was finished long ago moves nothing, also into or out of a Redis that was made anew.
func TestLateMoveMovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	moved, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 2)
	w.must(err)
	late, err := w.db.Move(w.ctx, sale.ID)
	w.must(err)
	if moved != 2 {
		t.Fatalf("%d units moved, want 2", moved)
	}
	for _, then := range []string{"at once", "made anew", "after another one"} {
		switch then {
		case "made anew":
			w.lose()
			w.must(w.node(nil).rebuilds(nil))
		case "after another one":
			w.until("another move", func() error { // units of what was made anew rest for a moment
				n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 1)
				moved += n
				if n == 0 && err == nil {
					err = errors.New("they rest")
				}
				return err
			})
		}
		if _, _, _, err := w.inventory.MoveOut(w.ctx, late); err != nil {
			t.Error(err)
		}
		w.must(w.inventory.MoveIn(w.ctx, late, w.inventory.Epoch(late.To.Partition)))
		w.wantMoved(then, sale, moved)
	}
}

// P1, I2: a promoted database that has forgotten a move gives its number to no other one, since numbers are instants;
// and if it does, because clocks are far apart, what Redis took for the forgotten one is not settled out of the portion
// that the other one asks.
func TestForgottenMoveDoesNotSettleAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offerSpread(10, 2)
	from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
	ahead := now() + time.Hour.Milliseconds()
	forgotten, _, err := w.db.AskMove(w.ctx, app.Move{Sale: sale.ID, No: ahead, From: from, To: to, Units: 3})
	w.must(err)
	taken, epoch, _, err := w.inventory.MoveOut(w.ctx, forgotten)
	w.must(err)
	w.exec("UPDATE portion_moves SET state = ?, no = no - 1 WHERE sale_id = ?", app.MoveDone, sale.ID)
	other, asked, err := w.db.AskMove(w.ctx, app.Move{Sale: sale.ID, No: ahead, From: to, To: from, Units: 4})
	w.must(err)
	if !asked || other.No != forgotten.No || taken != 3 {
		t.Fatalf("asked %v under number %d, not %d; %d units taken, want 3", asked, other.No, forgotten.No, taken)
	}
	now, err := w.db.SettleMove(w.ctx, forgotten, taken, epoch)
	w.must(err)
	if now != other {
		t.Errorf("the forgotten move has settled the other one: %+v", now)
	}
	for i, p := range w.sale(sale.ID).Portions {
		if p.Initial != sale.Portions[i].Initial {
			t.Errorf("portion %d has %d units, want %d", i, p.Initial, sale.Portions[i].Initial)
		}
	}
}

// P1: whatever moves, buyers, deaths and rebuilds do to a spread sale, in any order, each portion and the sum balance
// once everything is finished, no unit is lost, and all that are free can be brought together.
func TestMovesModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		sale := w.offerSpread(9, 3)
		any := func(label string) app.SaleRef {
			return sale.Portions[rapid.IntRange(0, len(sale.Portions)-1).Draw(r, label)].SaleRef
		}
		bought := []app.Order{}
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			var m *mortal
			if rapid.Bool().Draw(r, "mortal") {
				m = &mortal{left: rapid.IntRange(1, 5).Draw(r, "dies after")}
			}
			switch rapid.SampledFrom([]string{"move", "move", "gather", "buy", "cancel", "rebuild"}).Draw(r, "step") {
			case "move":
				if from, to := any("from"), any("to"); from != to {
					_, _ = w.mover(m).Move(w.ctx, sale.ID, from, to, rapid.Int64Range(1, 4).Draw(r, "units"))
				}
			case "gather":
				_, _ = w.gatherer().Gather(w.ctx, &sale, any("home"), rapid.Int64Range(1, 3).Draw(r, "units"))
			case "buy":
				if o, ok := w.buy(any("home"), newID(), 1); ok {
					bought = append(bought, o)
				}
			case "cancel":
				if len(bought) > 0 {
					_, _ = w.node(nil).expirer.Cancel(w.ctx, bought[0].User, bought[0].ID)
					bought = bought[1:]
				}
			case "rebuild":
				w.lose()
				w.must(w.node(nil).rebuilds(nil))
			}
			for _, p := range sale.Portions {
				if wrong := w.counted(p.SaleRef); wrong != "" {
					r.Fatalf("P1 in Redis: %s", wrong)
				}
			}
		}
		w.finishMoves()
		if wrong := w.audit(sale.Ref()); wrong != "" {
			r.Fatalf("P1: %s", wrong)
		}
		home, free := any("home"), 9-int64(len(bought))
		kit.Eventually(w.t, patience, func() (bool, string) { // units that came back rest for a moment
			err := w.gatherer().All(w.ctx, &sale, home, 9)
			c := w.inRedis(home)
			return err == nil && c.Stock == free, fmt.Sprintf("%d of %d free units are at home, %v", c.Stock, free, err)
		})
		if empty, err := w.gatherer().Gather(w.ctx, &sale, home, free+1); err != nil || !empty {
			r.Fatalf("for more than there is: empty %v, %v", empty, err)
		}
		if wrong := w.audit(sale.Ref()); wrong != "" {
			r.Fatalf("P1: %s", wrong)
		}
	})
}
