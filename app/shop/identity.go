package shop

import (
	"context"
)

// Role is what a user may do.
type Role string

// Roles, each allowed what the one before it is.
const (
	Shopper  Role = "shopper"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// Operates reports whether the role looks after the shop.
func (r Role) Operates() bool { return r == Operator || r == Admin }

// Identity is what a verified token says of who showed it.
type Identity struct {
	User    ID
	Name    string
	Role    Role
	Expires Millis
	Device  ID // the log in that it belongs to; 0: a guest's
	Sale    ID // the only sale that the token is good for; 0: all that are not hidden

	KeyNumber int64 // of the generation of the key that signed it
}

// Subject is under what the token is revoked: its device, or the user id of a guest.
func (i *Identity) Subject() ID {
	if i.Device != 0 {
		return i.Device
	}
	return i.User
}

// BoundTo returns a context for an operation of who: if the token is bound to a sale, Offered finds no other one.
func BoundTo(ctx context.Context, who *Identity) context.Context {
	if who.Sale == 0 {
		return ctx
	}
	return context.WithValue(ctx, boundKey{}, who.Sale)
}

type boundKey struct{}

// BoundSale is the sale that the token of a context is bound to; 0: none.
func BoundSale(ctx context.Context) ID {
	sale, _ := ctx.Value(boundKey{}).(ID)
	return sale
}

// MaxGuests is how many guests AddGuests adds at once.
const MaxGuests = 1000
