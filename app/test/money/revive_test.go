package money

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/faults"
)

// deadLetterOf adds the dead letter of a refused order to Redis and returns its id.
func (w *world) deadLetterOf(o shop.Order) string {
	w.t.Helper()
	terms := fmt.Sprintf("2:%d:1:%d:%d:%d:%d:%d:%d:%s:%s:%d:%d:", o.ID, o.Seq-o.Ticket, o.Ticket, o.Hold, o.Qty,
		o.PriceFen, o.SaleVersion, o.ContentHash, o.Key, o.Sale, o.User)
	id, err := w.client.XAdd(w.ctx, &redis.XAddArgs{
		Stream: "stampede:{0}:dead", Values: []any{"terms", terms, "reason", shop.ReasonDead},
	}).Result()
	w.must(err)
	return "0-" + id
}

// replay replays the order of a dead letter, as an operator does.
func (n *node) replay(letter string) error {
	letters := recovery.DeadLetters{Store: n.w.db, Redis: n.w.inventory, Effects: n.effects, PayWindow: payWindow}
	_, err := letters.Replay(n.ctx, letter)
	return err
}

// refuse refuses a pending order as a dead letter. Its units return in the database now, and in Redis now or later.
func (w *world) refuse(o shop.Order) {
	w.t.Helper()
	w.exec("UPDATE orders SET state = 'refused', reason = ?, pay_by = 0 WHERE id = ?", shop.ReasonDead, o.ID)
	w.exec("UPDATE sales SET taken = taken - ? WHERE id = ?", o.Qty, o.Sale)
	_, _ = w.inventory.Stock().Return(w.ctx, []shop.Return{{Sale: o.Ref(), Order: o.ID, Hold: o.Hold, User: o.User}})
}

// P1, I2, I8: a replay takes a hold in Redis, and then Redis is restored without that hold. At each moment of the
// restore, the revival of the row fails and the order stays refused. A later replay succeeds.
func TestRevivalDuringRebuildFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, moment := range []string{advanced, closed, beforeRows, afterRows, afterWrites, beforeOpen, "afterwards"} {
		n, sale := w.node(nil), w.offer(1, 1)
		o := w.order(sale, newID())
		w.refuse(o)
		letter := w.deadLetterOf(o)
		fault := func(_ context.Context, name string, call func() error) (err error) {
			if name != "Orders.Revive" {
				return call()
			}
			done := false
			revive := func() { err = call() }
			w.forceRebuild()
			w.must(n.recoverPartition(func(at string, of shop.ID) {
				if at == moment && (of == 0 || of == sale.ID) && !done {
					done = true
					revive()
				}
			}))
			if !done {
				if moment != "afterwards" {
					t.Errorf("%s: the recovery did not reach this moment", moment)
				}
				revive()
			}
			return err
		}
		n.ctx = faults.With(w.ctx, fault)
		err := n.replay(letter)
		n.ctx = w.ctx
		if row := w.read(o.ID); row.State == shop.Pending {
			t.Errorf("%s: got order state %s, want not pending; replay error %v", moment, row.State, err)
		}
		if problem := w.counterMismatch(sale); problem != "" {
			t.Errorf("%s: I3: %s", moment, problem)
		}
		if a, err := w.inventory.Stock().Audit(w.ctx, sale); err != nil || a.Stock > w.free(sale) {
			t.Errorf("%s: I2: %d units are free in Redis, %d in the database, %v", moment, a.Stock, w.free(sale), err)
		}
		w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
		if err := n.replay(letter); err != nil {
			t.Errorf("%s: still failing after the recovery: %v", moment, err)
		}
	}
}

// free returns the free units of the sale in the database.
func (w *world) free(sale shop.SaleRef) (units int64) {
	w.t.Helper()
	w.must(w.db.DB().NewRaw("SELECT initial + added - withdrawn - taken FROM sales WHERE id = ?", sale.ID).Scan(w.ctx,
		&units))
	return units
}

// P8: late money is settled for an order of a sale that an operator archived after its end.
func TestLatePaymentOfArchivedSaleIsSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(3, 2)
	o := w.order(sale, newID())
	payLate(w, w.node(nil), o)
	w.exec("UPDATE sales SET archived_at = 1 WHERE id = ?", sale.ID)
	w.retry("late payment", func() error { return w.node(nil).settleNow(o) })
	if row := w.read(o.ID); row.State != shop.Paid && row.State != shop.Refunding {
		t.Errorf("the order is %s (%s), want paid or refunding", row.State, row.Reason)
	}
}
