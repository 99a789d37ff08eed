package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"time"

	"stampede/app/shop"
)

const (
	// refreshLife is the lifetime of an unused refresh token.
	refreshLife = 30 * 24 * time.Hour
	// reissueWindow is the time in which the previous refresh token can be exchanged for the current one, once, by the
	// same kind of client. A token is used twice after a lost reply, or by concurrent requests of two pages of a
	// browser. Other uses count as theft.
	reissueWindow = 10 * time.Second
	// lastSeenStep is the resolution of last_seen_at and expires_at, which users can read. With a finer resolution, a
	// thief could read when the owner refreshes.
	lastSeenStep = time.Hour
)

func (a *Accounts) refresher() refresher { return a.Issuer.refresher }

// session returns the tokens of a login.
func (a *Accounts) session(u *shop.User, device shop.ID, secret string) (Session, error) {
	access, expires, err := a.Issuer.IssueTo(u, device)
	return Session{
		Access: access, Expires: expires, Refresh: refreshToken(device, secret),
		User: SessionUser{ID: u.ID, Name: u.Name, Role: u.Role, Email: u.Email},
	}, err
}

func errLoginEnded() error {
	return shop.Fail(shop.Unauthorized, "this login has ended: log in again")
}

// Refresh returns the next tokens of a login. Each refresh token is valid once. Because a reply may be lost, it is
// valid once more within reissueWindow, for the same kind of client, for example the same browser. Any later use of an
// older token means that the token was stolen, and ends the login.
func (a *Accounts) Refresh(ctx context.Context, token, client string) (Session, error) {
	id, secret, ok := a.refresher().parse(token)
	if !ok {
		return Session{}, shop.Fail(shop.Unauthorized, "this is not a refresh token")
	}
	u, next, err := a.rotate(ctx, id, secret, client)
	if err != nil {
		return Session{}, err
	}
	return a.session(&u, id, next)
}

// rotate exchanges the secret of a device for the next one. Within reissueWindow it accepts the previous secret once
// more. Any other old secret ends the login.
func (a *Accounts) rotate(ctx context.Context, id shop.ID, secret, client string) (shop.User, string, error) {
	next, secretAndClient := a.refresher().next(id, secret), hashOf(secret+"/"+client)
	d, err := a.validDevice(ctx, id)
	if err != nil {
		return shop.User{}, "", err
	}
	u, err := a.activeUser(ctx, d.User)
	if err != nil {
		return shop.User{}, "", err
	}
	if d.RefreshHash == hashOf(secret) {
		now := a.Now()
		rotated := d
		rotated.RefreshHash, rotated.PreviousHash, rotated.RotatedAt = hashOf(next), secretAndClient, now
		rotated.LastSeenAt = max(d.LastSeenAt, now-now%shop.Millis(lastSeenStep.Milliseconds()))
		rotated.ExpiresAt = rotated.LastSeenAt.Add(refreshLife)
		done, err := a.Store.Sessions().RotateDevice(ctx, rotated, d.RefreshHash)
		if err != nil {
			return shop.User{}, "", shop.Unavailable("logins", err)
		}
		if done {
			return u, next, nil
		}
		if d, err = a.validDevice(ctx, id); err != nil { // a concurrent request replaced the secret first
			return shop.User{}, "", err
		}
	}
	if d.PreviousHash == secretAndClient && a.Now().Sub(d.RotatedAt) < reissueWindow {
		done, err := a.Store.Sessions().ReissueDevice(ctx, id, secretAndClient)
		if err != nil {
			return shop.User{}, "", shop.Unavailable("logins", err)
		}
		if done {
			return u, next, nil
		}
	}
	return shop.User{}, "", a.endReusedLogin(ctx, &d)
}

// endReusedLogin ends a login whose old token was used.
func (a *Accounts) endReusedLogin(ctx context.Context, d *shop.Device) error {
	slog.WarnContext(ctx, "an old refresh token was used again; its login is ended", "user", d.User, "device", d.ID)
	if err := a.Store.Sessions().RevokeDevice(ctx, d.User, d.ID); err != nil {
		return shop.Unavailable("logins", err)
	}
	a.readRevocationsNow(ctx)
	return errLoginEnded()
}

// validDevice reads a device that is neither revoked nor expired.
func (a *Accounts) validDevice(ctx context.Context, id shop.ID) (shop.Device, error) {
	d, err := a.Store.Sessions().Device(ctx, id)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return d, errLoginEnded()
	case err != nil:
		return d, shop.Unavailable("logins", err)
	case d.RevokedAt != 0 || d.ExpiresAt <= a.Now():
		return d, errLoginEnded()
	}
	return d, nil
}

func (a *Accounts) activeUser(ctx context.Context, id shop.ID) (shop.User, error) {
	u, err := a.Store.Accounts().UserByID(ctx, id)
	switch {
	case errors.Is(err, shop.ErrNoRow), err == nil && u.State != shop.UserActive:
		return u, errLoginEnded()
	case err != nil:
		return u, shop.Unavailable("accounts", err)
	}
	return u, nil
}

// LogOut ends a login, or all logins of its user. An old refresh token also ends its login. Ending all logins requires
// the current refresh token or an access token.
func (a *Accounts) LogOut(ctx context.Context, o LogOut) error {
	who := o.Caller
	if o.Refresh != "" {
		id, secret, ok := a.refresher().parse(o.Refresh)
		if !ok {
			return shop.Fail(shop.Unauthorized, "this is not a refresh token")
		}
		d, err := a.Store.Sessions().Device(ctx, id)
		if errors.Is(err, shop.ErrNoRow) || err == nil && d.RevokedAt != 0 {
			return nil // already logged out
		}
		if err != nil {
			return shop.Unavailable("logins", err)
		}
		switch {
		case !o.Everywhere:
		case d.ExpiresAt <= a.Now():
			return errLoginEnded()
		case d.RefreshHash != hashOf(secret):
			return a.endReusedLogin(ctx, &d)
		}
		who = shop.Identity{User: d.User, Device: id}
	}
	defer a.readRevocationsNow(ctx)
	return shop.Unavailable("logins", a.revokeLogin(ctx, &who, o.Everywhere))
}

// revokeLogin revokes the login of a verified token, or all logins of its user.
func (a *Accounts) revokeLogin(ctx context.Context, who *shop.Identity, everywhere bool) error {
	switch {
	case who.Device == 0: // a guest: all tokens of the user id end, also the newer ones of other pages
		return a.Store.Sessions().Revoke(ctx, []shop.ID{who.User}, max(who.Expires, a.Now().Add(MaxLife)).Add(leeway))
	case everywhere:
		_, err := a.Store.Sessions().RevokeDevices(ctx, who.User, 0)
		return err
	}
	if err := a.Store.Sessions().RevokeDevice(ctx, who.User, who.Device); !errors.Is(err, shop.ErrNoRow) {
		return err
	}
	return nil // the row was deleted after the login had expired
}

// readRevocationsNow reads revocations immediately. If that fails, this node reads them within two seconds, like all
// nodes.
func (a *Accounts) readRevocationsNow(ctx context.Context) {
	if err := a.Watch.RunOnce(ctx); err != nil {
		slog.DebugContext(ctx, "cannot read revoked tokens", "err", err)
	}
}

// refresher issues and parses refresh tokens of the form <device>.<secret>. A secret has two halves. The first is
// random for the first secret of a device, and later derived from the previous secret, so that a repeated request gets
// the same reply (I6). The second is a MAC of this server, which distinguishes old tokens of the device from forged
// ones.
type refresher struct{ key []byte }

const (
	halfBytes  = secretBytes / 2
	maxRefresh = 64 // characters of a refresh token
)

// first returns the first secret of a device.
func (r refresher) first(device shop.ID) string {
	var b [halfBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return r.withMAC(device, b[:])
}

// next returns the secret that follows the given one.
func (r refresher) next(device shop.ID, secret string) string {
	return r.withMAC(device, r.mac("next", device, []byte(secret)))
}

// isGenuine reports whether this server has issued the secret for the device, even if it was replaced later.
func (r refresher) isGenuine(device shop.ID, secret string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return err == nil && len(b) == secretBytes && hmac.Equal(b[halfBytes:], r.mac("seal", device, b[:halfBytes]))
}

// withMAC returns the text form of a secret: half and its MAC.
func (r refresher) withMAC(device shop.ID, half []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(half, r.mac("seal", device, half)...))
}

// mac returns a MAC of half the length of a secret.
func (r refresher) mac(purpose string, device shop.ID, text []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte(purpose + ":" + device.String() + ":"))
	h.Write(text)
	return h.Sum(nil)[:halfBytes]
}

func refreshToken(device shop.ID, secret string) string { return device.String() + "." + secret }

// parse parses a refresh token. ok is false for invalid tokens.
func (r refresher) parse(token string) (device shop.ID, secret string, ok bool) {
	id, secret, found := strings.Cut(token, ".")
	device, err := shop.ParseID(id)
	if !found || len(token) > maxRefresh || err != nil || !r.isGenuine(device, secret) {
		return 0, "", false
	}
	return device, secret, true
}
