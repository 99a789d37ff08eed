package account

import (
	"cmp"
	"context"
	"errors"
	"time"

	"stampede/app"
)

// Register writes an account that counts once its e-mail is proven, and mails the link. A guest keeps the id and the
// orders. A known e-mail address gets a message instead of the link; the response is the same.
func (a *Accounts) Register(ctx context.Context, r app.Registration) error {
	email, err := ParseEmail(r.Email)
	if err != nil {
		return err
	}
	lang, err := ParseLang(cmp.Or(r.Lang, "en"))
	if err != nil {
		return err
	}
	if r.Name != "" {
		if r.Name, err = ParseName(r.Name); err != nil {
			return err
		}
	}
	if err := CheckPassword(r.Password, email); err != nil {
		return err
	}
	hash, err := a.hashSolved(ctx, r.Captcha, r.Password)
	if err != nil {
		return err
	}
	began := time.Now()
	defer answerEvenly(ctx, began)
	u := app.User{
		Email: email, Name: r.Name, Role: app.Shopper, Password: hash, Lang: lang,
		State: app.UserPending, CreatedAt: a.Now(),
	}
	if u.ID, err = a.idFor(ctx, &r.Guest); err != nil {
		return err
	}
	u.Name = cmp.Or(u.Name, guestName(u.ID))
	secret, token := a.token(u.ID, app.TokenActivate)
	err = a.Users.Register(ctx, u, token)
	if errors.Is(err, app.ErrTaken) {
		return a.tellTaken(ctx, email)
	}
	if err != nil {
		return app.Unreadable("accounts", err)
	}
	return a.mailLink(ctx, &u, app.TokenActivate, secret)
}

// hashSolved computes the hash of a new password for somebody who has answered a picture. The place in the queue comes
// first: who is sent away keeps the picture.
func (a *Accounts) hashSolved(ctx context.Context, answer *app.CaptchaAnswer, password string) (string, error) {
	leave, err := a.Hasher.Enter()
	if err != nil {
		return "", err
	}
	defer leave()
	if err := a.solved(ctx, answer); err != nil {
		return "", err
	}
	return a.Hasher.Hash(ctx, password)
}

// idFor is the guest's id, if that has no account yet, else a new one.
func (a *Accounts) idFor(ctx context.Context, guest *app.Identity) (app.ID, error) {
	if guest.User == 0 || guest.Device != 0 || guest.Sale != 0 || guest.Role != app.Shopper {
		return a.mint()
	}
	u, err := a.Users.UserByID(ctx, guest.User)
	switch {
	case errors.Is(err, app.ErrNoRow), err == nil && u.State == app.UserPending:
		return guest.User, nil
	case err != nil:
		return 0, app.Unreadable("accounts", err)
	}
	return a.mint()
}

// tellTaken lets the owner of an e-mail know that somebody wanted to register with it.
func (a *Accounts) tellTaken(ctx context.Context, email string) error {
	u, known, err := a.userOf(ctx, email)
	if err != nil || !known {
		return err
	}
	day := a.Now().Time().Format(time.DateOnly)
	return a.mail(ctx, app.Email{
		Kind: app.EmailTaken, About: u.ID.String() + "/" + day, To: u.Email, Name: u.Name, Lang: u.Lang,
		Link: a.Public + "/",
	})
}

// Activate makes the account of a mailed link count, and answers its e-mail. It logs nobody in: a link may be opened by
// a mail program, or by somebody who looks over a shoulder.
func (a *Accounts) Activate(ctx context.Context, secret string) (string, error) {
	if !looksLikeSecret(secret) {
		return "", errLink()
	}
	u, err := a.Users.Activate(ctx, hashOf(secret), a.Now())
	return u.Email, linkError(err)
}

// Forgot mails a link that sets a new password, to the e-mail of an account; one that is not active yet gets the link
// that makes it so. Nobody hears which it was, or whether it was one.
func (a *Accounts) Forgot(ctx context.Context, f app.Forgotten) error {
	email, err := ParseEmail(f.Email)
	if err != nil {
		return err
	}
	if err := a.solved(ctx, f.Captcha); err != nil {
		return err
	}
	began := time.Now()
	defer answerEvenly(ctx, began)
	u, known, err := a.userOf(ctx, email)
	switch {
	case err != nil || !known:
		return err
	case u.State == app.UserPending:
		return a.writeAgain(ctx, &u, app.TokenActivate)
	}
	return a.writeAgain(ctx, &u, app.TokenReset)
}

// Reset sets the password of the account of a mailed link, and logs it out everywhere: whoever forgot it may not have
// been the last to know it.
func (a *Accounts) Reset(ctx context.Context, n app.NewPassword) error {
	if !looksLikeSecret(n.Token) {
		return errLink()
	}
	if err := CheckPassword(n.Password, ""); err != nil {
		return err
	}
	leave, err := a.Hasher.Enter()
	if err != nil {
		return err
	}
	defer leave()
	hash, err := a.Hasher.Hash(ctx, n.Password)
	if err != nil {
		return err
	}
	if _, err = a.Users.Reset(ctx, hashOf(n.Token), hash, a.Now()); err != nil {
		return linkError(err)
	}
	a.hearAtOnce(ctx)
	return nil
}

func errLink() error {
	return app.Fail(app.NotFound, "this link does not count: it was used, has ended, or was cut short; ask for a new one")
}

func linkError(err error) error {
	if errors.Is(err, app.ErrNoRow) {
		return errLink()
	}
	return app.Unreadable("accounts", err)
}
