package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"stampede/app"
)

const (
	// refreshLife is how long a refresh token counts when nobody uses it.
	refreshLife = 30 * 24 * time.Hour
	// sameAgain is how long the token before the present one is answered with the present one: its reply was lost, or
	// two pages of a browser asked at the same moment. Later it is somebody else who has it.
	sameAgain = 10 * time.Second
)

func (a *Accounts) refresher() refresher { return a.Issuer.refresher }

// session is what a device gets.
func (a *Accounts) session(u *app.User, device app.ID, secret string) (app.Session, error) {
	access, expires, err := a.Issuer.IssueTo(u, device)
	return app.Session{
		Access: access, Expires: expires, Refresh: refreshToken(device, secret),
		User: app.SessionUser{ID: u.ID, Name: u.Name, Role: u.Role, Email: u.Email},
	}, err
}

func errSession() error {
	return app.Fail(app.Unauthorized, "this log in does not count any more: log in again")
}

// Refresh answers the next tokens of a log in. Each refresh token counts once; who shows one that was used before, and
// not a moment ago, ends the log in: one of two who have it has stolen it, and nobody knows which.
func (a *Accounts) Refresh(ctx context.Context, token string) (app.Session, error) {
	id, secret, ok := a.refresher().read(token)
	if !ok {
		return app.Session{}, app.Fail(app.Unauthorized, "this is no refresh token")
	}
	u, next, err := a.rotate(ctx, id, secret)
	if err != nil {
		return app.Session{}, err
	}
	return a.session(&u, id, next)
}

// rotate replaces the secret of a device by the next one.
func (a *Accounts) rotate(ctx context.Context, id app.ID, secret string) (app.User, string, error) {
	next := a.refresher().next(id, secret)
	d, err := a.counting(ctx, id)
	if err != nil {
		return app.User{}, "", err
	}
	u, err := a.activeUser(ctx, d.User)
	if err != nil {
		return app.User{}, "", err
	}
	if d.RefreshHash == hashOf(secret) {
		now := a.Now()
		moved := d
		moved.RefreshHash, moved.ExpiresAt = hashOf(next), now.Add(refreshLife)
		moved.RotatedAt, moved.LastSeenAt = now, now
		done, err := a.Devices.RotateDevice(ctx, moved, d.RefreshHash)
		if err != nil {
			return app.User{}, "", app.Unreadable("log ins", err)
		}
		if done {
			return u, next, nil
		}
		if d, err = a.counting(ctx, id); err != nil { // somebody was faster, with the same token
			return app.User{}, "", err
		}
	}
	if d.PreviousHash == hashOf(secret) && a.Now().Sub(d.RotatedAt) < sameAgain {
		return u, next, nil
	}
	return app.User{}, "", a.reused(ctx, &d)
}

// reused ends a log in whose old token has turned up.
func (a *Accounts) reused(ctx context.Context, d *app.Device) error {
	slog.WarnContext(ctx, "an old refresh token was used again; its log in is ended", "user", d.User, "device", d.ID)
	if err := a.Devices.RevokeDevice(ctx, d.User, d.ID); err != nil {
		return app.Unreadable("log ins", err)
	}
	a.hearAtOnce(ctx)
	return errSession()
}

// counting reads a device that is neither revoked nor ended.
func (a *Accounts) counting(ctx context.Context, id app.ID) (app.Device, error) {
	d, err := a.Devices.Device(ctx, id)
	switch {
	case errors.Is(err, app.ErrNoRow):
		return d, errSession()
	case err != nil:
		return d, app.Unreadable("log ins", err)
	case d.RevokedAt != 0 || d.ExpiresAt <= a.Now():
		return d, errSession()
	}
	return d, nil
}

func (a *Accounts) activeUser(ctx context.Context, id app.ID) (app.User, error) {
	u, err := a.Users.UserByID(ctx, id)
	switch {
	case errors.Is(err, app.ErrNoRow), err == nil && u.State != app.UserActive:
		return u, errSession()
	case err != nil:
		return u, app.Unreadable("accounts", err)
	}
	return u, nil
}

// LogOut ends a log in, or all of its user's. A refresh token of any age ends its own; all are ended by one that
// counts, or by an access token.
func (a *Accounts) LogOut(ctx context.Context, o app.LogOut) error {
	who := o.Who
	if o.Refresh != "" {
		id, _, ok := a.refresher().read(o.Refresh)
		if !ok {
			return app.Fail(app.Unauthorized, "this is no refresh token")
		}
		d, err := a.Devices.Device(ctx, id)
		if errors.Is(err, app.ErrNoRow) || err == nil && d.RevokedAt != 0 {
			return nil // it is logged out, as was asked for
		}
		if err != nil {
			return app.Unreadable("log ins", err)
		}
		if o.Everywhere {
			if _, _, err := a.rotate(ctx, id, secretOf(o.Refresh)); err != nil {
				return err
			}
		}
		who = app.Identity{User: d.User, Device: id}
	}
	defer a.hearAtOnce(ctx)
	return app.Unreadable("log ins", a.end(ctx, &who, o.Everywhere))
}

// end revokes what belongs to a verified token.
func (a *Accounts) end(ctx context.Context, who *app.Identity, everywhere bool) error {
	switch {
	case who.Device == 0:
		return a.Devices.Revoke(ctx, []app.ID{who.User}, max(who.Expires, a.Now().Add(LongestLife)).Add(leeway))
	case everywhere:
		_, err := a.Devices.RevokeDevices(ctx, who.User, 0)
		return err
	}
	err := a.Devices.RevokeDevice(ctx, who.User, who.Device)
	if errors.Is(err, app.ErrNoRow) {
		return nil // its row is gone, long after it ended
	}
	return err
}

// hearAtOnce makes this node know of what was revoked just now; others look within two seconds, and so does this one
// if it does not work out.
func (a *Accounts) hearAtOnce(ctx context.Context) {
	if err := a.Watch.RunOnce(ctx); err != nil {
		slog.DebugContext(ctx, "look for what was revoked", "err", err)
	}
}
