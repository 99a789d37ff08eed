package app

// Role is what a user may do.
type Role string

// Roles, each allowed what the one before it is, but for the last one.
const (
	Shopper  Role = "shopper"
	Operator Role = "operator"
	Admin    Role = "admin"

	// Rehearser is a simulated shopper, who may do nothing but buy in the sale of a rehearsal.
	Rehearser Role = "rehearsal"
)

// Operates reports whether the role looks after the shop.
func (r Role) Operates() bool { return r == Operator || r == Admin }

// Identity is what a verified token says of who showed it.
type Identity struct {
	User    ID
	Name    string
	Role    Role
	Expires Millis
	Device  ID // the log in that it belongs to, or the sale of a rehearsal; 0: a guest's

	KeyNumber int64 // of the generation of the key that signed it
}

// Subject is under what the token is revoked: its device, or the user id of a guest.
func (i *Identity) Subject() ID {
	if i.Device != 0 {
		return i.Device
	}
	return i.User
}

// Rehearsal is the sale that a simulated shopper may buy in; 0: this is none.
func (i *Identity) Rehearsal() ID {
	if i.Role != Rehearser {
		return 0
	}
	return i.Device
}
