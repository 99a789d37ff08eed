package account

import (
	"cmp"
	"context"
	"errors"
	"net/netip"

	"stampede/app/shop"
)

// Me returns the caller's own account.
func (a *Accounts) Me(ctx context.Context, who shop.Identity) (Me, error) {
	if who.Device == 0 {
		return Me{ID: who.User, Name: who.Name, Role: who.Role, Guest: true}, nil
	}
	u, err := a.activeUser(ctx, who.User)
	if err != nil {
		return Me{}, err
	}
	return Me{ID: u.ID, Name: u.Name, Role: u.Role, Email: u.Email, Lang: u.Lang, CreatedAt: u.CreatedAt}, nil
}

// account reads the caller's account. Forbidden: the caller is a guest.
func (a *Accounts) account(ctx context.Context, who *shop.Identity) (shop.User, error) {
	if who.Device == 0 {
		return shop.User{}, shop.Fail(shop.Forbidden, "this needs an account: log in")
	}
	return a.activeUser(ctx, who.User)
}

// EditMe changes the name and the language of the account. The name in existing tokens does not change.
func (a *Accounts) EditMe(ctx context.Context, who shop.Identity, e MeEdit) (Me, error) {
	u, err := a.account(ctx, &who)
	if err != nil {
		return Me{}, err
	}
	if e.Name != nil {
		name, err := ParseName(*e.Name)
		if err != nil {
			return Me{}, err
		}
		e.Name = &name
	}
	if e.Lang != nil {
		if _, err := shop.ParseLang(*e.Lang); err != nil {
			return Me{}, err
		}
	}
	if err := a.Store.Accounts().EditUser(ctx, u.ID, e.Name, e.Lang); err != nil {
		return Me{}, shop.Unavailable("accounts", err)
	}
	return a.Me(ctx, who)
}

// maxPasswordTries is the number of passwords that can be tried with an access token within failureWindow.
const maxPasswordTries = 5

// ChangePassword sets a new password and ends all other logins. The number of attempts is limited, so a stolen access
// token cannot be used to guess the password.
func (a *Accounts) ChangePassword(ctx context.Context, who shop.Identity, c PasswordChange) error {
	u, err := a.account(ctx, &who)
	if err != nil {
		return err
	}
	if err := CheckPassword(c.New, u.Email); err != nil {
		return err
	}
	leave, err := a.Hasher.Enter(false, u.ID, netip.Addr{})
	if err != nil {
		return err
	}
	defer leave()
	if err := a.verifyPassword(ctx, &u, c.Old); err != nil {
		return err
	}
	hash, err := a.Hasher.Hash(ctx, c.New)
	if err != nil {
		return err
	}
	err = a.Store.Accounts().SetPassword(ctx, u.ID, u.Password, hash, who.Device)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.Conflict, "another device has just changed the password")
	}
	if err == nil {
		a.readRevocationsNow(ctx)
	}
	return shop.Unavailable("accounts", err)
}

// VerifyPassword checks the account's password, for operations that require more than an access token.
func (a *Accounts) VerifyPassword(ctx context.Context, u *shop.User, password string) error {
	leave, err := a.Hasher.Enter(false, u.ID, netip.Addr{})
	if err != nil {
		return err
	}
	defer leave()
	return a.verifyPassword(ctx, u, password)
}

// verifyPassword is VerifyPassword for a caller that has a place in the hasher's queue.
func (a *Accounts) verifyPassword(ctx context.Context, u *shop.User, password string) error {
	key := "change:" + u.ID.String()
	// The attempt is counted before the check, because attempts may run concurrently.
	if a.Counters.increment(ctx, failureWindow, key)[0] > maxPasswordTries {
		return shop.Fail(shop.Forbidden, "too many attempts: try again in 15 minutes, or reset the password by e-mail")
	}
	match, err := a.Hasher.Matches(ctx, u.Password, password)
	if err == nil && !match {
		err = shop.Fail(shop.Forbidden, "the password is wrong")
	}
	return err
}

// MyDevices lists the valid logins of an account.
func (a *Accounts) MyDevices(ctx context.Context, who shop.Identity) ([]MyDevice, error) {
	u, err := a.account(ctx, &who)
	if err != nil {
		return nil, err
	}
	found, err := a.Store.Sessions().DevicesOf(ctx, u.ID, a.Now())
	if err != nil {
		return nil, shop.Unavailable("logins", err)
	}
	out := make([]MyDevice, len(found))
	for i, d := range found {
		out[i] = MyDevice{
			ID: d.ID, Name: cmp.Or(d.Name, "?"), CreatedAt: d.CreatedAt, LastSeenAt: d.LastSeenAt,
			Current: d.ID == who.Device,
		}
	}
	return out, nil
}

// RemoveDevice ends a login of the account. NotFound: no such device.
func (a *Accounts) RemoveDevice(ctx context.Context, who shop.Identity, device shop.ID) error {
	u, err := a.account(ctx, &who)
	if err != nil {
		return err
	}
	err = a.Store.Sessions().RevokeDevice(ctx, u.ID, device)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.NotFound, "no such device")
	}
	if err == nil {
		a.readRevocationsNow(ctx)
	}
	return shop.Unavailable("logins", err)
}
