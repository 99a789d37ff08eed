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

// PersonalData exports and deletes the data of a user. The token of a guest is sufficient for both operations on the
// guest's data.
type PersonalData struct {
	Store *store.Store
	Now   func() shop.Millis
	// CheckPassword returns an error if the password is not the password of the account. It counts failed attempts.
	CheckPassword func(ctx context.Context, u *shop.User, password string) error
}

// Export contains all data of a user as one document.
type Export struct {
	At        shop.Millis         `json:"at"`
	User      ExportedUser        `json:"user"`
	Devices   []ExportedDevice    `json:"devices"`
	Addresses []shop.SavedAddress `json:"addresses"`
	Orders    []ExportedOrder     `json:"orders"` // newest first
}

// ExportedUser is an account, or a guest, for which only the id is stored.
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

// ExportedDevice is an active session.
type ExportedDevice struct {
	ID         shop.ID     `json:"id"`
	Name       string      `json:"name"`
	CreatedAt  shop.Millis `json:"created_at"`
	LastSeenAt shop.Millis `json:"last_seen_at"`
	ExpiresAt  shop.Millis `json:"expires_at"`
}

// ExportedOrder is an order with the buyer's refund request and its outcome.
type ExportedOrder struct {
	shop.Order
	Refund *ExportedRefund `json:"refund,omitempty"`
}

// ExportedRefund contains the parts of a refund that its buyer may see.
type ExportedRefund struct {
	State       payment.RefundState `json:"state"`
	AmountFen   int64               `json:"amount_fen"`
	Reason      string              `json:"reason"`
	RequestedAt shop.Millis         `json:"requested_at"`
	DoneAt      shop.Millis         `json:"done_at,omitempty"`
}

const (
	exportPage = 100
	// maxExportedOrders limits the size of a document; no buyer has that many orders.
	maxExportedOrders = 10_000
	// guestLife exceeds the lifetime of a guest's token.
	guestLife = 13 * time.Hour
)

// Export reads all data of a user.
func (p *PersonalData) Export(ctx context.Context, identity shop.Identity) (Export, error) {
	out, err := p.export(ctx, &identity)
	return out, shop.Unavailable("your data", err)
}

func (p *PersonalData) export(ctx context.Context, identity *shop.Identity) (out Export, err error) {
	out = Export{At: p.Now(), Devices: []ExportedDevice{}, Orders: []ExportedOrder{}}
	if out.User, err = p.exportUser(ctx, identity); err != nil {
		return out, err
	}
	devices, err := p.Store.Sessions().DevicesOf(ctx, identity.User, out.At)
	if err != nil {
		return out, err
	}
	out.Devices = shop.Mapped(devices, func(d shop.Device) ExportedDevice {
		return ExportedDevice{d.ID, d.Name, d.CreatedAt, d.LastSeenAt, d.ExpiresAt}
	})
	addresses, err := p.Store.Addresses().AddressesOf(ctx, identity.User)
	if err != nil {
		return out, err
	}
	out.Addresses = append([]shop.SavedAddress{}, addresses...)
	for more := true; more && len(out.Orders) < maxExportedOrders; {
		q := shop.OrdersQuery{User: identity.User, Limit: exportPage}
		if n := len(out.Orders); n > 0 {
			q.Before = out.Orders[n-1].ID
		}
		var page []shop.Order
		if page, more, err = p.Store.Orders().OrdersOf(ctx, q); err != nil {
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
	checking, err := p.Store.Orders().Checking(ctx, identity.User)
	for i := range checking {
		out.Orders = append(out.Orders, ExportedOrder{checking[i], nil})
	}
	return out, err
}

func (p *PersonalData) exportUser(ctx context.Context, identity *shop.Identity) (ExportedUser, error) {
	u, err := p.Store.Accounts().UserByID(ctx, identity.User)
	if errors.Is(err, shop.ErrNoRow) || err == nil && u.State == shop.UserPending {
		return ExportedUser{ID: identity.User, Guest: true, Name: identity.Name, Role: identity.Role}, nil
	}
	return ExportedUser{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Lang: u.Lang, State: u.State, CreatedAt: u.CreatedAt,
		ActivatedAt: u.ActivatedAt,
	}, err
}

// exportRefund reads the refund of an order, if its row has one.
func (p *PersonalData) exportRefund(ctx context.Context, o *shop.Order) (*ExportedRefund, error) {
	if o.State != shop.Refunding && o.State != shop.Refunded && !strings.HasPrefix(o.Reason, "refund") {
		return nil, nil
	}
	r, err := p.Store.Refunds().RefundOf(ctx, o.ID)
	if errors.Is(err, shop.ErrNoRow) {
		return nil, nil
	}
	return &ExportedRefund{r.State, r.AmountFen, r.Reason, r.RequestedAt, r.DoneAt}, err
}

// Delete deletes all data of a user except orders. The orders remain without a name. The address of a finished order is
// removed within a minute, the address of an unfinished order after its end. For an account the password is required.
func (p *PersonalData) Delete(ctx context.Context, identity shop.Identity, password string) error {
	u, err := p.Store.Accounts().UserByID(ctx, identity.User)
	switch {
	case errors.Is(err, shop.ErrNoRow):
	case err != nil:
		return shop.Unavailable("accounts", err)
	case u.State == shop.UserActive:
		if err := p.CheckPassword(ctx, &u, password); err != nil {
			return err
		}
	}
	err = p.Erase(ctx, p.Store, identity.User, &u)
	if errors.Is(err, shop.ErrNoRow) { // since the read, the account was activated or its password changed
		return shop.Fail(shop.Forbidden, "the password is wrong")
	}
	return shop.Unavailable("your data", err)
}

// Erase deletes the personal data of a user through db; see store.PersonalData.Erase.
func (p *PersonalData) Erase(ctx context.Context, db *store.Store, user shop.ID, verified *shop.User) error {
	now := p.Now()
	return db.PersonalData().Erase(ctx, user, verified, now, now.Add(guestLife))
}
