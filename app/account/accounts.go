package account

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stampede/app"
)

const (
	activateLife = 24 * time.Hour
	resetLife    = time.Hour
	// emailsAnHour is the maximum of e-mails per address and hour that anonymous requests can cause.
	emailsAnHour = 5
	// evenly is what the part of an answer takes that depends on whether an e-mail is known, either way: what follows
	// for one that is known takes a tenth of it.
	evenly = 250 * time.Millisecond
)

// Accounts is what people do with their accounts. Nothing here tells whether an e-mail is known: neither a text nor
// how long the answer takes.
type Accounts struct {
	Users    app.UserStore
	Devices  app.DeviceStore
	Mailer   app.Mailer
	Issuer   *Issuer
	Hasher   *Hasher
	Captchas *Captchas
	Shelf    *Shelf
	Watch    *Watch
	Mint     func() (app.ID, error)
	Now      func() app.Millis // the clock that all nodes share

	// Public is the address of the page, without a slash at its end: links in mails lead there.
	Public string
}

// Captcha draws a picture to be answered.
func (a *Accounts) Captcha(ctx context.Context, asker app.PictureAsker) (app.Picture, error) {
	id, image, until, err := a.Captchas.New(ctx, asker)
	return app.Picture{ID: id, Image: image, Expires: until}, err
}

// errWrong is one answer for what must not be told apart.
func errWrong() error { return app.Fail(app.Unauthorized, "the e-mail or the password is not right") }

func errCaptcha() error {
	return app.Fail(app.CaptchaRequired, "answer a picture first: get a new one from /api/v1/auth/captcha")
}

// solved checks what was read in a picture.
func (a *Accounts) solved(ctx context.Context, answer *app.CaptchaAnswer) error {
	if answer == nil {
		return errCaptcha()
	}
	if right, err := a.Captchas.Check(ctx, answer.ID, answer.Answer); err != nil || !right {
		return cmp.Or(err, errCaptcha())
	}
	return nil
}

// answerEvenly waits until the time since began is the same for everybody.
func answerEvenly(ctx context.Context, began time.Time) { app.Sleep(ctx, evenly-time.Since(began)) }

// mint makes an id, or says that it has to wait.
func (a *Accounts) mint() (app.ID, error) {
	id, err := a.Mint()
	if err != nil {
		return 0, errors.Join(err, app.FailBusy("this cannot be done right now; please try again", time.Second))
	}
	return id, nil
}

// userOf reads the account of an e-mail; known is false if there is none.
func (a *Accounts) userOf(ctx context.Context, email string) (u app.User, known bool, err error) {
	u, err = a.Users.UserByEmail(ctx, email)
	if errors.Is(err, app.ErrNoRow) {
		return app.User{}, false, nil
	}
	return u, err == nil, app.Unreadable("accounts", err)
}

// mail sends an e-mail, unless its reader has got too many.
func (a *Accounts) mail(ctx context.Context, l app.Email) error {
	if a.Shelf.count(ctx, time.Hour, "mail:"+hashOf(l.To))[0] > emailsAnHour {
		return nil
	}
	return app.Unreadable("the way of mails", a.Mailer.Send(ctx, l))
}

// mailLink makes the e-mail with what a new secret proves.
func (a *Accounts) mailLink(ctx context.Context, u *app.User, kind app.MailTokenKind, secret string) error {
	l := app.Email{Kind: app.EmailActivate, About: hashOf(secret), To: u.Email, Name: u.Name, Lang: u.Lang}
	if kind == app.TokenReset {
		l.Kind = app.EmailReset
	}
	l.Link = a.Public + "/?" + string(kind) + "=" + secret
	return a.mail(ctx, l)
}

// token makes a secret and what the store is to know of it.
func (a *Accounts) token(user app.ID, kind app.MailTokenKind) (string, app.MailToken) {
	secret, life := newSecret(), activateLife
	if kind == app.TokenReset {
		life = resetLife
	}
	return secret, app.MailToken{Hash: hashOf(secret), User: user, Kind: kind, ExpiresAt: a.Now().Add(life)}
}

// writeAgain sends a known user another link of a kind.
func (a *Accounts) writeAgain(ctx context.Context, u *app.User, kind app.MailTokenKind) error {
	secret, token := a.token(u.ID, kind)
	if err := a.Users.AddMailToken(ctx, token); err != nil {
		return app.Unreadable("accounts", err)
	}
	return a.mailLink(ctx, u, kind, secret)
}

// maxName is how long a name may be, in characters.
const maxName = 40

// ParseName takes what people want to be called.
func ParseName(s string) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", app.Fail(app.BadRequest, "the name is missing")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", app.Fail(app.BadRequest, "the name has characters that cannot be shown")
	case utf8.RuneCountInString(s) > maxName:
		return "", app.Fail(app.BadRequest, "the name is too long: want at most 40 characters")
	}
	return s, nil
}

// ParseLang takes the languages that mails and page speak.
func ParseLang(s string) (string, error) {
	if s == "en" || s == "zh" {
		return s, nil
	}
	return "", app.Fail(app.BadRequest, "lang must be en or zh")
}
