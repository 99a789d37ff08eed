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
		day := shop.Millis(payment.ListingStep.Milliseconds())
		progress, claimed, err := differences.Claim(h.ctx, day+1000, day+999)
		if err != nil || !claimed || progress.Until != 1000 {
			t.Errorf("got progress %+v, claimed %v (%v), want the first claim", progress, claimed, err)
		}
		if _, claimed, err = differences.Claim(h.ctx, day+1500, day+999); err != nil || claimed {
			t.Errorf("claimed twice (%v)", err)
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
		progress, claimed, err = differences.Claim(h.ctx, day+2000, day+1000)
		if err != nil || !claimed || progress.Until != 1700 || progress.DoubtUntil != 5000 {
			t.Errorf("got progress %+v, claimed %v (%v), want the claim after 1700", progress, claimed, err)
		}
	}, 1)
}
