package account

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/test/faults"
)

// TestRepeatedRefreshReturnsSameToken: after a lost reply, or from two pages at the same time, a repeated
// refresh with the same token returns the same next token (I6).
func TestRepeatedRefreshReturnsSameToken(t *testing.T) {
	onBoth(t, func(w *world) {
		s := w.logIn(w.account())
		tokens := make(chan string, 2)
		var g errgroup.Group
		for range cap(tokens) {
			g.Go(func() error {
				next, err := w.Refresh(w.ctx, s.Refresh, "Firefox")
				tokens <- next.Refresh
				return err
			})
		}
		w.must(g.Wait())
		first, other := <-tokens, <-tokens
		if other != first || other == s.Refresh {
			w.t.Errorf("one refresh returned %s, another %s, want the same token", first, other)
		}
		next, err := w.Refresh(w.ctx, first, "Firefox")
		w.must(err)
		if who := w.identity(next.Access); who.User != s.User.ID || who.Device != w.identity(s.Access).Device {
			w.t.Errorf("the refreshed token has the identity %+v, want the same user and device", who)
		}
	})
}

// TestReusedRefreshTokenEndsLogin: a later use of an old refresh token ends its login, however old the token is. Thief
// and owner are logged out, and only the owner has the password to log in again. Other logins of the user stay valid.
func TestReusedRefreshTokenEndsLogin(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		other := w.logIn(email)
		for _, generations := range []int{1, 3} {
			stolen := w.logIn(email)
			current := stolen
			for range generations {
				var err error
				current, err = w.Refresh(w.ctx, current.Refresh, "Firefox")
				w.must(err)
				w.advance(reissueWindow)
			}
			_, err := w.Refresh(w.ctx, stolen.Refresh, "Firefox")
			w.wantCode("the stolen token", err, shop.Unauthorized)
			_, err = w.Refresh(w.ctx, current.Refresh, "Firefox")
			w.wantCode("the owner's token", err, shop.Unauthorized)
			_, err = w.Issuer.Verify(current.Access)
			w.wantCode("the owner's access token", err, shop.Unauthorized)
		}
		_, err := w.Refresh(w.ctx, other.Refresh, "Firefox")
		w.must(err)
	})
}

// TestRefreshIsReissuedOnceToTheSameClient: a token replaced within reissueWindow is reissued once, to the same kind of
// client. A third use, or a use by another client, ends the login. Times that users can read are rounded to the hour.
func TestRefreshIsReissuedOnceToTheSameClient(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		for what, clients := range map[string][]string{
			"a third use": {"Firefox", "Firefox", "Firefox"}, "another client": {"Firefox", "curl"},
		} {
			s := w.logIn(email)
			for i, client := range clients {
				_, err := w.Refresh(w.ctx, s.Refresh, client)
				if i < len(clients)-1 {
					w.must(err)
				} else {
					w.wantCode(what, err, shop.Unauthorized)
				}
			}
			if d, err := w.store.Sessions().Device(w.ctx, w.deviceOf(s)); err != nil || d.RevokedAt == 0 {
				w.t.Errorf("%s: the login is still valid: %+v, %v", what, d, err)
			}
		}
		s := w.logIn(email)
		w.advance(2 * time.Hour)
		_, err := w.Refresh(w.ctx, s.Refresh, "Firefox")
		w.must(err)
		d, err := w.store.Sessions().Device(w.ctx, w.deviceOf(s))
		hour := shop.Millis(time.Hour.Milliseconds())
		if err != nil || d.LastSeenAt%hour != 0 || d.ExpiresAt%hour != 0 {
			w.t.Errorf("got the device %+v, %v, want times rounded to the hour", d, err)
		}
	})
}

// TestStolenRefreshTokenIsDetected: owner and thief use the same token and get the same next token. The second
// use of this next token is detected.
func TestStolenRefreshTokenIsDetected(t *testing.T) {
	onBoth(t, func(w *world) {
		s := w.logIn(w.account())
		owner, err := w.Refresh(w.ctx, s.Refresh, "Firefox")
		w.must(err)
		thief, err := w.node().Refresh(w.ctx, s.Refresh, "Firefox")
		w.must(err)
		if owner.Refresh != thief.Refresh {
			w.t.Errorf("got the next tokens %s and %s, want the same token", owner.Refresh, thief.Refresh)
		}
		w.advance(reissueWindow)
		_, err = w.Refresh(w.ctx, thief.Refresh, "Firefox")
		w.must(err)
		w.advance(reissueWindow)
		_, err = w.Refresh(w.ctx, owner.Refresh, "Firefox")
		w.wantCode("the second use of the next token", err, shop.Unauthorized)
		d, err := w.store.Sessions().Device(w.ctx, w.deviceOf(s))
		if err != nil || d.RevokedAt == 0 {
			w.t.Errorf("the login is still valid: %+v, %v", d, err)
		}
	})
}

// deviceOf returns the device of a session, even if its tokens have expired.
func (w *world) deviceOf(s Session) shop.ID {
	id, _, _ := w.refresher().parse(s.Refresh)
	return id
}

// TestInvalidRefreshTokensAreRejected: invalid refresh tokens are rejected and do not end the login.
func TestInvalidRefreshTokensAreRejected(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		s, otherSession := w.logIn(email), w.logIn(w.account())
		device := w.identity(s.Access).Device
		_, secret, _ := strings.Cut(s.Refresh, ".")
		_, otherSecret, _ := strings.Cut(otherSession.Refresh, ".")
		for what, token := range map[string]string{
			"no token": "", "an access token": s.Access, "the secret alone": secret, "the device alone": device.String(),
			"a device without a secret": device.String() + ".", "a forged secret": refreshToken(device, newSecret()),
			"another device's secret": refreshToken(device, otherSecret), "a token of an unknown device": refreshToken(12345, secret),
			"a changed token": s.Refresh[:len(s.Refresh)-2] + "AA", "a padded token": s.Refresh + "=", "a token after a space": " " + s.Refresh,
			"a long token": s.Refresh + strings.Repeat("A", 100_000), "a token of another server": refreshToken(device,
				refresher{deriveKey(otherKey, "stampede refresh tokens")}.first(device)),
		} {
			_, err := w.Refresh(w.ctx, token, "Firefox")
			w.wantCode(what, err, shop.Unauthorized)
			if token != "" {
				w.wantCode("a logout with "+what, w.LogOut(w.ctx, LogOut{Refresh: token}), shop.Unauthorized)
			}
		}
		if _, err := w.Issuer.Verify(s.Refresh); !errors.Is(err, &shop.Error{Code: shop.Unauthorized}) {
			w.t.Errorf("a refresh token as an access token: got %v, want unauthorized", err)
		}
		next, err := w.Refresh(w.ctx, s.Refresh, "Firefox")
		w.must(err)
		w.advance(refreshLife)
		_, err = w.Refresh(w.ctx, next.Refresh, "Firefox")
		w.wantCode("a refresh token after thirty days", err, shop.Unauthorized)
	})
}

// TestAccessTokenExpiresBeforeLogin: an access token of an account is valid for shop.AccessLife (15 minutes). The login
// stays valid longer.
func TestAccessTokenExpiresBeforeLogin(t *testing.T) {
	onBoth(t, func(w *world) {
		s := w.logIn(w.account())
		if life := s.Expires.Sub(w.now()); life > shop.AccessLife || life < shop.AccessLife-time.Minute {
			w.t.Errorf("got a lifetime of %v, want about %v", life, shop.AccessLife)
		}
		w.advance(shop.AccessLife + 2*leeway)
		_, err := w.Issuer.Verify(s.Access)
		w.wantCode("an access token after its expiry", err, shop.Unauthorized)
		next, err := w.Refresh(w.ctx, s.Refresh, "Firefox")
		w.must(err)
		w.identity(next.Access)
	})
}

// TestRoleChangeRevokesTokens: a role change revokes tokens with the old role.
func TestRoleChangeRevokesTokens(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		s := w.logIn(email)
		w.must(w.store.Accounts().SetRole(w.ctx, s.User.ID, shop.Operator))
		w.must(w.Watch.RunOnce(w.ctx))
		_, err := w.Issuer.Verify(s.Access)
		w.wantCode("a token with the old role", err, shop.Unauthorized)
		if again := w.logIn(email); w.identity(again.Access).Role != shop.Operator {
			w.t.Errorf("got the user %+v, want the role operator", again.User)
		}
	})
}

// TestLogOutEverywhereCanBeRepeated: if the store fails, the token stays the current one, so that a later repeat ends
// all logins.
func TestLogOutEverywhereCanBeRepeated(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		thisDevice, otherDevice := w.logIn(email), w.logIn(email)
		logOut := func() error { return w.LogOut(w.ctx, LogOut{Refresh: thisDevice.Refresh, Everywhere: true}) }
		w.store.WrapTransaction = faults.Transactions(func(_ context.Context, name string, call func() error) error {
			if name == "Sessions.RevokeDevices" {
				return shop.ErrTransient
			}
			return call()
		})
		w.wantCode("a failed logout", logOut(), shop.Busy)
		w.store.WrapTransaction = nil
		w.advance(2 * reissueWindow)
		w.must(logOut())
		_, err := w.Refresh(w.ctx, otherDevice.Refresh, "Firefox")
		w.wantCode("another login after the repeat", err, shop.Unauthorized)
	})
}

// TestExpiredLoginEndsNoOtherLogin: a logout on all devices requires a login that has not expired.
func TestExpiredLoginEndsNoOtherLogin(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		expired := w.logIn(email)
		w.advance(refreshLife + time.Hour)
		other := w.logIn(email)
		err := w.LogOut(w.ctx, LogOut{Refresh: expired.Refresh, Everywhere: true})
		w.wantCode("a logout on all devices with an expired login", err, shop.Unauthorized)
		_, err = w.Refresh(w.ctx, other.Refresh, "Firefox")
		w.must(err)
	})
}

// An operator's script with a token of `stampede token` continues when the operator logs in. The tokens of a guest end.
func TestLoginKeepsSignedTokensOfStaff(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		user := w.identity(w.logIn(email).Access).User
		script, err := w.Issuer.Issue(user, "User", shop.Operator, time.Hour)
		w.must(err)
		guest, err := w.Issuer.Issue(user, "Guest", shop.Shopper, time.Hour)
		w.must(err)
		w.logIn(email)
		if _, err := w.Issuer.Verify(script); err != nil {
			w.t.Errorf("token of staff after a login: got %v, want it valid", err)
		}
		_, err = w.Issuer.Verify(guest)
		w.wantCode("token of a guest after a login", err, shop.Unauthorized)
	})
}
