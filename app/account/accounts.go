package account

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stampede/app/admission"
	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	activateLife = 24 * time.Hour
	resetLife    = time.Hour
	// maxEmailsPerHour is the number of e-mails that anonymous requests can send to one address per hour.
	maxEmailsPerHour = 5
	// minResponseTime is the minimum response time of requests whose work depends on whether an account
	// exists for an e-mail address.
	// The work for an existing account takes a tenth of this time.
	minResponseTime = 250 * time.Millisecond
)

// Accounts manages accounts. Neither texts nor response times disclose whether an account exists for an
// e-mail address.
type Accounts struct {
	Store    *store.Store
	Mailer   outbox.Mailer
	Issuer   *Issuer
	Hasher   *Hasher
	Captchas *Captchas
	Counters *Counters
	Watch    *Watch
	Mint     func() (shop.ID, error)
	Now      func() shop.Millis // the clock that all nodes share

	// Public is the URL of the page for links in e-mails, without a trailing slash.
	Public string
}

// Captcha returns a new picture.
func (a *Accounts) Captcha(ctx context.Context, client admission.PictureClient) (CaptchaPicture, error) {
	id, image, until, err := a.Captchas.New(ctx, client)
	return CaptchaPicture{ID: id, Image: image, Expires: until}, err
}

// errCredentials does not disclose whether the e-mail or the password is wrong.
func errCredentials() error {
	return shop.Fail(shop.Unauthorized, "the e-mail or the password is wrong")
}

func errCaptcha() error {
	return shop.Fail(shop.CaptchaRequired, "a captcha is needed: get one from /api/v1/auth/captcha")
}

// checkCaptcha checks the solution of a picture. The picture is invalid afterwards.
func (a *Accounts) checkCaptcha(ctx context.Context, answer *CaptchaSolution) error {
	if answer == nil {
		return errCaptcha()
	}
	if correct, err := a.Captchas.Check(ctx, answer.ID, answer.Answer); err != nil || !correct {
		return cmp.Or(err, errCaptcha())
	}
	return nil
}

// padResponseTime waits until minResponseTime has passed since began.
func padResponseTime(ctx context.Context, began time.Time) {
	shop.Sleep(ctx, minResponseTime-time.Since(began))
}

// mint returns a new id. Busy: no id is available.
func (a *Accounts) mint() (shop.ID, error) {
	id, err := a.Mint()
	if err != nil {
		return 0, errors.Join(err, shop.FailBusy("the service is busy; try again", time.Second))
	}
	return id, nil
}

// userOf reads the account of an e-mail address. known is false if it does not exist.
func (a *Accounts) userOf(ctx context.Context, email string) (u shop.User, known bool, err error) {
	u, err = a.Store.Accounts().UserByEmail(ctx, email)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.User{}, false, nil
	}
	return u, err == nil, shop.Unavailable("accounts", err)
}

// mail sends an e-mail unless its address has reached maxEmailsPerHour.
func (a *Accounts) mail(ctx context.Context, l outbox.Email) error {
	if a.Counters.increment(ctx, time.Hour, "mail:"+hashOf(l.To))[0] > maxEmailsPerHour {
		return nil
	}
	return shop.Unavailable("the queue of e-mails", a.Mailer.Send(ctx, l))
}

// mailLink sends an e-mail with a link that contains the secret.
func (a *Accounts) mailLink(ctx context.Context, u *shop.User, kind shop.MailTokenKind, secret string) error {
	l := outbox.Email{Kind: outbox.EmailActivate, About: hashOf(secret), To: u.Email, Name: u.Name, Lang: u.Lang}
	if kind == shop.TokenReset {
		l.Kind = outbox.EmailReset
	}
	// Browsers do not send the fragment, so the secret does not reach the access logs of proxies.
	l.Link = a.Public + "/#" + string(kind) + "=" + secret
	return a.mail(ctx, l)
}

// newMailToken returns the secret of a new e-mailed link and its stored form.
func (a *Accounts) newMailToken(user shop.ID, kind shop.MailTokenKind) (string, shop.MailToken) {
	secret, life := newSecret(), activateLife
	if kind == shop.TokenReset {
		life = resetLife
	}
	return secret, shop.MailToken{Hash: hashOf(secret), User: user, Kind: kind, ExpiresAt: a.Now().Add(life)}
}

// mailNewLink sends another link to the user, unless the account has changed since it was read.
func (a *Accounts) mailNewLink(ctx context.Context, u *shop.User, kind shop.MailTokenKind) error {
	secret, token := a.newMailToken(u.ID, kind)
	err := a.Store.Accounts().AddMailToken(ctx, token, u)
	if errors.Is(err, shop.ErrNoRow) {
		return nil
	}
	if err != nil {
		return shop.Unavailable("accounts", err)
	}
	return a.mailLink(ctx, u, kind, secret)
}

// maxName is the maximum length of a name, in characters.
const maxName = 40

// ParseName trims and validates a display name.
func ParseName(s string) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", shop.Fail(shop.BadRequest, "the name is missing")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", shop.Fail(shop.BadRequest, "the name has invalid characters")
	case utf8.RuneCountInString(s) > maxName:
		return "", shop.Fail(shop.BadRequest, "the name is too long: want at most 40 characters")
	}
	return s, nil
}
