package money

import (
	"fmt"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P1, P2: setting the address of a reservation that no worker has read writes the row of the order, with its deadline.
// The worker settles the entry later: one row, one hold, and the address stays.
func TestAddressOfReservationIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale, n := w.offer(5, 2), w.node(nil)
	w.stopWorker()
	o := shop.Order{ID: newID(), User: newID()}
	w.reserve(shop.Buy{
		Order: o.ID, User: o.User, Sale: sale, Qty: 1, Key: "key-" + o.ID.String(), Hash: "0123456789abcdef",
	})
	if _, err := n.setAddress(shop.Order{ID: o.ID, User: o.User + 1}); shop.AsError(err).Code != shop.NotFound {
		t.Errorf("another user sets the address: got %v, want not_found", err)
	}
	for range 2 { // a repeat changes nothing
		state, err := n.setAddress(o)
		if err != nil || state != shop.Pending {
			t.Fatalf("got state %s, %v; want pending", state, err)
		}
	}
	w.startWorker()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		done := w.redisCounters(sale).Done
		return done == 1, fmt.Sprintf("%d entries are settled", done)
	})
	row := w.read(o.ID)
	if row.State != shop.Pending || row.Rev != shop.FirstRev || row.Address == nil || *row.Address != homeAddress {
		t.Errorf("got %s, rev %d, address %v; want pending, rev 1 and the address", row.State, row.Rev, row.Address)
	}
	if problem := w.audit(sale); problem != "" {
		t.Error(problem)
	}
	w.passDeadline(o.ID)
	w.awaitRest(sale, []shop.ID{o.ID}, t.Errorf)
	if row := w.read(o.ID); row.State != shop.Expired {
		t.Errorf("after the deadline: got %s, want expired", row.State)
	}
}
