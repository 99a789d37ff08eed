package backoffice

import (
	"slices"
	"strings"
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/fakes"
)

// newSearch returns a SearchService. Its database has the paid orders 7 of Ada (user 42) and 8 of the guest 43. It also
// has the deleted account 44 and a block of the guest 50.
func newSearch(t *testing.T) (*SearchService, *world) {
	t.Helper()
	w := newWorld(t)
	w.user(42, "ada@shop.example", "Ada")
	w.user(44, "bob@shop.example", "Bob")
	fakes.Must(t, w.PersonalData().Erase(w.ctx, 44, nil, 1, 1))
	for id, o := range map[shop.ID]struct {
		user  shop.ID
		trade string
	}{7: {42, "2026112822001"}, 8: {43, "2026112822002"}} {
		w.order(id, o.user, shop.Pending)
		trade := payment.Trade{Order: id, No: o.trade, State: payment.TradePaid, AmountFen: 4900}
		_, outcome, err := w.Payments().Receive(w.ctx, trade, 1)
		if err != nil || outcome != payment.OutcomeTaken {
			t.Fatalf("receive the payment: got %s, %v; want taken", outcome, err)
		}
	}
	for _, b := range []store.Block{{Kind: store.BlockUser, Value: "50"}, {Kind: store.BlockAddress, Value: "42"}} {
		fakes.Must(t, fakes.ErrOf(w.Blocks().AddBlock(w.ctx, b, 0)))
	}
	return &SearchService{Reader: w.Reports(), Store: w.Store, Clock: shop.NewClock()}, w
}

// Every supported text finds its orders; other texts find nothing.
func TestSearchFindsOrdersByEverySupportedText(t *testing.T) {
	t.Parallel()
	service, w := newSearch(t)
	for _, c := range []struct {
		text string
		user shop.ID // user filter of the query
		want []shop.ID
	}{
		{"", 0, []shop.ID{8, 7}},
		{"7", 0, []shop.ID{7}},
		{" 7 ", 0, []shop.ID{7}},
		{"7", 43, nil},
		{"2026112822001", 0, []shop.ID{7}},
		{"42", 0, []shop.ID{7}},
		{"42", 43, nil},
		{"Ada@Shop.example", 0, []shop.ID{7}},
		{"eve@shop.example", 0, nil},
		{"lamp", 0, nil},
	} {
		got, _, err := service.SearchOrders(w.ctx, store.OrderSearch{User: c.user, Limit: 10}, c.text)
		if err != nil || !slices.Equal(shop.Mapped(got, func(o shop.Order) shop.ID { return o.ID }), c.want) {
			t.Errorf("search %q of user %d: got the orders %+v, %v; want %v", c.text, c.user, got, err, c.want)
		}
	}
	w.exec("ALTER TABLE payments RENAME TO renamed")
	_, _, err := service.SearchOrders(w.ctx, store.OrderSearch{Limit: 10}, "T1")
	if err == nil || shop.AsError(err).Code != shop.Internal || !strings.Contains(err.Error(), "payments") {
		t.Errorf("with a statement that the database rejects: got %v, want internal with the cause", err)
	}
	fakes.Must(t, w.Close())
	_, _, err = service.SearchOrders(w.ctx, store.OrderSearch{Limit: 10}, "T1")
	if err == nil || shop.AsError(err).Code != shop.Busy {
		t.Errorf("with an unreachable database: got %v, want busy", err)
	}
}

func TestSearchFindsUsersAndPayments(t *testing.T) {
	t.Parallel()
	service, w := newSearch(t)
	for text, want := range map[string]int{"42": 1, "44": 0, "45": 0, "Ada": 1, "AD": 1, "da": 0} {
		got, _, err := service.SearchUsers(w.ctx, store.UserSearch{Limit: 10}, text)
		if err != nil || len(got) != want {
			t.Errorf("%s: got %d users, %v; want %d", text, len(got), err, want)
		}
	}
	got, _, err := service.SearchUsers(w.ctx, store.UserSearch{Before: 42, Limit: 10}, "AD")
	if err != nil || len(got) != 0 {
		t.Errorf("after the last user: got %+v, %v; want none", got, err)
	}
	for text, want := range map[string]shop.ID{"2026112822001": 7, "8": 8} {
		got, _, err := service.SearchPayments(w.ctx, store.PaymentSearch{Limit: 10}, text)
		if err != nil || len(got) != 1 || got[0].Order != want {
			t.Errorf("%s: got %+v, %v; want the order %d", text, got, err, want)
		}
	}
	if got, _, err := service.SearchPayments(w.ctx, store.PaymentSearch{Limit: 10}, "lamp"); err != nil || len(got) != 0 {
		t.Errorf("payments of lamp: got %+v, %v; want none", got, err)
	}
	for id, want := range map[shop.ID]struct {
		guest          bool
		orders, blocks int
	}{42: {false, 1, 0}, 43: {true, 1, 0}, 50: {true, 0, 1}} {
		f, err := service.FindUser(w.ctx, id)
		if err != nil || f.Guest != want.guest || len(f.Orders) != want.orders || len(f.Blocks) != want.blocks {
			t.Errorf("user %s: got %+v, %v; want %+v", id, f, err, want)
		}
	}
	if _, err := service.FindUser(w.ctx, 51); err == nil || shop.AsError(err).Code != shop.NotFound {
		t.Errorf("an unknown user: got %v, want not_found", err)
	}
}
