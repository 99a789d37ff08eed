package store_test

import (
	"testing"

	"stampede/app/shop"
	"stampede/app/store"
)

// A product that ships is paid only after its order has a delivery address. A product without delivery needs none.
func TestTradeOfShippedProductNeedsAddress(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		open := func(o shop.Order) error { return errOf(h.OpenTrade(h.ctx, o.ID, o.User, opens+3, margin)) }
		unaddressed := func() shop.Order {
			o := h.order(h.sales[0], 1)
			o.Address = nil
			return h.insert(o)[0].Order
		}
		h.must(open(unaddressed()))

		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE products SET ships = 1")))
		o := unaddressed()
		if err := open(o); shop.AsError(err).Code != shop.AddressRequired {
			t.Errorf("OpenTrade without an address returned %v, want address_required", err)
		}
		if row := h.read(o.ID); row.TradeOpened != 0 {
			t.Error("a trade was opened without an address")
		}
		h.must(errOf(setAddress(h, o)))
		h.must(open(o))
	})
}

// P8: the back office receives the new address of a paid order. A repeat sends nothing. The address of an order that is
// shipped, has ended or belongs to another user stays as it is.
func TestAddressOfPaidOrderIsPostedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		paid := paidOrder(h)
		for range 2 {
			h.must(errOf(setAddress(h, paid)))
		}
		row := h.read(paid.ID)
		if row.Address.Text != "Home" || row.Rev != paid.Rev+1 || row.State != shop.Paid {
			t.Errorf("got %s, rev %d, address %v; want paid, rev %d and the new address", row.State, row.Rev, row.Address, paid.Rev+1)
		}
		postings := val(h.ClaimOutbox(h.ctx, opens+1000, 100))(t)
		if len(postings) != 2 || postings[1].Rev != row.Rev || *postings[1].Address != *row.Address {
			t.Errorf("got postings %+v, want those of the payment and of the address", postings)
		}
		for name, o := range map[string]shop.Order{"a shipped order": shippedOrder(h), "an expired order": expiredOrder(h)} {
			h.must(errOf(setAddress(h, o)))
			if row := h.read(o.ID); row.Rev != o.Rev || *row.Address != *o.Address {
				t.Errorf("%s: got rev %d and address %v, want no change", name, row.Rev, row.Address)
			}
		}
		stranger := paid
		stranger.User++
		wantErr(t, "an order of another user", errOf(setAddress(h, stranger)), shop.ErrNoRow)
	})
}
