package backoffice

import (
	"context"
	"errors"
	"strings"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// SearchService searches orders, users and payments for operators.
type SearchService struct {
	Reader Reader
	Store  *store.Store
	Clock  *shop.Clock
}

// maxSearch is the maximum length of a search text in bytes, the length of an e-mail address. Longer texts find
// nothing.
const maxSearch = 254

// SearchOrders pages through orders. text is the number of a trade or of an order, a user's id or an e-mail address;
// "": all orders.
func (s *SearchService) SearchOrders(
	ctx context.Context, q store.OrderSearch, text string,
) ([]shop.Order, bool, error) {
	found, err := s.restrictToText(ctx, &q, strings.TrimSpace(text))
	if err != nil || !found {
		return nil, false, shop.Unavailable("orders", err)
	}
	orders, more, err := s.Reader.FindOrders(ctx, q)
	return orders, more, shop.Unavailable("orders", err)
}

// restrictToText adds the condition for the text to the query, and reports whether the text matches anything.
func (s *SearchService) restrictToText(ctx context.Context, q *store.OrderSearch, text string) (bool, error) {
	switch {
	case text == "":
		return true, nil
	case len(text) > maxSearch:
		return false, nil
	case strings.Contains(text, "@"):
		u, err := s.Store.Accounts().UserByEmail(ctx, strings.ToLower(text))
		return s.restrictToUser(q, u.ID, err)
	}
	p, err := s.Reader.Payment(ctx, text)
	if err == nil {
		q.ID = p.Order
		return true, nil
	}
	id, parseErr := shop.ParseID(text)
	if !errors.Is(err, shop.ErrNoRow) || parseErr != nil {
		return false, shop.IgnoreNoRow(err)
	}
	one, _, err := s.Reader.FindOrders(ctx, store.OrderSearch{ID: id, Limit: 1})
	if err == nil && len(one) == 1 {
		q.ID = id
		return true, nil
	}
	return s.restrictToUser(q, id, err)
}

// restrictToUser restricts a query to a user's orders. It reports false if the query is about another user.
func (s *SearchService) restrictToUser(q *store.OrderSearch, user shop.ID, err error) (bool, error) {
	if err != nil {
		return false, shop.IgnoreNoRow(err)
	}
	if q.User != 0 && q.User != user {
		return false, nil
	}
	q.User = user
	return true, nil
}

// SearchUsers pages through accounts. text is an id, a whole name, or a prefix of an e-mail address; "": all accounts.
func (s *SearchService) SearchUsers(ctx context.Context, q store.UserSearch, text string) ([]shop.User, bool, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxSearch {
		return nil, false, nil
	}
	if id, parseErr := shop.ParseID(text); parseErr == nil {
		u, err := s.Store.Accounts().UserByID(ctx, id)
		if err != nil || u.State == shop.UserDeleted {
			return nil, false, shop.Unavailable("users", shop.IgnoreNoRow(err))
		}
		return []shop.User{u}, false, nil
	}
	if text != "" && !strings.Contains(text, "@") { // a name must not hide the account with that e-mail
		named, _, err := s.Reader.FindUsers(ctx, store.UserSearch{Name: text, Limit: 1})
		if err != nil {
			return nil, false, shop.Unavailable("users", err)
		}
		if len(named) > 0 {
			q.Name = text
		}
	}
	if q.Name == "" {
		q.Email = strings.ToLower(text)
	}
	users, more, err := s.Reader.FindUsers(ctx, q)
	return users, more, shop.Unavailable("users", err)
}

// SearchPayments pages through payments. text is the number of a trade or of an order; "": all payments.
func (s *SearchService) SearchPayments(
	ctx context.Context, q store.PaymentSearch, text string,
) ([]payment.ReceivedPayment, bool, error) {
	text = strings.TrimSpace(text)
	if text != "" {
		one, err := s.Reader.Payment(ctx, text)
		switch {
		case err == nil && (q.Outcome == "" || q.Outcome == one.Outcome):
			return []payment.ReceivedPayment{one}, false, nil
		case shop.IgnoreNoRow(err) != nil:
			return nil, false, shop.Unavailable("payments", err)
		}
		id, parseErr := shop.ParseID(text)
		if parseErr != nil {
			return nil, false, nil
		}
		q.Order = id
	}
	payments, more, err := s.Reader.FindPayments(ctx, q)
	return payments, more, shop.Unavailable("payments", err)
}

// ordersShown is the number of orders in a UserFile.
const ordersShown = 20

// UserFile is the data of one user: an account, or a guest with orders and blocks only.
type UserFile struct {
	User    shop.User
	Guest   bool
	Devices []shop.Device
	Orders  []shop.Order  // newest first
	More    bool          // there are older orders
	Blocks  []store.Block // in force
}

// FindUser reads the data of a user. NotFound: no account, no order and no block has this id.
func (s *SearchService) FindUser(ctx context.Context, id shop.ID) (f UserFile, err error) {
	f.User, err = s.Store.Accounts().UserByID(ctx, id)
	f.Guest = errors.Is(err, shop.ErrNoRow)
	if shop.IgnoreNoRow(err) != nil {
		return f, shop.Unavailable("the user", err)
	}
	f.User.ID = id
	if f.Devices, err = s.Store.Sessions().DevicesOf(ctx, id, s.Clock.Now()); err != nil {
		return f, shop.Unavailable("devices", err)
	}
	if f.Orders, f.More, err = s.Reader.FindOrders(ctx, store.OrderSearch{User: id, Limit: ordersShown}); err != nil {
		return f, shop.Unavailable("orders", err)
	}
	blocks, err := s.Store.Blocks().Blocks(ctx, s.Clock.Now())
	if err != nil {
		return f, shop.Unavailable("blocks", err)
	}
	for _, b := range blocks {
		if b.Kind == store.BlockUser && b.Value == id.String() {
			f.Blocks = append(f.Blocks, b)
		}
	}
	if f.Guest && len(f.Orders)+len(f.Blocks) == 0 {
		return f, shop.Fail(shop.NotFound, "no account has that id")
	}
	return f, nil
}
