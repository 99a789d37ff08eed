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
	// refreshLife is how long an unused refresh token is valid.
	refreshLife = 30 * 24 * time.Hour
	// sameAgain is how long the previous token still gets the present one, once and for the same kind of client: its
	// reply was lost, or two pages of a browser asked at the same time. Other uses mean theft.
	sameAgain = 10 * time.Second
	// seenStep is the step of last_seen_at and expires_at, which users see: a thief who reads them must not learn when
	// the owner refreshes.
	seenStep = time.Hour
)

func (a *Accounts) refresher() refresher { return a.Issuer.refresher }

// session makes the reply to a device.
func (a *Accounts) session(u *shop.User, device shop.ID, secret string) (Session, error) {
	access, expires, err := a.Issuer.IssueTo(u, device)
	return Session{
		Access: access, Expires: expires, Refresh: refreshToken(device, secret),
		User: SessionUser{ID: u.ID, Name: u.Name, Role: u.Role, Email: u.Email},
	}, err
}

func errSession() error {
	return shop.Fail(shop.Unauthorized, "this log in does not count any more: log in again")
}

// Refresh returns the next tokens of a log in. Each refresh token counts once: if an older one is used later, one of
// two owners has stolen it, and the log in ends. client is the kind of the client, such as its browser.
func (a *Accounts) Refresh(ctx context.Context, token, client string) (Session, error) {
	id, secret, ok := a.refresher().read(token)
	if !ok {
		return Session{}, shop.Fail(shop.Unauthorized, "this is no refresh token")
	}
	u, next, err := a.rotate(ctx, id, secret, client)
	if err != nil {
		return Session{}, err
	}
	return a.session(&u, id, next)
}

// rotate replaces a device's secret by the next one.
func (a *Accounts) rotate(ctx context.Context, id shop.ID, secret, client string) (shop.User, string, error) {
	next, previous := a.refresher().next(id, secret), hashOf(secret+"/"+client)
	d, err := a.counting(ctx, id)
	if err != nil {
		return shop.User{}, "", err
	}
	u, err := a.activeUser(ctx, d.User)
	if err != nil {
		return shop.User{}, "", err
	}
	if d.RefreshHash == hashOf(secret) {
		now := a.Now()
		moved := d
		moved.RefreshHash, moved.PreviousHash, moved.RotatedAt = hashOf(next), previous, now
		moved.LastSeenAt = max(d.LastSeenAt, now-now%shop.Millis(seenStep.Milliseconds()))
		moved.ExpiresAt = moved.LastSeenAt.Add(refreshLife)
		done, err := a.Store.RotateDevice(ctx, moved, d.RefreshHash)
		if err != nil {
			return shop.User{}, "", shop.Unreadable("log ins", err)
		}
		if done {
			return u, next, nil
		}
		if d, err = a.counting(ctx, id); err != nil { // another request with the same token was faster
			return shop.User{}, "", err
		}
	}
	if d.PreviousHash == previous && a.Now().Sub(d.RotatedAt) < sameAgain {
		done, err := a.Store.ReissueDevice(ctx, id, previous)
		if err != nil {
			return shop.User{}, "", shop.Unreadable("log ins", err)
		}
		if done {
			return u, next, nil
		}
	}
	return shop.User{}, "", a.reused(ctx, &d)
}

// reused ends a log in whose old token was used.
func (a *Accounts) reused(ctx context.Context, d *shop.Device) error {
	slog.WarnContext(ctx, "an old refresh token was used again; its log in is ended", "user", d.User, "device", d.ID)
	if err := a.Store.RevokeDevice(ctx, d.User, d.ID); err != nil {
		return shop.Unreadable("log ins", err)
	}
	a.hearAtOnce(ctx)
	return errSession()
}

// counting reads a device that is neither revoked nor ended.
func (a *Accounts) counting(ctx context.Context, id shop.ID) (shop.Device, error) {
	d, err := a.Store.Device(ctx, id)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return d, errSession()
	case err != nil:
		return d, shop.Unreadable("log ins", err)
	case d.RevokedAt != 0 || d.ExpiresAt <= a.Now():
		return d, errSession()
	}
	return d, nil
}

func (a *Accounts) activeUser(ctx context.Context, id shop.ID) (shop.User, error) {
	u, err := a.Store.UserByID(ctx, id)
	switch {
	case errors.Is(err, shop.ErrNoRow), err == nil && u.State != shop.UserActive:
		return u, errSession()
	case err != nil:
		return u, shop.Unreadable("accounts", err)
	}
	return u, nil
}

// LogOut ends a log in, or all of its user's. A refresh token of any age ends its own; all are ended by a valid one or
// an access token.
func (a *Accounts) LogOut(ctx context.Context, o LogOut) error {
	who := o.Who
	if o.Refresh != "" {
		id, _, ok := a.refresher().read(o.Refresh)
		if !ok {
			return shop.Fail(shop.Unauthorized, "this is no refresh token")
		}
		d, err := a.Store.Device(ctx, id)
		if errors.Is(err, shop.ErrNoRow) || err == nil && d.RevokedAt != 0 {
			return nil // already logged out
		}
		if err != nil {
			return shop.Unreadable("log ins", err)
		}
		if o.Everywhere {
			if _, _, err := a.rotate(ctx, id, secretOf(o.Refresh), ""); err != nil {
				return err
			}
		}
		who = shop.Identity{User: d.User, Device: id}
	}
	defer a.hearAtOnce(ctx)
	return shop.Unreadable("log ins", a.end(ctx, &who, o.Everywhere))
}

// end revokes what belongs to a verified token.
func (a *Accounts) end(ctx context.Context, who *shop.Identity, everywhere bool) error {
	switch {
	case who.Device == 0:
		return a.Store.Revoke(ctx, []shop.ID{who.User}, max(who.Expires, a.Now().Add(LongestLife)).Add(leeway))
	case everywhere:
		_, err := a.Store.RevokeDevices(ctx, who.User, 0)
		return err
	}
	if err := a.Store.RevokeDevice(ctx, who.User, who.Device); !errors.Is(err, shop.ErrNoRow) {
		return err
	}
	return nil // its row was deleted long after its end
}

// hearAtOnce reads revocations now. On failure this node, like the others, reads them within two seconds.
func (a *Accounts) hearAtOnce(ctx context.Context) {
	if err := a.Watch.RunOnce(ctx); err != nil {
		slog.DebugContext(ctx, "look for what was revoked", "err", err)
	}
}

// A refresh token is <device>.<secret>. The secret has a random half and a seal by this server, which distinguishes a
// device's old tokens from invented ones. The next secret is computed from the present one, so that a repeated request
// gets the same answer (I6).
type refresher struct{ key []byte }

const (
	halfBytes  = secretBytes / 2
	maxRefresh = 64 // characters of a refresh token
)

// first makes the secret of a new device.
func (r refresher) first(device shop.ID) string {
	var b [halfBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return r.sealed(device, b[:])
}

// next computes the secret that comes after one.
func (r refresher) next(device shop.ID, secret string) string {
	return r.sealed(device, r.mac("next", device, []byte(secret)))
}

// genuine reports whether this server has made the secret for the device, however long ago.
func (r refresher) genuine(device shop.ID, secret string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return err == nil && len(b) == secretBytes && hmac.Equal(b[halfBytes:], r.mac("seal", device, b[:halfBytes]))
}

func (r refresher) sealed(device shop.ID, half []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(half, r.mac("seal", device, half)...))
}

// mac is half as long as a secret.
func (r refresher) mac(what string, device shop.ID, text []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte(what + ":" + device.String() + ":"))
	h.Write(text)
	return h.Sum(nil)[:halfBytes]
}

func refreshToken(device shop.ID, secret string) string { return device.String() + "." + secret }

// secretOf returns the part of a refresh token behind the device.
func secretOf(token string) string {
	_, secret, _ := strings.Cut(token, ".")
	return secret
}

// read parses a refresh token; false: it is none.
func (r refresher) read(token string) (device shop.ID, secret string, ok bool) {
	id, secret, found := strings.Cut(token, ".")
	device, err := shop.ParseID(id)
	if !found || len(token) > maxRefresh || err != nil || !r.genuine(device, secret) {
		return 0, "", false
	}
	return device, secret, true
}
