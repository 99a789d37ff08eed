package ports

import (
	"context"

	"stampede/app/shop"
)

// UserStore is the durable truth about accounts. Errors wrap ErrTransient, ErrPermanent, ErrNoRow or ErrTaken. E-mails
// are given as ParseEmail of package account made them.
type UserStore interface {
	// UserByID reads one account in any state. ErrNoRow: a guest, or nobody.
	UserByID(ctx context.Context, id shop.ID) (shop.User, error)
	// UserByEmail reads the account that has the e-mail, pending or active. ErrNoRow if there is none.
	UserByEmail(ctx context.Context, email string) (shop.User, error)
	// AddUser writes an account as given. ErrTaken: its e-mail or id has another account; the same one is a repeat.
	AddUser(ctx context.Context, u shop.User) error
	// Register writes a pending account with its tokens. It replaces pending registrations of the same e-mail and their
	// tokens. ErrTaken if the e-mail has an account.
	Register(ctx context.Context, u shop.User, tokens ...shop.MailToken) error
	// EditUser sets name and language of an active account; nil stays. ErrNoRow if there is none.
	EditUser(ctx context.Context, id shop.ID, name, lang *string) error
	// SetRole sets the role of an active account; a change revokes all its devices. ErrNoRow: there is none.
	SetRole(ctx context.Context, id shop.ID, role shop.Role) error
	// SetPassword sets the password of an active account whose hash is still the old one, voids its reset links, and
	// revokes all its devices but the one given (0: all). ErrNoRow: its hash is another one, or there is none such.
	SetPassword(ctx context.Context, id shop.ID, old, hash string, except shop.ID) error

	// AddMailToken adds a token, of which an account has a few at most: the oldest ones of its kind are void then.
	// ErrNoRow: state or e-mail of the account are not those of u any more.
	AddMailToken(ctx context.Context, t shop.MailToken, u *shop.User) error
	// CheckMailToken reads the account of a token that may be spent at the instant now. ErrNoRow: it is unknown, used
	// or has ended.
	CheckMailToken(ctx context.Context, hash string, kind shop.MailTokenKind, now shop.Millis) (shop.User, error)
	// Activate spends the token and makes its account active, if its password hash is still the one given. ErrNoRow:
	// the token is unknown, used or has ended, or the account has changed. A repeat within a short while answers the
	// same.
	Activate(ctx context.Context, hash, password string, now shop.Millis) (shop.User, error)
	// Unregister deletes the pending account of an activation token. ErrNoRow: as for Activate.
	Unregister(ctx context.Context, hash string, now shop.Millis) error
	// FirstLogIn removes the guest tokens of an account, and returns the id that it has from now on: that of the guest
	// if hash is one of these tokens and the id has no account, else its own. ErrNoRow: the account is not active any
	// more, or its password is not that of proven.
	FirstLogIn(ctx context.Context, proven *shop.User, guest shop.ID, hash string) (shop.ID, error)
	// Reset spends the token, sets the password and revokes all devices. ErrNoRow: as for Activate.
	Reset(ctx context.Context, hash, password string, now shop.Millis) (shop.User, error)
}

// DeviceStore is the durable truth about log ins, and about access tokens that no longer count.
type DeviceStore interface {
	// AddDevice writes a log in, and revokes the oldest ones of a user who has too many. ErrNoRow: the account is not
	// active any more, or its password or role is not that of proven.
	AddDevice(ctx context.Context, d shop.Device, proven *shop.User) error
	// Device reads one. ErrNoRow if there is none.
	Device(ctx context.Context, id shop.ID) (shop.Device, error)
	// RotateDevice writes d, whose hash replaces old, if old counts, and reports whether it did.
	RotateDevice(ctx context.Context, d shop.Device, old string) (bool, error)
	// ReissueDevice clears the previous hash, if it is still the one given, and reports whether it did.
	ReissueDevice(ctx context.Context, id shop.ID, previous string) (bool, error)
	// DevicesOf lists those of a user that are neither revoked nor ended at the instant now, the newest first.
	DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error)
	// RevokeDevice revokes one of the user's and its access tokens; a repeat changes nothing. ErrNoRow: there is none.
	RevokeDevice(ctx context.Context, user, device shop.ID) error
	// RevokeDevices revokes all of a user's but one (0: all), with their access tokens, and answers which.
	RevokeDevices(ctx context.Context, user, except shop.ID) ([]shop.ID, error)
	// Revoke makes the access tokens of the subjects not count until the instant given. See Identity.Subject.
	Revoke(ctx context.Context, subjects []shop.ID, until shop.Millis) error
	// Revocations lists what was revoked at since or later and has not ended.
	Revocations(ctx context.Context, since shop.Millis) (shop.Revocations, error)
}
