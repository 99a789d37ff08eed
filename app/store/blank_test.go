package store_test

import (
	"strings"
	"testing"
	"time"

	"stampede/app/payment"
	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/app/store"
)

// wantNoPersonalData searches whole tables for the names, addresses and texts of the buyers.
func (s *testShop) wantNoPersonalData(where string) {
	s.t.Helper()
	for _, query := range []string{
		"SELECT COALESCE(address, '') FROM orders", "SELECT tracking FROM orders", "SELECT tracking FROM shipments",
		"SELECT reason FROM refunds", "SELECT text FROM addresses",
	} {
		var texts []string
		s.must(s.DB().NewRaw(query).Scan(s.ctx, &texts))
		for _, text := range texts {
			for _, personal := range []string{"王小明", "13800000000", "Road", "SF-", "Mei", "home"} {
				if strings.Contains(text, personal) {
					s.t.Errorf("%s: the row of %s still contains %q", where, query, text)
				}
			}
		}
	}
}

func (s *testShop) blankAll(sale shop.ID, limit int) (blanked int64) {
	s.t.Helper()
	for after := shop.ID(0); ; {
		n, last, err := s.BlankOrders(s.ctx, sale, after, limit)
		s.must(err)
		if blanked += n; last == 0 {
			return blanked
		}
		after = last
	}
}

// Personal data is removed from orders, and from their shipments and refunds, in steps of any size. Unfinished orders
// keep their personal data until they end.
func TestPersonalDataIsBlanked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 50)
		sale := h.sales[0]
		for range 3 {
			h.finished(sale)
			h.refunded(sale)
			h.cancelled(sale)
		}
		waiting := h.paid(sale, 1)
		h.settleAll()
		h.closeLongAgo(sale)
		if blanked := h.blankAll(sale, 2); blanked != 9 {
			t.Errorf("got %d blanked orders, want 9", blanked)
		}
		if o := h.read(waiting.ID); o.Address == nil {
			t.Error("an order that is to be shipped has lost its address")
		}
		if remaining, err := h.PlanBlank(h.ctx, sale, 5); err != nil || !remaining {
			t.Errorf("with an unfinished order: got remaining %v (%v), want true", remaining, err)
		}
		h.ship(shippingOptions, parcel(waiting.ID))
		_, _, err := h.ConfirmReceipt(h.ctx, waiting.ID, waiting.User, opens+90)
		h.must(err)
		h.settleAll()
		if blanked := h.blankAll(sale, 2); blanked != 1 {
			t.Errorf("after the last order finished: got %d blanked orders, want 1", blanked)
		}
		h.wantNoPersonalData("blanked")
		if remaining, err := h.PlanBlank(h.ctx, sale, 5); err != nil || remaining {
			t.Errorf("after the last order: got remaining %v (%v), want false", remaining, err)
		}
		if again := h.blankAll(sale, 2); again != 0 {
			t.Errorf("blanked %d orders again, want 0", again)
		}
		h.wantTaken(sale, 7)
	})
}

// The erasure of a user removes the same personal data from orders, shipments and refunds; orders of other users keep
// their data.
func TestErasureBlanksAllOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 20, 20)
		user := nextID()
		giveToUser := func(o shop.Order) shop.Order {
			t.Helper()
			for _, set := range []string{
				"orders SET user_id = ?, changed_at = changed_at WHERE id = ?", "refunds SET requested_by = ? WHERE order_id = ?",
			} {
				h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE "+set, user, o.ID)))
			}
			return o
		}
		for _, sale := range h.sales {
			giveToUser(h.finished(sale))
			giveToUser(h.refunded(sale))
			giveToUser(h.cancelled(sale))
		}
		sent := giveToUser(h.paid(h.sales[0],
			1)) // later refunded: its shipment is not finished, and its email is not sent
		h.ship(shippingOptions, parcel(sent.ID))
		h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: sent.ID, By: 7, Approved: true, At: opens})))
		h.must(errOf(h.FinishRefund(h.ctx, sent.ID, opens)))
		waiting := giveToUser(h.paid(h.sales[0], 1))
		h.settleAll()
		h.closeLongAgo(h.sales[1])
		h.must(h.Erase(h.ctx, user, nil, opens, opens))
		blanked, remaining, err := h.BlankAddresses(h.ctx, user)
		h.must(err)
		if blanked != 7 || remaining != 1 || h.read(waiting.ID).Address == nil {
			t.Errorf("blanked %d orders, %d left; want 7 and 1, the unfinished order with its address",
				blanked, remaining)
		}
		h.ship(shippingOptions, parcel(waiting.ID))
		_, _, err = h.ConfirmReceipt(h.ctx, waiting.ID, user, opens+90)
		h.must(err)
		h.settleAll()
		if blanked, remaining, err = h.BlankAddresses(h.ctx, user); err != nil || blanked != 1 || remaining != 0 {
			t.Errorf("after the receipt: blanked %d orders, %d left (%v); want 1 and 0", blanked, remaining, err)
		}
		h.wantNoPersonalData("erased")
		others := h.cancelled(h.sales[0])
		if _, _, err = h.BlankAddresses(h.ctx, user); err != nil || h.read(others.ID).Address == nil {
			t.Errorf("an order of another user lost its address (%v): %+v", err, h.read(others.ID))
		}
	})
}

// Old addresses of guests are deleted; those of accounts, and recent ones, stay.
func TestOldGuestAddressesAreDeleted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		account := shop.User{
			ID: nextID(), Email: "ada@mail.example", Name: "Ada", Role: shop.Shopper, Lang: "en", State: shop.UserActive,
			CreatedAt: opens,
		}
		h.must(h.AddUser(h.ctx, account))
		guest, young := nextID(), nextID()
		for i, user := range []shop.ID{guest, guest, account.ID, guest, young} {
			h.must(errOf(h.AddAddress(h.ctx, user, savedAddress("home "+string(rune('a'+i)), false), 20)))
		}
		_, err := h.DB().ExecContext(h.ctx, "UPDATE addresses SET created_at = CASE WHEN user_id = ? THEN ? ELSE ? END", young,
			opens, opens.Add(-time.Hour))
		h.must(err)
		deleted := int64(0)
		for after := shop.ID(0); ; {
			n, last, err := h.DeleteGuestAddresses(h.ctx, opens, after, 2)
			h.must(err)
			if deleted += n; last == 0 {
				break
			}
			after = last
		}
		if deleted != 3 || h.countRows("addresses") != 2 {
			t.Errorf("deleted %d addresses, %d left; want 3 and 2", deleted, h.countRows("addresses"))
		}
	})
}

// The job is killed at each of its queries; the next run continues.
func TestBlankerContinuesAfterEachCrash(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		d := &queryKiller{}
		s.HookQueries(d)
		h := newShop(t, s, 50, 50)
		for _, sale := range h.sales {
			h.finished(sale)
			h.refunded(sale)
			h.cancelled(sale)
		}
		h.settleAll()
		for _, sale := range h.sales {
			h.closeLongAgo(sale)
		}
		job, killed := &privacy.BlankerJob{Store: s, After: privacy.MinAge}, 0
		d.killAtEach(h, job.RunOnce, func(killedAt string, err error) {
			if killedAt == "" {
				h.must(err)
				return
			}
			killed++
			h.wantTaken(h.sales[0], 2)
		})
		if killed < 5 || job.Blanked() < 6 {
			t.Errorf("killed %d times, %d blanked orders", killed, job.Blanked())
		}
		h.wantNoPersonalData("after all runs")
		later := h.clock().At.Add(365 * 24 * time.Hour)
		if sales := val(h.SalesToBlank(h.ctx, later, h.clock().At, 10))(t); len(sales) != 0 {
			t.Errorf("the sales %v are checked again, want none", sales)
		}
	})
}

// Nothing is removed shortly before or after an opening, from a sale in Redis, or if the age is 0.
func TestBlankerPausesAroundOpenings(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 50, 50, 50)
		o, loaded := h.finished(h.sales[0]), h.finished(h.sales[2])
		h.settleAll()
		h.closeLongAgo(h.sales[0])
		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET closes_at = ? WHERE id = ?", closedAt, h.sales[2])))
		run := func(after time.Duration, opens shop.Millis, kept bool) {
			t.Helper()
			h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET opens_at = ? WHERE id = ?", opens, h.sales[1])))
			h.must((&privacy.BlankerJob{Store: s, After: after}).RunOnce(h.ctx))
			if got := h.read(o.ID).Address != nil; got != kept {
				t.Errorf("after %v, opening at %d: the address is kept: %v, want %v", after, opens, got, kept)
			}
		}
		now := h.clock().At
		run(0, closedAt, true)
		run(privacy.MinAge, now.Add(time.Minute), true)
		run(privacy.MinAge, now.Add(-time.Minute), true)
		run(privacy.MinAge, closedAt, false)
		if h.read(loaded.ID).Address == nil {
			t.Error("an order of a sale in Redis lost its address")
		}
	})
}
