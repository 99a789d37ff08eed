package account

import (
	"context"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// AddressStore is the durable truth about address books. Errors wrap ErrTransient, ErrPermanent or ErrNoRow. No user
// sees or changes another one's.
type AddressStore interface {
	AddressesOf(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error)
	AddAddress(ctx context.Context, user shop.ID, a shop.SavedAddress, most int) (shop.SavedAddress, error)
	ChangeAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error)
	RemoveAddress(ctx context.Context, user, id shop.ID) error
}

// UserStore is the durable truth about accounts. Errors wrap ErrTransient, ErrPermanent, ErrNoRow or ErrTaken. E-mails
// are given as ParseEmail of package account made them.
type UserStore interface {
	UserByID(ctx context.Context, id shop.ID) (shop.User, error)
	UserByEmail(ctx context.Context, email string) (shop.User, error)
	AddUser(ctx context.Context, u shop.User) error
	Register(ctx context.Context, u shop.User, tokens ...shop.MailToken) error
	EditUser(ctx context.Context, id shop.ID, name, lang *string) error
	SetPassword(ctx context.Context, id shop.ID, old, hash string, except shop.ID) error
	AddMailToken(ctx context.Context, t shop.MailToken, u *shop.User) error
	CheckMailToken(ctx context.Context, hash string, kind shop.MailTokenKind, now shop.Millis) (shop.User, error)
	Activate(ctx context.Context, hash, password string, now shop.Millis) (shop.User, error)
	Unregister(ctx context.Context, hash string, now shop.Millis) error
	FirstLogIn(ctx context.Context, proven *shop.User, guest shop.ID, hash string) (shop.ID, error)
	Reset(ctx context.Context, hash, password string, now shop.Millis) (shop.User, error)
}

// DeviceStore is the durable truth about log ins, and about access tokens that no longer count.
type DeviceStore interface {
	AddDevice(ctx context.Context, d shop.Device, proven *shop.User) error
	Device(ctx context.Context, id shop.ID) (shop.Device, error)
	RotateDevice(ctx context.Context, d shop.Device, old string) (bool, error)
	ReissueDevice(ctx context.Context, id shop.ID, previous string) (bool, error)
	DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error)
	RevokeDevice(ctx context.Context, user, device shop.ID) error
	RevokeDevices(ctx context.Context, user, except shop.ID) ([]shop.ID, error)
	Revoke(ctx context.Context, subjects []shop.ID, until shop.Millis) error
	Revocations(ctx context.Context, since shop.Millis) (shop.Revocations, error)
}

// Mailer takes e-mails over to be sent: once Send has answered nil, each of them is sent at least once, also after a
// crash. It waits for no mail server.
type Mailer interface {
	Send(ctx context.Context, mails ...outbox.Email) error
}
