package account

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"stampede/app/shop"
)

const (
	// emailFailures and addressFailures are the numbers of failures per e-mail and per address after which a login
	// requires a captcha. All people of an office may share one address. After addressSuspect failures, an address
	// needs a captcha while the hash budget is low.
	emailFailures   = 3
	addressFailures = 20
	addressSuspect  = 3
	failureWindow   = 15 * time.Minute
	maxDeviceName   = 80
)

// LogIn opens a session. The cheapest check comes first: request, Redis, place in the queue, database, hash.
func (a *Accounts) LogIn(ctx context.Context, l LogIn) (Session, error) {
	email, err := ParseEmail(l.Email)
	switch {
	case err != nil:
		return Session{}, err
	case l.Password == "":
		return Session{}, shop.Fail(shop.BadRequest, "the password is missing")
	case len(normalized(l.Password)) > 4*maxPassword: // at most 4 bytes per character
		return Session{}, shop.Fail(shop.BadRequest, "the password is too long")
	case l.Captcha == nil && a.Hasher.UnderPressure():
		return Session{}, errCaptcha()
	}
	u, err := a.authenticate(ctx, email, &l)
	if err != nil {
		return Session{}, err
	}
	if u.State == shop.UserPending {
		if err := a.mailNewLink(ctx, &u, shop.TokenActivate); err != nil {
			return Session{}, err
		}
		return Session{}, shop.Fail(shop.Forbidden,
			"the e-mail is not confirmed: open the link in the e-mail that was just sent")
	}
	guest := unboundGuest(&l.Guest)
	// At the first login, the account takes the id of the guest who registered it.
	u.ID, err = a.Store.Accounts().FirstLogIn(ctx, &u, guest, guestHash(u.ID, guest))
	if errors.Is(err, shop.ErrNoRow) { // the account has changed since its password was verified
		return Session{}, errCredentials()
	}
	if err != nil {
		return Session{}, shop.Unavailable("accounts", err)
	}
	return a.openLogin(ctx, &u, l.Device)
}

// authenticate returns the account with this e-mail and password. A caller without a required captcha takes no place in
// the queue.
func (a *Accounts) authenticate(ctx context.Context, email string, l *LogIn) (shop.User, error) {
	keys, thresholds := failureCounterKeys(email, l.Addr)
	failures := a.Counters.read(ctx, keys...)
	// A supplied captcha is always verified, because it opens the reserved places in the queue. failures[0] counts the
	// e-mail, the others count its networks.
	verifyCaptcha := l.Captcha != nil || slices.Max(failures[1:]) >= addressSuspect && a.Hasher.budgetLow()
	for i := range failures {
		verifyCaptcha = verifyCaptcha || failures[i] >= thresholds[i]
	}
	if verifyCaptcha {
		if err := a.checkCaptcha(ctx, l.Captcha); err != nil {
			return shop.User{}, err
		}
	}
	leave, err := a.Hasher.Enter(l.Captcha != nil, 0, l.Addr)
	switch {
	case err != nil && l.Captcha == nil:
		return shop.User{}, errCaptcha() // a solved captcha gives access to the reserved places in the queue
	case err != nil:
		return shop.User{}, err
	}
	defer leave()
	u, _, err := a.userOf(ctx, email)
	if err != nil {
		return shop.User{}, err
	}
	match, err := a.Hasher.Matches(ctx, u.Password, l.Password) // also for unknown users: equal response times
	if err != nil {
		return shop.User{}, err
	}
	if !match {
		a.Counters.increment(ctx, failureWindow, keys...)
		return shop.User{}, errCredentials()
	}
	if failures[0] > 0 {
		a.Counters.reset(ctx, keys[0])
	}
	return u, nil
}

// failureCounterKeys returns the keys of the failure counters of a login, the counter of the e-mail first. thresholds
// contains the value of each counter at which a captcha is required.
func failureCounterKeys(email string, addr netip.Addr) (keys []string, thresholds []int64) {
	narrow, wide := shop.Networks(addr)
	keys, thresholds = []string{"email:" + hashOf(email), "address:" + narrow.String()}, []int64{emailFailures, addressFailures}
	if wide.IsValid() {
		keys, thresholds = append(keys, "address:"+wide.String()), append(thresholds, addressFailures*shop.WideFactor)
	}
	return keys, thresholds
}

// openLogin creates a login of an account and its first tokens. It revokes the tokens whose subject is the user id: the
// tokens of the former guest would give access without the password. Tokens of other logins have their device as
// subject and stay valid.
func (a *Accounts) openLogin(ctx context.Context, u *shop.User, name string) (Session, error) {
	now := a.Now()
	if err := a.Store.Sessions().Revoke(ctx, []shop.ID{u.ID}, now.Add(MaxLife+leeway)); err != nil {
		return Session{}, shop.Unavailable("logins", err)
	}
	defer a.readRevocationsNow(ctx)
	id, err := a.mint()
	if err != nil {
		return Session{}, err
	}
	secret := a.refresher().first(id)
	d := shop.Device{
		ID: id, User: u.ID, Name: deviceName(name), RefreshHash: hashOf(secret),
		RotatedAt: now, CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(refreshLife),
	}
	err = a.Store.Sessions().AddDevice(ctx, d, u)
	if errors.Is(err, shop.ErrNoRow) { // password, role or state changed during the login
		return Session{}, errCredentials()
	}
	if err != nil {
		return Session{}, shop.Unavailable("logins", err)
	}
	return a.session(u, id, secret)
}

// deviceName returns the printable part of a client's name.
func deviceName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	r := []rune(strings.TrimSpace(s))
	return string(r[:min(len(r), maxDeviceName)])
}
