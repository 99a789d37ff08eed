package store_test

import (
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
)

// P8: one node at a time compares. A comparison of an order replaces its differences; the others stay.
func TestDifferencesStayUntilTheyEnd(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		differences := h.Store.Differences()
		progress := func(want payment.ListingProgress) {
			t.Helper()
			wantEqual(t, "progress (-want +got)", want, val(differences.Progress(h.ctx))(t))
		}
		progress(payment.ListingProgress{})
		for _, want := range []bool{true, false} {
			if claimed := val(differences.Claim(h.ctx, 0, 1000))(t); claimed != want {
				t.Errorf("got claimed %v, want %v", claimed, want)
			}
		}
		odd := func(order shop.ID) payment.PayDifference {
			return payment.PayDifference{Order: order, Kind: "odd", Message: "wrong_amount"}
		}
		h.must(differences.Save(h.ctx, []shop.ID{1, 2}, []payment.PayDifference{odd(1), odd(2), odd(2)}, 1700, 1000))
		h.must(differences.Save(h.ctx, []shop.ID{2, 3}, []payment.PayDifference{odd(3)}, 1600, 1100))
		wantEqual(t, "differences (-want +got)", []payment.PayDifference{odd(1), odd(3)}, val(differences.List(h.ctx, 10))(t))
		wantEqual(t, "orders (-want +got)", []shop.ID{1, 3}, val(differences.Orders(h.ctx))(t))
		if n := val(differences.Count(h.ctx))(t); n != 2 {
			t.Errorf("got %d orders with differences, want 2", n)
		}
		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE history SET doubt_until = 5000")))
		progress(payment.ListingProgress{Until: 1700, At: 1000, DoubtUntil: 5000})
	}, 1)
}
