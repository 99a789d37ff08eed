package backoffice

import (
	"context"
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
)

// shelves are what searches find.
type shelves struct {
	SearchStore
	UserStore
	DeviceStore
	BlockStore
	orders     map[shop.ID]shop.Order
	trades     map[string]shop.ID
	users      map[shop.ID]shop.User
	asked      OrderSearch
	askedUsers UserSearch
	fail       error
}

func (s *shelves) FindOrders(_ context.Context, q OrderSearch) ([]shop.Order, bool, error) {
	s.asked = q
	var out []shop.Order
	for id, o := range s.orders {
		if (q.ID == 0 || q.ID == id) && (q.User == 0 || q.User == o.User) {
			out = append(out, o)
		}
	}
	return out, false, s.fail
}

func (s *shelves) FindUsers(_ context.Context, q UserSearch) ([]shop.User, bool, error) {
	s.askedUsers = q
	for _, u := range s.users {
		if u.Name == q.Name && q.Name != "" {
			return []shop.User{u}, false, nil
		}
	}
	return nil, false, s.fail
}

func (s *shelves) FindPayments(_ context.Context, q PaymentSearch) ([]payment.Received, bool, error) {
	return []payment.Received{{Order: q.Order}}, true, s.fail
}

func (s *shelves) Payment(_ context.Context, no string) (payment.Received, error) {
	if id, there := s.trades[no]; there || s.fail != nil {
		return payment.Received{TradeNo: no, Order: id, Outcome: payment.PaymentTaken}, s.fail
	}
	return payment.Received{}, shop.ErrNoRow
}

func (s *shelves) UserByID(_ context.Context, id shop.ID) (shop.User, error) {
	if u, there := s.users[id]; there {
		return u, nil
	}
	return shop.User{}, shop.ErrNoRow
}

func (s *shelves) UserByEmail(_ context.Context, email string) (shop.User, error) {
	for _, u := range s.users {
		if u.Email == email {
			return u, nil
		}
	}
	return shop.User{}, shop.ErrNoRow
}

func (s *shelves) DevicesOf(context.Context, shop.ID, shop.Millis) ([]shop.Device, error) {
	return nil, nil
}

func (s *shelves) Blocks(context.Context, shop.Millis) ([]Block, error) {
	return []Block{{Kind: BlockUser, Value: "50"}, {Kind: BlockAddress, Value: "42"}}, nil
}

func newShelves() (*SearchDesk, *shelves) {
	s := &shelves{
		orders: map[shop.ID]shop.Order{7: {ID: 7, User: 42}, 8: {ID: 8, User: 43}},
		trades: map[string]shop.ID{"2026112822001": 7},
		users: map[shop.ID]shop.User{
			42: {ID: 42, Email: "ada@shop.example", Name: "Ada", State: shop.UserActive}, 44: {ID: 44, State: shop.UserDeleted},
		},
	}
	return &SearchDesk{Search: s, Users: s, Devices: s, Blocks: s, Clock: shop.NewClock()}, s
}

// Whatever somebody has in hand finds the orders that it names, and what names nothing finds nothing.
func TestSearchTakesWhatSomebodyHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		user  shop.ID // asked for besides
		found int
		asked OrderSearch
	}{
		{"", 0, 2, OrderSearch{}},
		{"7", 0, 1, OrderSearch{ID: 7}},
		{" 7 ", 0, 1, OrderSearch{ID: 7}},
		{"7", 43, 0, OrderSearch{ID: 7, User: 43}},
		{"2026112822001", 0, 1, OrderSearch{ID: 7}},
		{"42", 0, 1, OrderSearch{User: 42}},
		{"42", 43, 0, OrderSearch{}},
		{"Ada@Shop.example", 0, 1, OrderSearch{User: 42}},
		{"eve@shop.example", 0, 0, OrderSearch{}},
		{"lamp", 0, 0, OrderSearch{}},
	} {
		desk, s := newShelves()
		got, _, err := desk.SearchOrders(t.Context(), OrderSearch{User: c.user}, c.text)
		if err != nil || len(got) != c.found || c.found > 0 && s.asked != c.asked {
			t.Errorf("%+v: found %d, asked %+v, %v", c, len(got), s.asked, err)
		}
	}
	desk, s := newShelves()
	s.fail = shop.ErrTransient
	if _, _, err := desk.SearchOrders(
		t.Context(), OrderSearch{}, "T1",
	); err == nil || shop.AsError(err).Code != shop.Busy {
		t.Errorf("the database is away: %v", err)
	}
}

func TestSearchForPeopleAndPayments(t *testing.T) {
	t.Parallel()
	desk, s := newShelves()
	for text, want := range map[string]int{"42": 1, "44": 0, "45": 0, "Ada": 1, "ad": 0} {
		if got, _, err := desk.SearchUsers(t.Context(), UserSearch{}, text); err != nil || len(got) != want {
			t.Errorf("%s: %d users, %v", text, len(got), err)
		}
	}
	_, _, err := desk.SearchUsers(t.Context(), UserSearch{Before: 3}, "AD")
	if want := (UserSearch{Email: "ad", Before: 3}); err != nil || s.askedUsers != want {
		t.Errorf("asked %+v, %v", s.askedUsers, err)
	}
	for text, want := range map[string]shop.ID{"2026112822001": 7, "8": 8} {
		if got, _, err := desk.SearchPayments(t.Context(), PaymentSearch{}, text); err != nil || got[0].Order != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if got, _, err := desk.SearchPayments(t.Context(), PaymentSearch{}, "lamp"); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for id, want := range map[shop.ID]struct {
		guest          bool
		orders, blocks int
	}{42: {false, 1, 0}, 43: {true, 1, 0}, 50: {true, 0, 1}} {
		f, err := desk.FindUser(t.Context(), id)
		if err != nil || f.Guest != want.guest || len(f.Orders) != want.orders || len(f.Blocks) != want.blocks {
			t.Errorf("user %s: %+v, %v", id, f, err)
		}
	}
	if _, err := desk.FindUser(t.Context(), 51); err == nil || shop.AsError(err).Code != shop.NotFound {
		t.Errorf("nobody: %v", err)
	}
}
