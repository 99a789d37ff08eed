package privacy

import (
	"context"
	"errors"
	"strings"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// PersonalData is what people may ask of the shop about what it keeps of them: a copy, and that it goes. Guests may,
// too: whoever has a guest's token is that guest.
type PersonalData struct {
	Store *store.Store
	Now   func() shop.Millis
	// Proves reports, by its error, whether the password is that of the account. It counts those that are not.
	Proves func(ctx context.Context, u *shop.User, password string) error
}

// Export is everything that the shop keeps of a user, as one document.
type Export struct {
	At        shop.Millis         `json:"at"`
	User      ExportedUser        `json:"user"`
	Devices   []ExportedDevice    `json:"devices"`
	Addresses []shop.SavedAddress `json:"addresses"`
	Orders    []ExportedOrder     `json:"orders"` // the newest first
}

// ExportedUser is an account, or a guest, of whom no more than the id is kept.
type ExportedUser struct {
	ID          shop.ID        `json:"id"`
	Guest       bool           `json:"guest"`
	Email       string         `json:"email,omitempty"`
	Name        string         `json:"name"`
	Role        shop.Role      `json:"role"`
	Lang        string         `json:"lang,omitempty"`
	State       shop.UserState `json:"state,omitempty"`
	CreatedAt   shop.Millis    `json:"created_at,omitempty"`
	ActivatedAt shop.Millis    `json:"activated_at,omitempty"`
}

// ExportedDevice is a log in that has not ended.
type ExportedDevice struct {
	ID         shop.ID     `json:"id"`
	Name       string      `json:"name"`
	CreatedAt  shop.Millis `json:"created_at"`
	LastSeenAt shop.Millis `json:"last_seen_at"`
	ExpiresAt  shop.Millis `json:"expires_at"`
}

// ExportedOrder is an order with what its buyer said to have the money back, and what became of that.
type ExportedOrder struct {
	shop.Order
	Refund *ExportedRefund `json:"refund,omitempty"`
}

// ExportedRefund is a refund as its buyer may see it.
type ExportedRefund struct {
	State     payment.RefundState `json:"state"`
	AmountFen int64               `json:"amount_fen"`
	Reason    string              `json:"reason"`
	AskedAt   shop.Millis         `json:"asked_at"`
	DoneAt    shop.Millis         `json:"done_at,omitempty"`
}

const (
	exportPage = 100
	// exportOrders bounds a document; nobody buys so much.
	exportOrders = 10_000
	// guestLife is longer than a guest's token lives.
	guestLife = 13 * time.Hour
)

// Export reads everything that is kept of somebody.
func (p *PersonalData) Export(ctx context.Context, who shop.Identity) (Export, error) {
	out, err := p.export(ctx, &who)
	return out, shop.Unreadable("your data", err)
}

func (p *PersonalData) export(ctx context.Context, who *shop.Identity) (out Export, err error) {
	out = Export{At: p.Now(), Devices: []ExportedDevice{}, Orders: []ExportedOrder{}}
	if out.User, err = p.exportUser(ctx, who); err != nil {
		return out, err
	}
	devices, err := p.Store.DevicesOf(ctx, who.User, out.At)
	if err != nil {
		return out, err
	}
	out.Devices = shop.Mapped(devices, func(d shop.Device) ExportedDevice {
		return ExportedDevice{d.ID, d.Name, d.CreatedAt, d.LastSeenAt, d.ExpiresAt}
	})
	addresses, err := p.Store.AddressesOf(ctx, who.User)
	if err != nil {
		return out, err
	}
	out.Addresses = append([]shop.SavedAddress{}, addresses...)
	for more := true; more && len(out.Orders) < exportOrders; {
		q := shop.OrdersQuery{User: who.User, Limit: exportPage}
		if n := len(out.Orders); n > 0 {
			q.Before = out.Orders[n-1].ID
		}
		var page []shop.Order
		if page, more, err = p.Store.OrdersOf(ctx, q); err != nil {
			return out, err
		}
		for _, o := range page {
			refund, err := p.exportRefund(ctx, &o)
			if err != nil {
				return out, err
			}
			out.Orders = append(out.Orders, ExportedOrder{o, refund})
		}
	}
	return out, nil
}

func (p *PersonalData) exportUser(ctx context.Context, who *shop.Identity) (ExportedUser, error) {
	u, err := p.Store.UserByID(ctx, who.User)
	if errors.Is(err, shop.ErrNoRow) || err == nil && u.State == shop.UserPending {
		return ExportedUser{ID: who.User, Guest: true, Name: who.Name, Role: who.Role}, nil
	}
	return ExportedUser{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Lang: u.Lang, State: u.State, CreatedAt: u.CreatedAt,
		ActivatedAt: u.ActivatedAt,
	}, err
}

// exportRefund reads the refund of an order whose row says that there is one.
func (p *PersonalData) exportRefund(ctx context.Context, o *shop.Order) (*ExportedRefund, error) {
	if o.State != shop.Refunding && o.State != shop.Refunded && !strings.HasPrefix(o.Reason, "refund") {
		return nil, nil
	}
	r, err := p.Store.RefundOf(ctx, o.ID)
	if errors.Is(err, shop.ErrNoRow) {
		return nil, nil
	}
	return &ExportedRefund{r.State, r.AmountFen, r.Reason, r.AskedAt, r.DoneAt}, err
}

// Delete has everything go that is kept of somebody. What stays are orders, without a name on them: those that are over
// lose their address within a minute, those under way once they are over. An account proves itself by its password.
func (p *PersonalData) Delete(ctx context.Context, who shop.Identity, password string) error {
	u, err := p.Store.UserByID(ctx, who.User)
	switch {
	case errors.Is(err, shop.ErrNoRow):
	case err != nil:
		return shop.Unreadable("accounts", err)
	case u.State == shop.UserActive:
		if err := p.Proves(ctx, &u, password); err != nil {
			return err
		}
	}
	err = p.Erase(ctx, p.Store, who.User, &u)
	if errors.Is(err, shop.ErrNoRow) { // activated, or its password changed, since it was read
		return shop.Fail(shop.Forbidden, "the password is not right")
	}
	return shop.Unreadable("your data", err)
}

// Erase deletes the personal data of a user through db; see store.Store.Erase.
func (p *PersonalData) Erase(ctx context.Context, db *store.Store, user shop.ID, proven *shop.User) error {
	now := p.Now()
	return db.Erase(ctx, user, proven, now, now.Add(guestLife))
}
