package shop

import (
	"context"
)

// Role is the set of permissions of a user.
type Role string

// Roles. Each one includes the permissions of the previous one.
const (
	Shopper  Role = "shopper"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// IsOperator reports whether the role may operate the shop.
func (r Role) IsOperator() bool { return r == Operator || r == Admin }

// Identity is the content of a verified token.
type Identity struct {
	User    ID
	Name    string
	Role    Role
	Expires Millis
	Device  ID // the login of the token; 0: a guest
	Sale    ID // the only sale that the token can access; 0: all sales that are not hidden

	KeyNumber int64 // generation of the signing key
}

// Subject returns the ID under which the token is revoked: its device, or the user ID of a guest. 0: a token of staff
// without a device, which `stampede token` has signed; only a rotation of the key ends it before its expiry. A login of
// its user must not end it.
func (i *Identity) Subject() ID {
	switch {
	case i.Device != 0:
		return i.Device
	case i.Role != Shopper:
		return 0
	}
	return i.User
}

// BoundTo returns the context for an operation of the caller. If the token is bound to a sale, Catalogue.VisibleSale
// finds only that sale.
func BoundTo(ctx context.Context, who *Identity) context.Context {
	if who.Sale == 0 {
		return ctx
	}
	return context.WithValue(ctx, boundKey{}, who.Sale)
}

type boundKey struct{}

// BoundSale returns the sale to which the token of the context is bound; 0: none.
func BoundSale(ctx context.Context) ID {
	sale, _ := ctx.Value(boundKey{}).(ID)
	return sale
}

// MaxGuests is the maximum number of guests that one AddGuests call adds.
const MaxGuests = 1000
