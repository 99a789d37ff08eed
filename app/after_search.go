package app

import (
	"context"
	"errors"
	"strings"
)

// OrderSearch pages through everybody's orders, newest first, by the fields that are not zero.
type OrderSearch struct {
	ID     ID // this one alone
	State  OrderState
	Sale   ID
	User   ID
	Before ID // 0: from the newest
	Limit  int
}

// UserSearch pages through accounts that are not deleted. Of Email and Name at most one is asked for.
type UserSearch struct {
	Email  string // the beginning of it, in lower case: in the order of e-mails
	Name   string // the whole of it: the newest first
	Role   Role   // only accounts with it, where neither Email nor Name is asked for
	Before ID     // go on behind this account; 0: from the first
	Limit  int
}

// PaymentSearch pages through what the gateway says it took, the newest first, by the fields that are not zero.
type PaymentSearch struct {
	Outcome PaymentOutcome
	Order   ID
	Before  string // go on behind this trade; "": from the newest
	Limit   int
}

// SearchStore finds rows along indexes: no search reads all of a table. Errors wrap ErrTransient or ErrNoRow.
type SearchStore interface {
	FindOrders(ctx context.Context, q OrderSearch) (orders []Order, more bool, err error)
	FindUsers(ctx context.Context, q UserSearch) (users []User, more bool, err error)
	FindPayments(ctx context.Context, q PaymentSearch) (payments []Received, more bool, err error)
	// Payment reads what was received under a trade number. ErrNoRow: nothing was.
	Payment(ctx context.Context, tradeNo string) (Received, error)
}

// SearchDesk is where operators look for orders, people and payments.
type SearchDesk struct {
	Search  SearchStore
	Users   UserStore
	Devices DeviceStore
	Blocks  BlockStore
	Clock   *Clock
}

// longestSearch is how much of a search is looked at, in bytes: an e-mail.
const longestSearch = 254

// SearchOrders pages through orders. text is the number of a trade or of an order, a user's id or an e-mail; "": all.
func (d *SearchDesk) SearchOrders(ctx context.Context, q OrderSearch, text string) ([]Order, bool, error) {
	found, err := d.narrow(ctx, &q, strings.TrimSpace(text))
	if err != nil || !found {
		return nil, false, Unreadable("orders", err)
	}
	orders, more, err := d.Search.FindOrders(ctx, q)
	return orders, more, Unreadable("orders", err)
}

// narrow makes a search for what the text names, and reports whether it names anything.
func (d *SearchDesk) narrow(ctx context.Context, q *OrderSearch, text string) (bool, error) {
	switch {
	case text == "":
		return true, nil
	case len(text) > longestSearch:
		return false, nil
	case strings.Contains(text, "@"):
		u, err := d.Users.UserByEmail(ctx, strings.ToLower(text))
		return d.of(q, u.ID, err)
	}
	p, err := d.Search.Payment(ctx, text)
	if err == nil {
		q.ID = p.Order
		return true, nil
	}
	id, wrong := ParseID(text)
	if !errors.Is(err, ErrNoRow) || wrong != nil {
		return false, unlessNoRow(err)
	}
	one, _, err := d.Search.FindOrders(ctx, OrderSearch{ID: id, Limit: 1})
	if err == nil && len(one) == 1 {
		q.ID = id
		return true, nil
	}
	return d.of(q, id, err)
}

// of narrows a search to a user's orders, unless it is about another user's.
func (d *SearchDesk) of(q *OrderSearch, user ID, err error) (bool, error) {
	if err != nil {
		return false, unlessNoRow(err)
	}
	if q.User != 0 && q.User != user {
		return false, nil
	}
	q.User = user
	return true, nil
}

// unlessNoRow is nil for what just does not exist.
func unlessNoRow(err error) error {
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	return err
}

// SearchUsers pages through accounts. text is an id, a whole name, or the beginning of an e-mail; "": all.
func (d *SearchDesk) SearchUsers(ctx context.Context, q UserSearch, text string) ([]User, bool, error) {
	text = strings.TrimSpace(text)
	if len(text) > longestSearch {
		return nil, false, nil
	}
	if id, wrong := ParseID(text); wrong == nil {
		u, err := d.Users.UserByID(ctx, id)
		if err != nil || u.State == UserDeleted {
			return nil, false, Unreadable("users", unlessNoRow(err))
		}
		return []User{u}, false, nil
	}
	if text != "" && !strings.Contains(text, "@") { // a name must not hide the account with that e-mail
		named, _, err := d.Search.FindUsers(ctx, UserSearch{Name: text, Limit: 1})
		if err != nil {
			return nil, false, Unreadable("users", err)
		}
		if len(named) > 0 {
			q.Name = text
		}
	}
	if q.Name == "" {
		q.Email = strings.ToLower(text)
	}
	users, more, err := d.Search.FindUsers(ctx, q)
	return users, more, Unreadable("users", err)
}

// SearchPayments pages through payments. text is the number of a trade or of an order; "": all.
func (d *SearchDesk) SearchPayments(ctx context.Context, q PaymentSearch, text string) ([]Received, bool, error) {
	text = strings.TrimSpace(text)
	if text != "" {
		one, err := d.Search.Payment(ctx, text)
		switch {
		case err == nil && (q.Outcome == "" || q.Outcome == one.Outcome):
			return []Received{one}, false, nil
		case unlessNoRow(err) != nil:
			return nil, false, Unreadable("payments", err)
		}
		id, wrong := ParseID(text)
		if wrong != nil {
			return nil, false, nil
		}
		q.Order = id
	}
	payments, more, err := d.Search.FindPayments(ctx, q)
	return payments, more, Unreadable("payments", err)
}

// ordersShown is how many orders are shown with a user.
const ordersShown = 20

// UserFile is what operators see of one user: an account, or a guest, of whom only orders and blocks are known.
type UserFile struct {
	User    User
	Guest   bool
	Devices []Device
	Orders  []Order // the newest
	More    bool    // there are older ones
	Blocks  []Block // in force
}

// FindUser reads what is known of a user. NotFound: there is no account, no order and no block.
func (d *SearchDesk) FindUser(ctx context.Context, id ID) (f UserFile, err error) {
	f.User, err = d.Users.UserByID(ctx, id)
	f.Guest = errors.Is(err, ErrNoRow)
	if unlessNoRow(err) != nil {
		return f, Unreadable("the user", err)
	}
	f.User.ID = id
	if f.Devices, err = d.Devices.DevicesOf(ctx, id, d.Clock.Now()); err != nil {
		return f, Unreadable("devices", err)
	}
	if f.Orders, f.More, err = d.Search.FindOrders(ctx, OrderSearch{User: id, Limit: ordersShown}); err != nil {
		return f, Unreadable("orders", err)
	}
	blocks, err := d.Blocks.Blocks(ctx, d.Clock.Now())
	if err != nil {
		return f, Unreadable("blocks", err)
	}
	for _, b := range blocks {
		if b.Kind == BlockUser && b.Value == id.String() {
			f.Blocks = append(f.Blocks, b)
		}
	}
	if f.Guest && len(f.Orders)+len(f.Blocks) == 0 {
		return f, Fail(NotFound, "nobody has that id")
	}
	return f, nil
}
