package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"stampede/app/admission"
	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// TestRegisteredGuestKeepsID: a guest who registers and logs in keeps the id. The account is active once its e-mail is
// confirmed. The first login revokes the guest's token.
func TestRegisteredGuestKeepsID(t *testing.T) {
	onBoth(t, func(w *world) {
		guest, err := w.guests.LogIn("")
		w.must(err)
		email := newEmail()
		w.must(w.Register(w.ctx, Registration{
			Email: " " + strings.ToUpper(email), Password: goodPassword, Name: "  王小明 ", Lang: "zh", Captcha: w.solution(),
			Guest: w.identity(guest.Access),
		}))
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: "wrong " + goodPassword})
		w.wantCode("a wrong password before activation", err, shop.Unauthorized)
		first := w.takeEmails(email)
		if len(first) != 1 || first[0].Lang != "zh" || !strings.HasPrefix(first[0].Link, "https://shop.example/#activate=") {
			w.t.Fatalf("got the e-mails %+v, want one activation link in Chinese", first)
		}
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword})
		w.wantCode("a login before activation", err, shop.Forbidden)
		secret := w.takeLinkSecret(email, outbox.EmailActivate)
		if got, err := w.activate(secret); err != nil || got != email {
			w.t.Fatalf("activation: got the e-mail %q, %v, want %v", got, err, email)
		}
		w.advance(2 * time.Minute)
		_, err = w.activate(secret)
		w.wantCode("a second use of the link", err, shop.NotFound)

		s, err := w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword, Guest: w.identity(guest.Access)})
		w.must(err)
		if s.User.ID != guest.User.ID || s.User.Name != "王小明" || s.User.Email != email || s.User.Role != shop.Shopper {
			w.t.Errorf("login: got the user %+v, want the guest's id and the name and e-mail of the account", s.User)
		}
		_, err = w.Issuer.Verify(guest.Access)
		w.wantCode("the guest's token", err, shop.Unauthorized)
		_, err = w.guests.LogIn(guest.Access)
		w.wantCode("a new token for the guest", err, shop.Unauthorized)
		_, err = w.guests.LogIn(s.Access)
		w.wantCode("a guest login with the token of the account", err, shop.Forbidden)

		me, err := w.Me(w.ctx, w.identity(s.Access))
		if err != nil || me.Email != email || me.Guest || me.Lang != "zh" || me.CreatedAt == 0 {
			w.t.Errorf("me: got %+v, %v, want the account", me, err)
		}
		name, lang := "Ada", "en"
		if me, err = w.EditMe(w.ctx, w.identity(s.Access), MeEdit{Name: &name, Lang: &lang}); err != nil ||
			me.Name != name || me.Lang != lang {
			w.t.Errorf("edited: got %+v, %v, want name %s and lang %s", me, err, name, lang)
		}
		tooLong := strings.Repeat("马", 41)
		_, err = w.EditMe(w.ctx, w.identity(s.Access), MeEdit{Name: &tooLong})
		w.wantCode("a name of 41 characters", err, shop.BadRequest)
	})
}

// TestRegistrationWithForeignEmailIsHarmless: a guest registers the e-mail of another person, with the guest's own
// password.
func TestRegistrationWithForeignEmailIsHarmless(t *testing.T) {
	onBoth(t, func(w *world) {
		registerForeignEmail := func() (email, link string, guest shop.Identity) {
			entered, err := w.guests.LogIn("")
			w.must(err)
			email, guest = newEmail(), w.identity(entered.Access)
			w.must(w.Register(w.ctx, Registration{
				Email: email, Password: goodPassword, Captcha: w.solution(), Guest: guest,
			}))
			return email, w.takeLinkSecret(email, outbox.EmailActivate), guest
		}
		logIn := func(email string, guest shop.Identity) (shop.ID, error) {
			s, err := w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword, Guest: guest})
			return s.User.ID, err
		}
		// The owner of the e-mail cannot supply the password, and deletes the account.
		email, link, attacker := registerForeignEmail()
		_, err := w.Activate(w.ctx, Activation{Token: link, Password: "the owner's own 马"})
		w.wantCode("activation without the chosen password", err, shop.Forbidden)
		_, err = logIn(email, attacker)
		w.wantCode("a login of the attacker", err, shop.Forbidden)
		w.must(w.Unregister(w.ctx, link))
		_, err = logIn(email, attacker)
		w.wantCode("a login of the attacker after the account was deleted", err, shop.Unauthorized)
		w.wantCode("a second use of the link", w.Unregister(w.ctx, link), shop.NotFound)
		w.wantCode("a forged link", w.Unregister(w.ctx, newSecret()), shop.NotFound)

		// A link limits the number of passwords that can be tried with it.
		_, link, _ = registerForeignEmail()
		for range maxActivateTries {
			_, err = w.Activate(w.ctx, Activation{Token: link, Password: "wrong"})
			w.wantCode("an attempt with a wrong password", err, shop.Forbidden)
		}
		_, err = w.activate(link)
		w.wantCode("an attempt over the limit", err, shop.NotFound)

		// If the first login has the token of another guest, the account gets a new id, also at later logins.
		email, link, attacker = registerForeignEmail()
		_, err = w.activate(link)
		w.must(err)
		w.wantCode("deletion of an active account", w.Unregister(w.ctx, link), shop.NotFound)
		_, _, other := registerForeignEmail()
		accountID, err := logIn(email, other)
		if err != nil || accountID == attacker.User || accountID == other.User {
			w.t.Errorf("got account id %d, %v, want a new id", accountID, err)
		}
		if again, err := logIn(email, attacker); err != nil || again != accountID {
			w.t.Errorf("a later login of the guest: got id %d, %v, want %d", again, err, accountID)
		}
		// A guest registers two accounts. Only one of them gets the id.
		first, link, guest := registerForeignEmail()
		_, err = w.activate(link)
		w.must(err)
		second := newEmail()
		w.must(w.Register(w.ctx, Registration{
			Email: second, Password: goodPassword, Captcha: w.solution(), Guest: guest,
		}))
		_, err = w.activate(w.takeLinkSecret(second, outbox.EmailActivate))
		w.must(err)
		a, errA := logIn(first, guest)
		b, errB := logIn(second, guest)
		if errA != nil || errB != nil || a != guest.User || b == guest.User {
			w.t.Errorf("got account ids %d, %v and %d, %v, want %d for the first account only", a, errA, b, errB, guest.User)
		}
	})
}

// TestResponsesDoNotRevealAccounts: texts, codes and response times do not reveal whether an e-mail has an account.
func TestResponsesDoNotRevealAccounts(t *testing.T) {
	onBoth(t, func(w *world) {
		known, unknown, pending := w.account(), newEmail(), newEmail()
		register := func(email string) (time.Duration, error) {
			began := time.Now()
			err := w.Register(w.ctx, Registration{Email: email, Password: goodPassword + "!", Captcha: w.solution()})
			return time.Since(began), err
		}
		forgot := func(email string) (time.Duration, error) {
			began := time.Now()
			err := w.RequestReset(w.ctx, ResetRequest{Email: email, Captcha: w.solution()})
			return time.Since(began), err
		}
		for _, email := range []string{known, pending, pending} {
			if took, err := register(email); err != nil || took < minResponseTime {
				w.t.Errorf("register: got %v after %v, want no error after at least %v", err, took, minResponseTime)
			}
		}
		if l := w.takeEmails(known); len(l) != 1 || l[0].Kind != outbox.EmailTaken {
			w.t.Errorf("the owner received %+v, want one e-mail of kind %v", l, outbox.EmailTaken)
		}
		if l := w.takeEmails(pending); len(l) != 2 || l[0].Kind != outbox.EmailActivate ||
			l[1].Kind != outbox.EmailActivate {
			w.t.Errorf("the registrant received %+v, want two e-mails of kind %v", l, outbox.EmailActivate)
		}
		for _, email := range []string{known, unknown, pending} {
			if took, err := forgot(email); err != nil || took < minResponseTime {
				w.t.Errorf("forgot: got %v after %v, want no error after at least %v", err, took, minResponseTime)
			}
		}
		if l := w.takeEmails(unknown); len(l) != 0 {
			w.t.Errorf("an unknown address received %+v, want no e-mail", l)
		}
		// Alternate between the e-mails, below the captcha limit, and compare the fastest logins, so that other load
		// affects all e-mails equally. Without a hash, a response would take a hundredth of the time.
		var messages [3]string
		var fastest [3]time.Duration
		for round := range emailFailures {
			for i, email := range []string{known, unknown, pending} {
				began := time.Now()
				_, err := w.LogIn(w.ctx, LogIn{Email: email, Password: "not this one"})
				if took := time.Since(began); round == 0 || took < fastest[i] {
					fastest[i] = took
				}
				messages[i] = w.wantCode("a login", err, shop.Unauthorized)
			}
		}
		for i, who := range []string{"known", "unknown", "pending"} {
			if messages[i] != messages[0] || fastest[i] < fastest[0]/4 {
				w.t.Errorf("a login to the %s account: got %q after %v; a login to the known account: got %q after %v", who, messages[i], fastest[i], messages[0], fastest[0])
			}
		}
	})
}

func TestResetLinkSetsPasswordOnce(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		s := w.logIn(email)
		w.must(w.RequestReset(w.ctx, ResetRequest{Email: email, Captcha: w.solution()}))
		secret := w.takeLinkSecret(email, outbox.EmailReset)
		w.wantCode("a short password", w.Reset(w.ctx, NewPassword{Token: secret, Password: "short"}), shop.BadRequest)
		w.must(w.Reset(w.ctx, NewPassword{Token: secret, Password: "another 马 dances"}))
		for what, token := range map[string]string{
			"that was used": secret, "that is empty": "", "that is truncated": secret[:42], "that is forged": newSecret(), "that is too long": strings.Repeat("A", 9000),
		} {
			err := w.Reset(w.ctx, NewPassword{Token: token, Password: "a third 马 dances"})
			w.wantCode("a link "+what, err, shop.NotFound)
		}
		_, err := w.Issuer.Verify(s.Access)
		w.wantCode("the access token from before the reset", err, shop.Unauthorized)
		_, err = w.Refresh(w.ctx, s.Refresh, "Firefox")
		w.wantCode("the refresh token from before the reset", err, shop.Unauthorized)
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword})
		w.wantCode("the old password", err, shop.Unauthorized)
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: "another 马 dances"})
		w.must(err)

		w.must(w.RequestReset(w.ctx, ResetRequest{Email: email, Captcha: w.solution()}))
		secret = w.takeLinkSecret(email, outbox.EmailReset)
		w.advance(resetLife)
		w.wantCode("an expired link", w.Reset(w.ctx, NewPassword{Token: secret, Password: goodPassword}), shop.NotFound)
	})
}

// TestRequestsWithoutCaptchaLeaveQueuePlaces: forged links compute no hash, and requests without a captcha leave places
// for logins with one.
func TestRequestsWithoutCaptchaLeaveQueuePlaces(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		s := w.logIn(email)
		w.Hasher.slot <- struct{}{} // occupies the only slot for hashes during the requests with forged links
		for range 2 * hashQueue {
			err := w.Reset(w.ctx, NewPassword{Token: newSecret(), Password: goodPassword})
			w.wantCode("a forged link", err, shop.NotFound)
		}
		<-w.Hasher.slot
		for range maxWithoutCaptcha {
			_, err := w.Hasher.Enter(false, 0, netip.Addr{})
			w.must(err)
		}
		change := PasswordChange{Old: goodPassword, New: "another 马 dances"}
		w.wantCode("a change of the password", w.ChangePassword(w.ctx, w.identity(s.Access), change), shop.Busy)
		w.wantCode("a password check", w.VerifyPassword(w.ctx, &shop.User{ID: s.User.ID}, goodPassword), shop.Busy)
		w.must(w.RequestReset(w.ctx, ResetRequest{Email: email, Captcha: w.solution()}))
		pending := newEmail()
		w.must(w.Register(w.ctx, Registration{Email: pending, Password: goodPassword, Captcha: w.solution()}))
		_, err := w.activate(w.takeLinkSecret(pending, outbox.EmailActivate))
		w.wantCode("an activation", err, shop.Busy)
		link := w.takeLinkSecret(email, outbox.EmailReset)
		w.wantCode("a reset", w.Reset(w.ctx, NewPassword{Token: link, Password: goodPassword}), shop.Busy)
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword})
		w.wantCode("a login without a captcha", err, shop.CaptchaRequired)
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword, Captcha: w.solution()})
		w.must(err)
		err = w.Register(w.ctx, Registration{Email: newEmail(), Password: goodPassword, Captcha: w.solution()})
		w.must(err)
		for range hashQueue + 1 - maxWithoutCaptcha { // hashQueue callers wait, one computes
			_, err := w.Hasher.Enter(true, 0, netip.Addr{})
			w.must(err)
		}
		wrongSolution := &CaptchaSolution{ID: w.solution().ID, Answer: "654321"}
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword, Captcha: wrongSolution})
		w.wantCode("a wrong captcha solution, which is rejected before it takes a queue place,", err, shop.CaptchaRequired)
	})
}

func TestChangePassword(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		thisDevice, otherDevice := w.logIn(email), w.logIn(email)
		who := w.identity(thisDevice.Access)
		w.wantCode("a wrong old password", w.ChangePassword(w.ctx, who, PasswordChange{Old: "wrong", New: "another 马 dances"}),
			shop.Forbidden)
		w.wantCode("an invalid new password", w.ChangePassword(w.ctx, who, PasswordChange{Old: goodPassword, New: email}),
			shop.BadRequest)
		w.must(w.ChangePassword(w.ctx, who, PasswordChange{Old: goodPassword, New: "another 马 dances"}))
		_, err := w.Refresh(w.ctx, otherDevice.Refresh, "Firefox")
		w.wantCode("the other device", err, shop.Unauthorized)
		_, err = w.Refresh(w.ctx, thisDevice.Refresh, "Firefox")
		w.must(err)
		guest, err := w.guests.LogIn("")
		w.must(err)
		err = w.ChangePassword(w.ctx, w.identity(guest.Access), PasswordChange{Old: goodPassword, New: "another 马 dances"})
		w.wantCode("a change by a guest", err, shop.Forbidden)
	})
}

// TestPasswordTriesWithAccessTokenAreLimited: a stolen access token can try only a few passwords.
func TestPasswordTriesWithAccessTokenAreLimited(t *testing.T) {
	onBoth(t, func(w *world) {
		who := w.identity(w.logIn(w.account()).Access)
		change := func(old string) error {
			return w.ChangePassword(w.ctx, who, PasswordChange{Old: old, New: "another 马 dances"})
		}
		for range maxPasswordTries {
			err := change("wrong")
			if w.wantCode("a wrong password", err, shop.Forbidden); !strings.Contains(err.Error(), "is wrong") {
				w.t.Errorf("got %v, want the message of a wrong password", err)
			}
		}
		w.wantCode("the correct password after the limit", change(goodPassword), shop.Forbidden)
	})
}

// TestLoginFailsIfAccountChanges: a login fails if the account changes between the check of the password and the
// insertion of the device.
func TestLoginFailsIfAccountChanges(t *testing.T) {
	onBoth(t, func(w *world) {
		for what, change := range map[string]func(u shop.User) error{
			"password": func(u shop.User) error { return w.store.Accounts().SetPassword(w.ctx, u.ID, u.Password, "$new", 0) },
			"role":     func(u shop.User) error { return w.store.Accounts().SetRole(w.ctx, u.ID, shop.Operator) },
			"deletion": func(u shop.User) error { return w.store.PersonalData().Erase(w.ctx, u.ID, nil, w.now(), w.now()) },
		} {
			email := w.account()
			u, err := w.store.Accounts().UserByEmail(w.ctx, email)
			w.must(err)
			w.store.WrapTransaction = faults.Transactions(func(_ context.Context, name string,
				call func() error,
			) error {
				if name == "Sessions.AddDevice" {
					w.must(change(u))
				}
				return call()
			})
			_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword})
			w.store.WrapTransaction = nil
			w.wantCode("a login during a change: "+what, err, shop.Unauthorized)
			if live, err := w.store.Sessions().DevicesOf(w.ctx, u.ID, w.now()); err != nil || len(live) != 0 {
				w.t.Errorf("%s: got logins %+v, %v, want none", what, live, err)
			}
		}
	})
}

func TestRemovedAndLoggedOutDevicesAreRejected(t *testing.T) {
	onBoth(t, func(w *world) {
		email, otherEmail := w.account(), w.account()
		thisDevice, otherDevice, otherUserSession := w.logIn(email), w.logIn(email), w.logIn(otherEmail)
		mine, err := w.MyDevices(w.ctx, w.identity(thisDevice.Access))
		if err != nil || len(mine) != 2 || mine[0].Current == mine[1].Current || mine[0].Name != "Test" {
			w.t.Fatalf("got devices %+v, %v, want two, one of them current", mine, err)
		}
		w.wantCode("a device of another user",
			w.RemoveDevice(w.ctx, w.identity(thisDevice.Access),
				w.identity(otherUserSession.Access).Device), shop.NotFound)
		w.must(w.RemoveDevice(w.ctx, w.identity(thisDevice.Access), w.identity(otherDevice.Access).Device))
		_, err = w.Issuer.Verify(otherDevice.Access)
		w.wantCode("a removed device", err, shop.Unauthorized)

		other := w.node() // another node, which reads the revocation later
		if _, err := other.Issuer.Verify(thisDevice.Access); err != nil {
			w.t.Error(err)
		}
		w.must(w.LogOut(w.ctx, LogOut{Refresh: thisDevice.Refresh}))
		w.must(w.LogOut(w.ctx, LogOut{Refresh: thisDevice.Refresh})) // a repeated logout succeeds and changes nothing
		w.must(other.Watch.RunOnce(w.ctx))
		_, err = other.Issuer.Verify(thisDevice.Access)
		w.wantCode("the token of a closed session, on another node", err, shop.Unauthorized)
		if _, err := other.Issuer.Verify(otherUserSession.Access); err != nil {
			w.t.Errorf("the token of another user: got %v, want it valid", err)
		}
		thisDevice, otherDevice = w.logIn(email), w.logIn(email)
		w.must(w.LogOut(w.ctx, LogOut{Caller: w.identity(thisDevice.Access), Everywhere: true}))
		for _, s := range []Session{thisDevice, otherDevice} {
			_, err = w.Issuer.Verify(s.Access)
			w.wantCode("a token after a logout everywhere", err, shop.Unauthorized)
			_, err = w.Refresh(w.ctx, s.Refresh, "Firefox")
			w.wantCode("a token after a logout everywhere", err, shop.Unauthorized)
		}
		last := w.logIn(email)
		_ = w.LogOut(w.ctx, LogOut{Refresh: thisDevice.Refresh, Everywhere: true}) // may fail, and must have no effect
		if _, verifyErr := w.Issuer.Verify(last.Access); verifyErr != nil {
			w.t.Errorf("the refresh token of a closed session closed another session: %v", verifyErr)
		}
	})
}

// TestFailedLoginsRequireCaptcha: after failures a login requires a captcha. A captcha accepts one attempt, correct
// or wrong.
func TestFailedLoginsRequireCaptcha(t *testing.T) {
	onBoth(t, func(w *world) {
		w.Hasher.budget = newBudget(hashShare, time.Hour, time.Now) // the test cannot use it up
		email := w.account()
		try := func(password string, c *CaptchaSolution, addr string) error {
			l := LogIn{Email: email, Password: password, Captcha: c}
			l.Addr, _ = netip.ParseAddr(addr)
			_, err := w.LogIn(w.ctx, l)
			return err
		}
		for range emailFailures {
			w.wantCode("a wrong password", try("wrong one", nil, "192.0.2.1"), shop.Unauthorized)
		}
		w.wantCode("the correct password after failures", try(goodPassword, nil, "192.0.2.2"), shop.CaptchaRequired)
		c := w.solution()
		w.wantCode("a wrong solution", try(goodPassword, &CaptchaSolution{ID: c.ID, Answer: "654321"}, ""), shop.CaptchaRequired)
		w.wantCode("the correct solution of the used captcha", try(goodPassword, c, ""), shop.CaptchaRequired)
		c = w.solution()
		w.must(try(goodPassword, c, "192.0.2.1"))
		w.must(try(goodPassword, nil, "192.0.2.1")) // the count was reset
		w.wantCode("the used captcha again", try(goodPassword, c, ""), shop.CaptchaRequired)
		w.wantCode("a registration with the used captcha", w.Register(w.ctx, Registration{
			Email: newEmail(), Password: goodPassword, Captcha: c,
		}), shop.CaptchaRequired)
		for what, captcha := range map[string]*CaptchaSolution{"no captcha": nil, "an empty captcha": {}, "a long captcha": {
			ID:     strings.Repeat("A", 26),
			Answer: strings.Repeat("1", 9000),
		}} {
			w.wantCode(what, w.RequestReset(w.ctx, ResetRequest{Email: email, Captcha: captcha}), shop.CaptchaRequired)
		}
		// Failures in every network of an IPv6 site count for the whole site.
		site := newSite()
		for i := range addressFailures * shop.WideFactor {
			keys, _ := failureCounterKeys(newEmail(), netip.MustParseAddr(fmt.Sprintf("%s:%x::1", site, i)))
			w.Counters.increment(w.ctx, failureWindow, keys...)
		}
		w.must(try(goodPassword, nil, newSite()+"::1"))
		for _, addr := range []string{site + ":ffff::1", site + ":1::2"} {
			w.wantCode("a login from "+addr, try(goodPassword, nil, addr), shop.CaptchaRequired)
		}
		w.must(try(goodPassword, w.solution(), site+":ffff::1"))
		w.must(try(goodPassword, nil, newSite()+"::1"))
		for range addressFailures {
			keys, _ := failureCounterKeys(newEmail(), netip.MustParseAddr("192.0.2.9"))
			w.Counters.increment(w.ctx, failureWindow, keys...)
		}
		w.wantCode("a login from an address with failures", try(goodPassword, nil, "192.0.2.9"), shop.CaptchaRequired)
		w.must(try(goodPassword, w.solution(), "192.0.2.9"))
		// A few failures of an address are enough while the hash budget is low.
		for range addressSuspect {
			keys, _ := failureCounterKeys(newEmail(), netip.MustParseAddr("192.0.2.10"))
			w.Counters.increment(w.ctx, failureWindow, keys...)
		}
		w.must(try(goodPassword, nil, "192.0.2.10"))
		w.Hasher.budget.level = 0
		w.wantCode("a login from a suspect address", try(goodPassword, nil, "192.0.2.10"), shop.CaptchaRequired)
		w.must(try(goodPassword, nil, "192.0.2.11"))
	})
}

// newSite returns the prefix of an IPv6 /48 that no other test uses.
func newSite() string {
	id := uint64(kit.NewID())
	return fmt.Sprintf("fd%02x:%x:%x", byte(id>>32), uint16(id>>16), uint16(id))
}

// TestLoginsAreLimitedWithoutRedis: while Redis is unreachable each node counts failures in its memory. Logins work,
// and the number of guessed passwords is still limited.
func TestLoginsAreLimitedWithoutRedis(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		w.must(w.redis.Close())
		w.logIn(email)
		for range emailFailures {
			_, err := w.LogIn(w.ctx, LogIn{Email: email, Password: "wrong one"})
			w.wantCode("a wrong password", err, shop.Unauthorized)
		}
		_, err := w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword})
		w.wantCode("the correct password after failures", err, shop.CaptchaRequired)
		picture, err := w.Captcha(w.ctx, admission.PictureClient{})
		if err != nil || !strings.HasPrefix(picture.Image, "data:image/png;base64,") {
			w.t.Fatalf("captcha: got %+v, %v, want a PNG", picture, err)
		}
		_, err = w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword, Captcha: w.solution()})
		w.must(err)
	})
}

// TestUnavailableDatabaseReturnsBusy: an unreachable database returns busy, never a wrong password.
func TestUnavailableDatabaseReturnsBusy(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		s := w.logIn(email)
		w.must(w.store.Close())
		_, err := w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword})
		w.wantCode("a login", err, shop.Busy)
		_, err = w.Refresh(w.ctx, s.Refresh, "Firefox")
		w.wantCode("a refresh", err, shop.Busy)
		w.wantCode("a logout", w.LogOut(w.ctx, LogOut{Refresh: s.Refresh}), shop.Busy)
		if _, err := w.Issuer.Verify(s.Access); err != nil {
			w.t.Errorf("Verify without a store: got %v, want no error", err)
		}
		if err := w.Watch.RunOnce(w.ctx); !errors.Is(err, shop.ErrTransient) {
			w.t.Errorf("watch: %v, want ErrTransient", err)
		}
	})
}
