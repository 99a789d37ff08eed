package money

import (
	"testing"

	"stampede/app"
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
