package money

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// P1, P2, C7: an order has lost its row and its entry. Its units stay reserved, also if Redis is then restored from
// rows, and its sale continues. Its buyer sees that the shop is checking it, until an operator settles it.
func TestOperatorSettlesOrderFromBuyerRecord(t *testing.T) {
	t.Parallel()
	for settlement, state := range map[recovery.Settlement]shop.OrderState{
		recovery.SettleWrite: shop.Pending, recovery.SettleEnd: shop.Cancelled,
	} {
		for _, rebuilt := range []bool{false, true} {
			t.Run(fmt.Sprint(settlement, " rebuilt ", rebuilt), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				n, sale := w.node(nil), w.offer(3, 2)
				o := w.order(sale, newID())
				w.must(w.client.XTrimMaxLen(w.ctx, "stampede:{0}:orders", 0).Err())
				w.deleteRows(o)
				w.simulatePromotion()
				w.wantProblem(n, o.ID)
				if rebuilt {
					w.must(w.client.FlushDB(w.ctx).Err())
					w.wantProblem(n, o.ID)
				}
				w.wantChecking(o)
				if c := w.redisCounters(sale); c.Paused || c.Stock != 2 || c.Held != 1 {
					t.Errorf("got %+v, want 2 free and 1 held, and no pause", c)
				}
				other, bought := w.buy(sale, newID(), 1)
				if !bought {
					t.Error("the sale is stuck")
				}
				n = w.node(nil)
				report, err := n.driver().Settle(w.ctx, o.ID, settlement, 7)
				if err != nil || len(report.Problems) > 0 {
					t.Errorf("Settle returned %v and the report %+v, want no error and no problem", err, report)
				}
				if row := w.read(o.ID); row.State != state || row.User != o.User || row.AmountFen != o.AmountFen ||
					row.Key != o.Key || row.Ticket != o.Ticket || row.InsertedAt == 0 {
					t.Errorf("the row is %+v, want %+v", row, o)
				}
				if w.count("SELECT COUNT(*) FROM problems WHERE decision = ? AND decided_by = 7 AND entry IS NULL", string(settlement)) != 1 {
					t.Error("the decision is not recorded")
				}
				w.awaitRest(sale, []shop.ID{o.ID, other.ID}, t.Errorf)
			})
		}
	}
}

// wantProblem recovers the partition and checks that the order is its only problem.
func (w *world) wantProblem(n *node, order shop.ID) {
	w.t.Helper()
	if problems := w.recoverAll(n); len(problems) != 1 || problems[0].Order != order {
		w.t.Errorf("problems to settle: %+v, want one of order %s", problems, order)
	}
}

// wantChecking checks that the buyer of an order without a row can read the order, but not change it.
func (w *world) wantChecking(o shop.Order) {
	w.t.Helper()
	n := w.node(nil)
	orders, _, err := n.addresses.Reader.OrdersOf(n.ctx, shop.OrdersQuery{User: o.User, Limit: 20})
	read, readErr := n.addresses.Reader.Order(n.ctx, o.User, o.ID)
	if err := errors.Join(err, readErr); err != nil || len(orders) != 1 {
		w.t.Fatalf("the buyer reads %+v and %+v, %v", orders, read, err)
	}
	for _, got := range []shop.Order{read, orders[0]} {
		if got.ID != o.ID || got.State != shop.Reserved || got.Reason != shop.ReasonChecking || got.Qty != o.Qty {
			w.t.Errorf("the buyer reads %+v, want reserved and the reason checking", got)
		}
	}
	if _, err := n.addresses.Reader.Order(n.ctx, newID(), o.ID); shop.AsError(err).Code != shop.NotFound {
		w.t.Errorf("another buyer reads the order: %v", err)
	}
	for name, try := range map[string]func() error{
		"cancel":  func() error { return errOf(n.expirer.Cancel(n.ctx, o.User, o.ID)) },
		"pay":     func() error { return errOf(n.payments.Pay(n.ctx, o.User, o.ID, payment.ViaPage)) },
		"address": func() error { return errOf(n.setAddress(o)) },
	} {
		err := shop.AsError(try())
		if err.Code != shop.WrongState || !strings.Contains(err.Message, shop.ReasonChecking) {
			w.t.Errorf("%s: got %v, want wrong_state and the reason checking", name, err)
		}
	}
	repeat := shop.Buy{Order: newID(), User: o.User, Sale: o.Ref(), Qty: o.Qty, Key: o.Key, Hash: o.ContentHash}
	if d := w.reserve(repeat); d.Verdict != shop.VerdictRepeated || d.Order != o.ID {
		w.t.Errorf("a repeated key got %+v, want the order %s", d, o.ID)
	}
}

// P1, P2, C7: entries that cannot become rows become problems, also if the recovery restarts several times. The other
// entries get rows. No consumer refuses them. An operator settles each problem from its entry.
func TestInvalidEntriesBecomeProblems(t *testing.T) {
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
	if len(problems) != 2 || problems[0].Sale != sale.ID || problems[1].Order != stray.ID {
		t.Fatalf("problems to settle: %+v, want one of sale %s and order %s", problems, sale.ID, stray.ID)
	}
	for _, p := range problems {
		if !strings.Contains(p.Text, "cannot become a row") {
			t.Errorf("got problem %+v", p)
		}
	}
	if rows, err := w.db.Orders().OrdersOfSale(w.ctx, sale.ID, 0, 10); err != nil || len(rows) != 2 {
		t.Errorf("got %d rows (%v), want 2", len(rows), err)
	}
	last := orders[slices.IndexFunc(orders, func(o shop.Order) bool { return o.ID == problems[0].Order })]
	if _, err := n.driver().Settle(w.ctx, last.ID, recovery.SettleWrite, 0); shop.AsError(err).Code != shop.WrongState {
		t.Errorf("a row without units was written: %v", err)
	}
	w.exec("UPDATE sales SET initial = 3 WHERE id = ?", sale.ID)
	w.must(errOf(n.driver().Settle(w.ctx, last.ID, recovery.SettleWrite, 0)))
	report, err := n.driver().Settle(w.ctx, stray.ID, recovery.SettleEnd, 0)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("Settle returned %v and the report %+v, want no error and no problem", err, report)
	}
	row := w.read(last.ID)
	if row.State != shop.Pending || row.PriceFen != last.PriceFen || row.SaleVersion != last.SaleVersion {
		t.Errorf("the row is %+v, want %+v", row, last)
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
