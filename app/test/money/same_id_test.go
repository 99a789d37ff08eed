package money

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2, I1: two nodes with the same node number gave one id to reservations of two sales. The first reservation becomes
// the order. The second becomes a dead letter, its unit is on sale again, and a replay is rejected.
func TestEntryWithUsedOrderIDBecomesDeadLetter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, first, second := w.node(nil), w.offer(3, 1), w.offer(3, 1)
	o := w.order(first, newID())
	b := shop.Buy{Order: o.ID, User: newID(), Sale: second, Qty: 1, Key: "key-same-id", Hash: "0123456789abcdef"}
	if d := w.reserve(b); d.Verdict != shop.VerdictReserved {
		t.Fatalf("got verdict %d, want reserved", d.Verdict)
	}
	var letters []shop.DeadLetter
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		var err error
		letters, err = w.inventory.Queue().DeadLetters(w.ctx)
		w.must(err)
		return len(letters) == 1, fmt.Sprintf("%d dead letters", len(letters))
	})
	if l := letters[0]; l.User != b.User || l.Sale != second.ID || !strings.Contains(
		l.Reason, shop.ErrIDTaken.Error(),
	) {
		t.Errorf("got dead letter %+v, want the second reservation and the reason %q", l, shop.ErrIDTaken)
	}
	w.must(n.reconciler.RunOnce(n.ctx))
	for _, sale := range []shop.SaleRef{first, second} {
		if c, problem := w.redisCounters(sale), w.audit(sale); problem != "" || c.Tickets != 1 || c.Done != 1 ||
			c.Stock+c.Held != 3 || (c.Held == 1) != (sale == first) {
			t.Errorf("sale %s: got counters %+v and audit failures %q", sale.ID, c, problem)
		}
	}
	err := n.replay(letters[0].ID)
	if e := shop.AsError(err); e.Code != shop.WrongState || !strings.Contains(e.Message, "belongs to another order") {
		t.Errorf("got replay error %v, want wrong_state with the reason", err)
	}
	if row := w.read(o.ID); row.User != o.User || row.State != shop.Pending || row.Rev != o.Rev || row.Hold != o.Hold {
		t.Errorf("the other order changed: want %+v, got %+v", o, row)
	}
}
