package money

import (
	"testing"

	"stampede/app"
	"stampede/app/test/kit"
)

// epochs are those of the database and of Redis.
func (w *world) epochs() (database, inRedis int64) {
	w.t.Helper()
	database, _, err := w.db.PartitionEpoch(w.ctx, 0)
	w.must(err)
	state, err := w.inventory.State(w.ctx, 0)
	w.must(err)
	return database, state.Epoch
}

// forgetEpoch is what a promoted database has done that stood still before the partition was made anew.
func (w *world) forgetEpoch() {
	w.t.Helper()
	w.exec("UPDATE partitions SET epoch = epoch - 1")
	w.exec("UPDATE sales SET epoch = epoch - 1 WHERE epoch > 0")
}

// P2, I8: a promoted database has forgotten that the partition was made anew. It takes the epoch over from Redis, which
// has lost nothing and knows what the database does not; from one that has lost something, or was being made anew, it
// takes nothing.
func TestForgottenEpochIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lose()
	w.must(w.node(nil).rebuilds(nil)) // the epoch that is forgotten
	sale := w.offer(5, 2)
	w.order(sale, newID())
	before, _ := w.epochs()

	const history = "a server that kept its name"
	w.must(w.inventory.NoteDatabase(w.ctx, 0, history))
	w.forgetEpoch()
	w.must(w.node(nil).rebuilds(nil))
	if database, redis := w.epochs(); database != before || redis != before {
		t.Errorf("the database is at epoch %d, Redis at %d; want %d", database, redis, before)
	}
	if known, err := w.inventory.KnownDatabase(w.ctx, 0); err != nil || known == history || known == "" {
		t.Errorf("the partition is known to lack nothing on %q, %v: no redo follows", known, err)
	}
	w.order(sale, newID())
	if wrong := w.audit(sale); wrong != "" {
		t.Errorf("P1: %s", wrong)
	}

	for what, defect := range map[string][2]any{
		"Redis has lost its last seqs": {"seq", 1},
		"a rebuild did not end":        {"state", "rebuilding"},
		"Redis began another history":  {"history", "another"},
	} {
		before, _ := w.epochs()
		w.forgetEpoch()
		w.must(w.client.HSet(w.ctx, "stampede:{0}:meta", defect[0], defect[1]).Err())
		w.must(w.node(nil).rebuilds(nil))
		if database, redis := w.epochs(); database != before+1 || redis != before+1 {
			t.Errorf("%s: the database is at epoch %d, Redis at %d; want %d", what, database, redis, before+1)
		}
	}
	w.order(sale, newID())
	if wrong := w.audit(sale); wrong != "" {
		t.Errorf("P1: %s", wrong)
	}
}

// P2, I8: a promoted database has forgotten that a sale was loaded, and orders of it, and the partition has to be made
// anew. That ends, and the orders have their rows.
func TestRebuildOfASaleThatIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(5, 2)
	o := w.order(sale, newID())
	w.exec("DELETE FROM orders WHERE sale_id = ?", sale.ID)
	w.exec("UPDATE sales SET epoch = 0, taken = 0 WHERE id = ?", sale.ID)
	w.lose()
	w.must(w.node(nil).rebuilds(nil))
	if row := w.read(o.ID); row.State != app.Pending {
		t.Errorf("the order is %s", row.State)
	}
	if wrong := w.audit(sale); wrong != "" {
		t.Errorf("P1: %s", wrong)
	}
	if c := w.inRedis(sale); c.Stock != 4 {
		t.Errorf("%+v", c)
	}
}

// P1, P2: a promoted database has forgotten units that were added, and Redis has to be made anew before a redo could
// give them back. Orders that had taken them have their rows, none is refused, and what is left is on sale.
func TestRebuildLearnsAddedUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(2, 2)
	w.must(stockAct(w, w.saleDesk(nil), operator(), sale.ID, 1, 5))
	var bought []app.Order
	for range 6 {
		bought = append(bought, w.order(sale, newID()))
	}
	w.exec("DELETE FROM orders WHERE sale_id = ?", sale.ID)
	w.exec("UPDATE sales SET added = 0, taken = 0 WHERE id = ?", sale.ID)
	w.lose()
	w.must(w.node(nil).rebuilds(nil))
	for _, o := range bought {
		if row := w.read(o.ID); row.State != app.Pending {
			t.Errorf("an order is %s, %s", row.State, row.Reason)
		}
	}
	if c := w.inRedis(sale); c.Stock != 1 || c.Held != 6 {
		t.Errorf("%+v", c)
	}
	if wrong := w.audit(sale); wrong != "" {
		t.Errorf("P1: %s", wrong)
	}
}

// P1, I2: a promoted database has forgotten a move, and the portion that gave the units, or the one that got them, is
// made anew before a redo could count them. They are on sale on one side at most, whoever had stood still with the move
// in hand; a redo is asked for, and then they are on sale once.
func TestRebuildOfAPortionWhoseMoveIsForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost int // the portion that is made anew
		back bool
	}{
		"the one that gave": {0, false}, "the one that got": {1, false},
		"the one that got, and gave them back": {1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sale := w.offerSpread(10, 2)
			from, to := sale.Portions[0].SaleRef, sale.Portions[1].SaleRef
			forget := w.remember(sale.ID)
			if n, err := w.mover(nil).Move(w.ctx, sale.ID, from, to, 3); n != 3 || err != nil {
				t.Fatalf("%d units moved, %v", n, err)
			}
			stalled, err := w.db.Move(w.ctx, sale.ID)
			w.must(err)
			if c.back {
				n, err := w.mover(nil).Move(w.ctx, sale.ID, to, from, 3)
				if n != 3 || err != nil {
					t.Fatalf("%d units moved back, %v", n, err)
				}
			}
			forget()
			w.must(w.inventory.NoteDatabase(w.ctx, 0, "the primary that died"))
			// Only the one of them is made anew: the portions of these tests share a partition, so the other one has
			// what it had put back.
			kept := app.Sale{ID: sale.Portions[1-c.lost].ID}
			before, err := w.client.HGetAll(w.ctx, kit.SaleKey(&kept)).Result()
			w.must(err)
			w.lose()
			w.must(w.node(nil).rebuilds(nil))
			w.must(w.client.HSet(w.ctx, kit.SaleKey(&kept), before).Err())

			w.must(w.inventory.MoveIn(w.ctx, stalled, w.inventory.Epoch(to.Partition)))
			a, b := w.inRedis(from), w.inRedis(to)
			if a.Stock+b.Stock > 10 {
				t.Errorf("%d units are on sale of 10: %+v, %+v", a.Stock+b.Stock, a, b)
			}
			if known, err := w.inventory.KnownDatabase(w.ctx, 0); err != nil || known == "the primary that died" {
				t.Errorf("the partition is known to lack nothing on %q, %v: no redo follows", known, err)
			}
			w.must(w.redo(w.node(nil)).RunOnce(w.ctx))
			if a, b := w.inRedis(from), w.inRedis(to); a.Stock+b.Stock != 10 {
				t.Errorf("%d units are on sale of 10: %+v, %+v", a.Stock+b.Stock, a, b)
			}
			if wrong := w.audit(sale.Ref()); wrong != "" {
				t.Errorf("P1: %s", wrong)
			}
		})
	}
}
