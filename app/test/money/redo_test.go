package money

import (
	"context"
	"fmt"
	"testing"

	"stampede/app"
)

// redo is what gives the database back what it lacks, on a node that lives.
func (w *world) redo(n *node) *app.Redo {
	return &app.Redo{
		Partitions: 1, Database: w.db, Redis: w.inventory, Inventory: n.ports.Inventory(), Orders: w.db, Sales: w.db,
		Fulfiller: n.fulfiller, Cashier: n.cashier,
	}
}

// keep answers what makes the database forget all that happens to an order from now on, and to the units of its sale.
func (w *world) keep(o app.Order) (forget func()) {
	w.t.Helper()
	tables := map[string]string{"orders": "id", "trades": "order_id", "payments": "order_id", "outbox": "order_id"}
	for table, column := range tables {
		w.exec(fmt.Sprintf("CREATE TABLE kept_%s AS SELECT * FROM %s WHERE %s = ?", table, table, column), o.ID)
		w.t.Cleanup(func() { w.exec("DROP TABLE kept_" + table) })
	}
	var taken int64
	w.must(w.db.DB().NewRaw("SELECT taken FROM sales WHERE id = ?", o.Sale).Scan(w.ctx, &taken))
	return func() {
		w.t.Helper()
		for table, column := range tables {
			w.exec(fmt.Sprintf("DELETE FROM %s WHERE %s = ?", table, column), o.ID)
			w.exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM kept_%s", table, table))
		}
		w.exec("UPDATE sales SET taken = ? WHERE id = ?", taken, o.Sale)
	}
}

// P1, P8: a promoted database has forgotten that late money revived an order, at any moment of that. The slow scan
// gives nobody the units; the gateway says once more that they are paid.
func TestForgottenLateMoneyIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]int{"the whole of it": 0, "the units were held": 6, "the order was paid": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sale := w.offer(3, 2)
			o := w.order(sale, newID())
			late(w, w.node(nil), o)
			forget := w.keep(w.read(o.ID))
			if dies == 0 {
				w.until("late money", func() error { return w.node(nil).hear(o) })
			} else {
				_ = w.node(&mortal{left: dies}).hear(o)
			}
			held := w.inRedis(sale)
			if held.Held+held.Sold != 1 {
				t.Fatalf("nothing was forgotten: %+v", held)
			}
			forget()
			n := w.node(nil)
			w.must(n.scan.RunOnce(w.ctx))
			if now := w.inRedis(sale); now.Stock != held.Stock {
				t.Errorf("the units of a revived order are on sale: %+v, before %+v", now, held)
			}
			report, err := w.redo(n).All(w.ctx)
			w.must(err)
			if row := w.read(o.ID); row.State != app.Paid || report.Payments != 1 || len(report.Missing) > 0 {
				t.Errorf("the order is %s (%s), hold %d: %+v", row.State, row.Reason, row.Hold, report)
			}
			w.rest(sale, []app.ID{o.ID}, t.Errorf)
		})
	}
}

// P1: a promoted database has forgotten that an operator had the entry of a refused order tried again. The slow scan
// leaves the hold alone; the redo says so, and the units are on sale again.
func TestForgottenReplayIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(3, 2)
	o := w.order(sale, newID())
	w.refused(o)
	forget := w.keep(w.read(o.ID))
	n := w.node(nil)
	w.until("tried again", func() error { return n.replay(o.ID, w.db) })
	forget()
	w.must(n.scan.RunOnce(w.ctx))
	if c := w.inRedis(sale); c.Held != 1 {
		t.Errorf("the slow scan has taken the hold of an order that it knows nothing of: %+v", c)
	}
	report, err := w.redo(n).All(w.ctx)
	w.must(err)
	if len(report.Missing) != 1 || report.Missing[0].Order != o.ID {
		t.Errorf("%+v", report)
	}
	if c := w.inRedis(sale); c.Stock != 3 || c.Held != 0 {
		t.Errorf("%+v", c)
	}
	if wrong := w.audit(sale); wrong != "" {
		t.Errorf("P1: %s", wrong)
	}
}

// countedWalks says how often somebody walks through the stream.
type countedWalks struct {
	app.RedoSource
	walks int
}

func (c *countedWalks) Leftover(ctx context.Context, partition int, each func([]app.Entry) error) error {
	c.walks++
	return c.RedoSource.Leftover(ctx, partition, each)
}

// failingAdded is a store that cannot restore the added units of one sale.
type failingAdded struct {
	app.SaleStore
	sale app.ID
}

func (f *failingAdded) RestoreAdded(ctx context.Context, sale app.ID, added int64) (int64, error) {
	if sale == f.sale {
		return 0, fmt.Errorf("%w: the row is locked", app.ErrTransient)
	}
	return f.SaleStore.RestoreAdded(ctx, sale, added)
}

// P1, P2: the orders of a sale whose lost units cannot be restored yet wait for them; those of other sales are written.
// The stream is not read again before the units are back.
func TestRedoGoesOnBesideASaleThatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waits, plain := w.offer(5, 2), w.offer(5, 2)
	w.must(stockAct(w, w.saleDesk(nil), operator(), waits.ID, 1, 5))
	var lost []app.Order
	for range 7 {
		lost = append(lost, w.order(waits, newID())) // the database will know of five units
	}
	other := w.order(plain, newID())
	w.exec("UPDATE sales SET added = 0 WHERE id = ?", waits.ID)
	w.exec("DELETE FROM orders")
	w.exec("UPDATE sales SET taken = 0")
	w.must(w.inventory.NoteDatabase(w.ctx, 0, "the primary that died"))

	sales := &failingAdded{w.db, waits.ID}
	source := &countedWalks{RedoSource: w.inventory}
	redo := w.redo(w.node(nil))
	redo.Redis, redo.Sales = source, sales
	for range 3 {
		if err := redo.RunOnce(w.ctx); err == nil {
			t.Error("a redo that is not done says that it is")
		}
	}
	if row := w.read(other.ID); row.State != app.Pending {
		t.Errorf("the order of the other sale is %s", row.State)
	}
	if rows, err := w.db.OrdersOfSale(w.ctx, waits.ID, 0, 10); err != nil || len(rows) > 0 {
		t.Errorf("%d orders of the sale that waits were written, %v", len(rows), err)
	}
	if source.walks != 1 {
		t.Errorf("the stream was walked through %d times in three tries, want once", source.walks)
	}
	sales.sale = 0
	w.must(redo.RunOnce(w.ctx))
	for _, o := range lost {
		if row := w.read(o.ID); row.State != app.Pending {
			t.Errorf("an order of the sale that waited is %s, %s", row.State, row.Reason)
		}
	}
	now, err := w.db.Clock(w.ctx)
	w.must(err)
	if known, err := w.inventory.KnownDatabase(w.ctx, 0); err != nil || known != now.History {
		t.Errorf("the partition is known to lack nothing on %q, %v", known, err)
	}
	w.must(redo.RunOnce(w.ctx))
	if source.walks != 2 {
		t.Errorf("the stream was walked through %d times, want twice", source.walks)
	}
	for _, ref := range []app.SaleRef{waits, plain} {
		if wrong := w.audit(ref); wrong != "" {
			t.Errorf("P1: %s", wrong)
		}
	}
}

// P1, P2: a promoted database has forgotten what operators had decided about a sale, from before it was loaded or
// later. A redo, or a rebuild that comes first, takes it from Redis; what is decided next counts for something newer
// there.
func TestForgottenEditsAreLearnt(t *testing.T) {
	t.Parallel()
	for how, learn := range map[string]func(w *world) error{
		"by a redo": func(w *world) error { return errOf(w.redo(w.node(nil)).All(w.ctx)) },
		"by a rebuild": func(w *world) error {
			w.lose()
			return w.node(nil).rebuilds(nil)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			paused, edited := w.offer(5, 2), w.offer(5, 2)
			unsold := w.offer(4, 2)
			w.order(edited, newID())
			act := app.SaleAct{Version: w.sale(paused.ID).Version}
			w.must(errOf(w.saleDesk(nil).PauseSale(w.ctx, operator(), paused.ID, act)))
			w.must(w.finish())
			want := w.sale(paused.ID)

			w.exec("UPDATE sales SET version = version - 1, paused = 0 WHERE id = ?", paused.ID)
			// Before it was loaded it had nine units, another price and another limit; since then it was archived.
			w.exec("UPDATE sales SET version = 0, epoch = 0, initial = 9, price_fen = 1, buyer_limit = 7, archived_at = 1"+
				" WHERE id = ?", edited.ID)
			w.exec("UPDATE sales SET version = 0, epoch = 0, initial = 9 WHERE id = ?", unsold.ID)
			w.must(learn(w))

			if now := w.sale(paused.ID); !now.Paused || now.Version != want.Version {
				t.Errorf("the sale that was paused: %+v", now)
			}
			now := w.sale(edited.ID)
			if now.Initial != 5 || now.PriceFen != priceFen || now.Limit != 2 || now.Version != 1 {
				t.Errorf("the sale that was edited: %+v", now)
			}
			if now := w.sale(unsold.ID); now.Initial != 4 || now.Epoch == 0 || now.Version != 1 {
				t.Errorf("the sale that has sold nothing: %+v", now)
			}
			act = app.SaleAct{Version: w.sale(paused.ID).Version}
			w.must(errOf(w.saleDesk(nil).ResumeSale(w.ctx, operator(), paused.ID, act)))
			w.must(w.finish())
			for _, ref := range []app.SaleRef{paused, edited, unsold} {
				c := w.inRedis(ref)
				if c.Paused || c.Version != w.sale(ref.ID).Version {
					t.Errorf("sale %s: %+v, its row is at version %d", ref.ID, c, w.sale(ref.ID).Version)
				}
				if wrong := w.audit(ref); wrong != "" {
					t.Errorf("P1: %s", wrong)
				}
			}
		})
	}
}

func errOf[T any](_ T, err error) error { return err }
