package money

import (
	"slices"
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// P1, P2: an order has lost its row and its entry. Its sale is stuck and shown as paused, a repeated key gets the same
// reply, and an operator settles the order from the buyer's record.
func TestOperatorSettlesOrderFromBuyerRecord(t *testing.T) {
	t.Parallel()
	for settlement, state := range map[recovery.Settlement]shop.OrderState{
		recovery.SettleWrite: shop.Pending, recovery.SettleEnd: shop.Cancelled,
	} {
		t.Run(string(settlement), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, sale := w.node(nil), w.offer(3, 2)
			o := w.order(sale, newID())
			w.must(w.client.XTrimMaxLen(w.ctx, "stampede:{0}:orders", 0).Err())
			w.deleteRows(o)
			w.simulatePromotion()
			if problems := w.recoverAll(n); len(problems) != 1 || problems[0].Order != o.ID {
				t.Errorf("problems to settle: %+v", problems)
			}
			repeat := shop.Buy{Order: newID(), User: o.User, Sale: sale, Qty: 1, Key: o.Key, Hash: o.ContentHash}
			if d := w.reserve(repeat); d.Verdict != shop.VerdictRepeated || d.Order != o.ID {
				t.Errorf("a repeated key got %+v, want the order %s", d, o.ID)
			}
			other := shop.Buy{Order: newID(), User: newID(), Sale: sale, Qty: 1, Key: "key-other", Hash: o.ContentHash}
			if d := w.reserve(other); d.Verdict != shop.VerdictPaused || !w.redisCounters(sale).Paused {
				t.Errorf("a buy of a stuck sale got %+v", d)
			}
			n = w.node(nil)
			report, err := n.driver().Settle(w.ctx, o.ID, settlement)
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("Settle returned %v and the report %+v, want no error and no problem", err, report)
			}
			if row := w.read(o.ID); row.State != state || row.User != o.User || row.AmountFen != o.AmountFen ||
				row.Key != o.Key || row.Ticket != o.Ticket || row.InsertedAt == 0 {
				t.Errorf("the row is %+v, want %+v", row, o)
			}
			if _, bought := w.buy(sale, newID(), 1); !bought {
				t.Error("the sale is still stuck")
			}
			w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
		})
	}
}

// P1, P2: invalid entries become dead letters, once, even if the recovery restarts several times. The other entries get
// rows. The sale is stuck until an operator settles the problem.
func TestInvalidEntriesBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(3, 2)
	orders := []shop.Order{w.order(sale, newID()), w.order(sale, newID()), w.order(sale, newID())}
	unknown := w.offer(1, 1)
	stray := w.order(unknown, newID())
	w.deleteRows(append(orders, stray)...)
	w.exec("UPDATE sales SET initial = 2 WHERE id = ?", sale.ID) // the sums differ
	w.exec("DELETE FROM sales WHERE id = ?", unknown.ID)         // created within the lag
	w.simulatePromotion()
	for calls := 1; calls < 30; calls++ {
		_ = w.node(&dyingProcess{callsLeft: calls}).recoverPartition(nil)
	}
	problems := w.recoverAll(n)
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "has no row") {
		t.Errorf("problems to settle: %+v", problems)
	}
	letters, err := w.inventory.Queue().DeadLetters(w.ctx)
	w.must(err)
	if len(letters) != 2 || slices.ContainsFunc(letters, func(l shop.DeadLetter) bool { return l.Reason != "recovery" }) {
		t.Errorf("got dead letters %+v, want 2 with the reason recovery", letters)
	}
	if rows, err := w.db.Orders().OrdersOfSale(w.ctx, sale.ID, 0, 10); err != nil || len(rows) != 2 {
		t.Errorf("got %d rows (%v), want 2", len(rows), err)
	}
	w.exec("UPDATE sales SET initial = 3 WHERE id = ?", sale.ID)
	report, err := n.driver().Settle(w.ctx, problems[0].Order, recovery.SettleWrite)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("Settle returned %v and the report %+v, want no error and no problem", err, report)
	}
	if problem := w.audit(sale); problem != "" {
		t.Errorf("P1: %s", problem)
	}
}

// P1, P2: operations of operators within the lag are imported from Redis, but only newer versions. This holds for a
// recovery of the database alone and together with Redis. The next operation has a newer version in Redis.
func TestRecoveryImportsNewerOperations(t *testing.T) {
	t.Parallel()
	for name, restores := range map[string]bool{"the database": false, "the database and Redis": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			paused, edited, unsold, added := w.offer(5, 2), w.offer(5, 2), w.offer(4, 2), w.offer(2, 2)
			o := w.order(edited, newID())
			saleOperation := backoffice.SaleOperation{Version: w.sale(paused.ID).Version}
			w.must(errOf(w.saleService().PauseSale(w.ctx, operator(), paused.ID, saleOperation)))
			w.must(w.runFinisher())
			want := w.sale(paused.ID)
			w.must(w.changeStock(w.ctx, operator(), added.ID, 1, 5))
			var bought []shop.Order
			for range 6 {
				bought = append(bought, w.order(added, newID()))
			}
			w.deleteRows(bought...)
			w.deleteRows(o)
			w.exec("UPDATE sales SET added = 0 WHERE id = ?", added.ID)
			w.exec("UPDATE sales SET version = version - 1, paused = 0 WHERE id = ?", paused.ID)
			// Before the sale was loaded, it had nine units, another price and another limit. It was archived
			// afterwards.
			w.exec("UPDATE sales SET version = 0, epoch = 0, initial = 9, price_fen = 1, buyer_limit = 7, archived_at = 1"+
				" WHERE id = ?", edited.ID)
			w.exec("UPDATE sales SET version = 0, epoch = 0, initial = 9 WHERE id = ?", unsold.ID)
			w.simulatePromotion()
			if restores {
				w.forceRebuild()
			}
			if problems := w.recoverAll(w.node(nil)); len(problems) > 0 {
				t.Errorf("problems to settle: %+v", problems)
			}
			if now := w.sale(paused.ID); !now.Paused || now.Version != want.Version {
				t.Errorf("the paused sale: %+v", now)
			}
			now := w.sale(edited.ID)
			if now.Initial != 5 || now.PriceFen != priceFen || now.Limit != 2 || now.Version != 1 {
				t.Errorf("the edited sale: %+v", now)
			}
			if now := w.sale(unsold.ID); now.Initial != 4 || now.Epoch == 0 || now.Version != 1 {
				t.Errorf("the sale without orders: %+v", now)
			}
			if c := w.redisCounters(added); c.Stock != 1 || c.Held != 6 {
				t.Errorf("the sale with added units: %+v", c)
			}
			saleOperation = backoffice.SaleOperation{Version: w.sale(paused.ID).Version}
			w.must(errOf(w.saleService().ResumeSale(w.ctx, operator(), paused.ID, saleOperation)))
			w.must(w.runFinisher())
			for _, ref := range []shop.SaleRef{paused, edited, unsold, added} {
				c := w.redisCounters(ref)
				if c.Paused || c.Version != w.sale(ref.ID).Version {
					t.Errorf("sale %s: got counters %+v, want not paused and version %d", ref.ID, c, w.sale(ref.ID).Version)
				}
				if problem := w.audit(ref); problem != "" {
					t.Errorf("P1: %s", problem)
				}
			}
		})
	}
}

// P1: a withdrawal that was settled, or decided by Redis, within the lag keeps its units off sale. Redis treats the
// next withdrawal as a new one.
func TestRecoveryKeepsWithdrawnUnitsOffSale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, sale := w.node(nil), w.offer(9, 2)
	w.must(w.changeStock(w.ctx, operator(), sale.ID, 1, -2))
	w.exec("DELETE FROM stock_operations")
	w.exec("UPDATE sales SET withdrawn = 0 WHERE id = ?", sale.ID)
	w.simulatePromotion()
	if problems := w.recoverAll(n); len(problems) > 0 {
		t.Errorf("problems to settle: %+v", problems)
	}
	h, err := w.db.History().Read(w.ctx)
	w.must(err)
	w.db.History().Trust(h.Server, h.Generation)
	w.must(w.changeStock(w.ctx, operator(), sale.ID, w.sale(sale.ID).Version, -3))
	if c := w.redisCounters(sale); c.Stock != 4 || c.Withdrawn != 5 {
		t.Errorf("got %+v, want 4 free and 5 withdrawn", c)
	}
	if problem := w.audit(sale); problem != "" {
		t.Errorf("P1: %s", problem)
	}
}
