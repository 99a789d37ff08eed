package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// testUser is a user with an account, a device, addresses and orders in many states.
type testUser struct {
	*testShop
	data   *privacy.PersonalData
	eraser *privacy.EraserJob
	user   shop.User
	now    shop.Millis
	orders map[shop.OrderState]shop.ID
	closed shop.ID // expired after its payment was opened; the gateway has reported the final state
	opened shop.ID // expired; the gateway has not reported the final state
}

var errWrongPassword = shop.Fail(shop.Forbidden, "the password is wrong")

func newTestUser(h *testShop) *testUser {
	h.t.Helper()
	s := h.Store
	p := &testUser{testShop: h, now: opens, orders: make(map[shop.OrderState]shop.ID)}
	p.user = shop.User{
		ID: nextID(), Email: "ada" + nextID().String() + "@mail.example", Name: "Ada", Role: shop.Shopper, Lang: "en",
		Password: "hash", State: shop.UserActive, CreatedAt: opens, ActivatedAt: opens,
	}
	p.must(s.Accounts().AddUser(p.ctx, p.user))
	p.must(s.Sessions().AddDevice(p.ctx, shop.Device{
		ID: nextID(), User: p.user.ID, Name: "Phone", RefreshHash: strings.Repeat("a", 64), RotatedAt: opens,
		CreatedAt: opens, LastSeenAt: opens, ExpiresAt: opens.Add(1000 * time.Hour),
	}, &p.user))
	now := func() shop.Millis { return p.now }
	p.data = &privacy.PersonalData{
		Store: s, Now: now,
		CheckPassword: func(_ context.Context, u *shop.User, password string) error {
			if u.Password != "hash" || password != "secret" {
				return errWrongPassword
			}
			return nil
		},
	}
	p.eraser = &privacy.EraserJob{Store: s, Now: now}
	for _, text := range []string{"home", "office"} {
		p.must(errOf(s.Addresses().AddAddress(p.ctx, p.user.ID, savedAddress(text, false), 20)))
	}
	for _, state := range []shop.OrderState{
		shop.Pending, shop.Paid, shop.Shipped, shop.Finished, shop.Cancelled, shop.Expired, shop.Refused,
		shop.Refunding, shop.Refunded,
	} {
		p.orders[state] = p.orderIn(state)
	}
	p.opened, p.closed = p.orderIn(shop.Expired), p.orderIn(shop.Expired)
	for order, check := range map[shop.ID]any{p.opened: opens, p.closed: nil} {
		_, err := s.DB().Exec("INSERT INTO trades (order_id, opened_at, expires_at, check_at) VALUES (?, ?, ?, ?)", order, opens,
			opens, check)
		p.must(err)
	}
	return p
}

// orderIn makes an order of the user in the given state.
func (t *testUser) orderIn(state shop.OrderState) shop.ID {
	t.t.Helper()
	o := t.order(t.sales[0], 1)
	o.User = t.user.ID
	t.insert(o)
	t.must(errOf(t.DB().Exec("UPDATE orders SET state = ? WHERE id = ?", state, o.ID)))
	return o.ID
}

// ordersWithAddress counts the user's orders that still have an address, by state.
func (t *testUser) ordersWithAddress() map[shop.OrderState]int {
	t.t.Helper()
	all, _, err := t.OrdersOf(t.ctx, shop.OrdersQuery{User: t.user.ID, Limit: 100})
	t.must(err)
	states := make(map[shop.OrderState]int)
	for i := range all {
		if all[i].Address != nil {
			states[all[i].State]++
		}
	}
	return states
}

// An export contains all data of the user, and no data of others.
func TestExportContainsOnlyDataOfTheUser(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		p := newTestUser(newShop(t, s, 100))
		p.insert(p.order(p.sales[0], 1)) // another user's
		identity := shop.Identity{User: p.user.ID, Name: "Ada", Role: shop.Shopper, Device: 1}
		all := val(p.data.Export(p.ctx, identity))(p.t)
		if all.User.Email != p.user.Email || all.User.Guest || len(all.Devices) != 1 || len(all.Addresses) != 2 ||
			len(all.Orders) != 11 || all.Orders[0].Address == nil {
			t.Errorf("got the export %+v, want only the data of the user", all)
		}
		text := val(json.Marshal(all))(p.t)
		if strings.Contains(string(text), "hash") || strings.Contains(string(text), "aaaa") {
			t.Errorf("the export contains a secret: %s", text)
		}
		guest, err := p.data.Export(p.ctx, shop.Identity{User: nextID(), Name: "Guest 1", Role: shop.Shopper})
		text, _ = json.Marshal(guest)
		if err != nil || !guest.User.Guest || !strings.Contains(string(text), `"addresses":[]`) ||
			!strings.Contains(string(text), `"orders":[]`) || !strings.Contains(string(text), `"devices":[]`) {
			t.Errorf("a guest without data: got the export %s (%v), want empty lists", text, err)
		}
	})
}

// Deletion removes personal data at once, including the addresses of finished orders. The address of another order is
// removed after the order has ended. It requires the password, can be repeated, and affects no other user.
func TestDeletionRemovesPersonalData(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		p, other := newTestUser(h), newTestUser(h)
		identity := shop.Identity{User: p.user.ID, Name: "Ada", Role: shop.Shopper, Device: 1}
		if err := p.data.Delete(p.ctx, identity, "wrong"); !errors.Is(err, errWrongPassword) {
			t.Fatalf("a wrong password: got error %v, want errWrongPassword", err)
		}
		for label, verified := range map[string]shop.User{
			"a guest's token, then activated": {}, "a former password": {State: shop.UserActive, Password: "former"},
		} {
			wantErr(p.t, label, s.PersonalData().Erase(p.ctx, p.user.ID, &verified, opens, opens), shop.ErrNoRow)
		}
		if u, err := s.Accounts().UserByID(p.ctx, p.user.ID); err != nil || u.State != shop.UserActive {
			t.Fatalf("got the user %+v (%v), want state %v", u, err, shop.UserActive)
		}
		devices := val(s.Sessions().DevicesOf(p.ctx, p.user.ID, opens))(p.t)
		for range 2 { // also after a lost reply
			p.must(p.data.Delete(p.ctx, identity, "secret"))
		}
		u, err := s.Accounts().UserByID(p.ctx, p.user.ID)
		want := shop.User{
			ID: p.user.ID, Role: shop.Shopper, Lang: "en", State: shop.UserDeleted, CreatedAt: opens,
			ActivatedAt: opens, DeletedAt: opens,
		}
		if err != nil || u != want {
			t.Errorf("got the user %+v (%v), want %v", u, err, want)
		}
		wantErr(t, "the e-mail still has an account", errOf(s.Accounts().UserByEmail(p.ctx, p.user.Email)), shop.ErrNoRow)
		revoked := val(s.Sessions().Revocations(p.ctx, 0))(p.t)
		revokedSubjects := make(map[shop.ID]bool)
		for _, r := range revoked.Subjects {
			revokedSubjects[r.Subject] = true
		}
		if len(devices) != 1 || !revokedSubjects[devices[0].ID] || !revokedSubjects[p.user.ID] ||
			revokedSubjects[other.user.ID] {
			t.Errorf("got the revoked subjects %v, want the device and the user", revokedSubjects)
		}
		if remaining, err := s.Sessions().DevicesOf(p.ctx, p.user.ID, opens); err != nil || len(remaining) != 0 {
			t.Errorf("got devices %v (%v), want none", remaining, err)
		}
		if remaining := addressTexts(t, s, p.user.ID); len(remaining) != 0 {
			t.Errorf("got addresses %v, want none", remaining)
		}

		p.must(p.eraser.RunOnce(p.ctx))
		unfinished := map[shop.OrderState]int{
			shop.Pending: 1, shop.Paid: 1, shop.Shipped: 1, shop.Refunding: 1, shop.Expired: 1,
		}
		if kept := p.ordersWithAddress(); !maps.Equal(kept, unfinished) {
			t.Errorf("got orders with an address %v, want %v", kept, unfinished)
		}
		if o := p.read(p.opened); o.Address == nil {
			t.Error("an order that may still be paid late has lost its address")
		}
		if o := p.read(p.closed); o.Address != nil {
			t.Error("an order that the gateway has closed keeps its address")
		}

		p.must(errOf(s.DB().Exec("UPDATE trades SET check_at = NULL WHERE order_id = ?", p.opened)))
		p.must(errOf(s.DB().Exec("UPDATE orders SET state = 'finished' WHERE id = ?", p.orders[shop.Shipped])))
		p.must(p.eraser.RunOnce(p.ctx)) // not due yet
		if kept := p.ordersWithAddress(); kept[shop.Finished] != 1 {
			t.Errorf("before the due time: got orders with an address %v, want the finished order", kept)
		}
		p.now = p.now.Add(2 * time.Minute)
		p.must(p.eraser.RunOnce(p.ctx))
		if kept := p.ordersWithAddress(); kept[shop.Shipped]+kept[shop.Finished]+kept[shop.Expired] != 0 ||
			kept[shop.Paid] != 1 {
			t.Errorf("after the orders ended: got orders with an address %v, want the paid order", kept)
		}
		if len(other.ordersWithAddress()) != 9 || len(addressTexts(t, s, other.user.ID)) != 2 {
			t.Errorf("another user: got orders with an address %v, want all 9", other.ordersWithAddress())
		}

		// A week after the last address was removed the checks end. Until then a late row is found.
		p.must(errOf(s.DB().Exec("UPDATE orders SET state = 'refunded' WHERE user_id = ?", p.user.ID)))
		p.now = p.now.Add(7 * time.Hour)
		p.must(p.eraser.RunOnce(p.ctx))
		late := p.orderIn(shop.Refused)
		for range 40 {
			p.now = p.now.Add(6 * time.Hour)
			p.must(p.eraser.RunOnce(p.ctx))
		}
		if o := p.read(late); len(p.ordersWithAddress()) != 0 || o.Address != nil {
			t.Errorf("got orders with an address %v, want none", p.ordersWithAddress())
		}
		due, err := s.PersonalData().ClaimErasures(p.ctx, p.now.Add(1000*time.Hour), 10)
		if err != nil || len(due) != 0 {
			t.Errorf("got due erasures %v, %v, want none", due, err)
		}
	})
}

// A guest has no password, so the token suffices.
func TestGuestIsDeletedWithoutPassword(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		p := newTestUser(newShop(t, s, 100))
		guest := nextID()
		p.must(errOf(s.Addresses().AddAddress(p.ctx, guest, savedAddress("home", false), 20)))
		p.must(p.data.Delete(p.ctx, shop.Identity{User: guest, Role: shop.Shopper}, ""))
		if remaining := addressTexts(t, s, guest); len(remaining) != 0 {
			t.Errorf("got addresses %v, want none", remaining)
		}
		revoked, err := s.Sessions().Revocations(kit.Context(t), 0)
		if err != nil || len(revoked.Subjects) != 1 || revoked.Subjects[0].Subject != guest {
			t.Errorf("got revocations %+v (%v)", revoked, err)
		}
		// A guest's token cannot delete an account that has replaced the guest.
		wantErr(t, "an account by a guest's token",
			p.data.Delete(p.ctx, shop.Identity{User: p.user.ID}, ""), errWrongPassword)
	})
}
