package account

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"stampede/app/journal"
	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/store"
)

// maxActivateTries is the number of passwords that can be tried with one link.
const maxActivateTries = 10

// Register adds a pending account and e-mails its activation link. The account has a new id until the guest logs in:
// another person who activates the link must not get the guest's orders and addresses. If an account exists for the
// e-mail address, its owner gets a message instead of the link; the response is the same.
func (a *Accounts) Register(ctx context.Context, r Registration) error {
	email, err := ParseEmail(r.Email)
	if err != nil {
		return err
	}
	lang, err := shop.ParseLang(cmp.Or(r.Lang, "en"))
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
	hash, err := a.hashAfterCaptcha(ctx, r.Captcha, r.Password)
	if err != nil {
		return err
	}
	began := time.Now()
	defer padResponseTime(ctx, began)
	u := shop.User{
		Email: email, Name: r.Name, Role: shop.Shopper, Password: hash, Lang: lang,
		State: shop.UserPending, CreatedAt: a.Now(),
	}
	if u.ID, err = a.mint(); err != nil {
		return err
	}
	secret, token := a.newMailToken(u.ID, shop.TokenActivate)
	tokens, guest := []shop.MailToken{token}, unboundGuest(&r.Guest)
	if guest != 0 {
		tokens = append(tokens, shop.MailToken{
			Hash: guestHash(u.ID, guest), User: u.ID, Kind: shop.TokenGuest, ExpiresAt: a.Now().Add(refreshLife),
		})
	}
	u.Name = cmp.Or(u.Name, guestName(cmp.Or(guest, u.ID)))
	err = a.Store.Accounts().Register(ctx, u, tokens...)
	if errors.Is(err, shop.ErrTaken) {
		return a.mailAlreadyRegistered(ctx, email)
	}
	if err != nil {
		return shop.Unavailable("accounts", err)
	}
	return a.mailLink(ctx, &u, shop.TokenActivate, secret)
}

// hashAfterCaptcha checks the captcha and hashes a new password. It enters the queue first, so that a rejected caller
// keeps the captcha.
func (a *Accounts) hashAfterCaptcha(ctx context.Context, answer *CaptchaSolution, password string) (string, error) {
	if answer == nil {
		return "", errCaptcha()
	}
	leave, err := a.Hasher.Enter(true, 0, netip.Addr{})
	if err != nil {
		return "", err
	}
	defer leave()
	if err := a.checkCaptcha(ctx, answer); err != nil {
		return "", err
	}
	return a.Hasher.Hash(ctx, password)
}

// unboundGuest returns the user id of a guest token that is bound to no device and no sale; otherwise 0.
func unboundGuest(who *shop.Identity) shop.ID {
	if who.Device != 0 || who.Sale != 0 || who.Role != shop.Shopper {
		return 0
	}
	return who.User
}

// guestHash returns the hash that binds an account to the guest who registered it.
func guestHash(account, guest shop.ID) string {
	return hashOf("guest:" + account.String() + ":" + guest.String())
}

// mailAlreadyRegistered e-mails the owner of an account that its address was used to register.
func (a *Accounts) mailAlreadyRegistered(ctx context.Context, email string) error {
	u, known, err := a.userOf(ctx, email)
	if err != nil || !known {
		return err
	}
	day := a.Now().Time().Format(time.DateOnly) // equal e-mails are sent once: at most one a day
	return a.mail(ctx, outbox.Email{
		Kind: outbox.EmailTaken, About: u.ID.String() + "/" + day, To: u.Email, Name: u.Name, Lang: u.Lang,
		Link: a.Public + "/",
	})
}

// Activate activates the account of an e-mailed link and returns its e-mail address. It requires the password chosen at
// registration: the owner of an e-mail address must not activate an account with the password of another person. A
// forged link costs one read, as in Reset.
func (a *Accounts) Activate(ctx context.Context, n Activation) (string, error) {
	if !looksLikeSecret(n.Token) {
		return "", errLink()
	}
	hash := hashOf(n.Token)
	u, err := a.Store.Accounts().CheckMailToken(ctx, hash, shop.TokenActivate, a.Now())
	if err != nil {
		return "", linkError(err)
	}
	leave, err := a.Hasher.Enter(false, u.ID, netip.Addr{})
	if err != nil {
		return "", err
	}
	defer leave()
	// The attempt is counted before the hash is computed, because attempts may run concurrently.
	if a.Counters.increment(ctx, activateLife, "activate:"+hash)[0] > maxActivateTries {
		return "", errLink()
	}
	match, err := a.Hasher.Matches(ctx, u.Password, n.Password)
	switch {
	case err != nil:
		return "", err
	case !match:
		return "", shop.Fail(shop.Forbidden, "the password is wrong")
	}
	u, err = a.Store.Accounts().Activate(ctx, hash, u.Password, a.Now())
	return u.Email, linkError(err)
}

// Unregister deletes the pending account of an e-mailed link, for owners of the e-mail who did not register.
func (a *Accounts) Unregister(ctx context.Context, secret string) error {
	if !looksLikeSecret(secret) {
		return errLink()
	}
	return linkError(a.Store.Accounts().Unregister(ctx, hashOf(secret), a.Now()))
}

// RequestReset e-mails a link that sets a new password, or the activation link if the account is pending. The response
// is the same if no account exists for the e-mail address.
func (a *Accounts) RequestReset(ctx context.Context, f ResetRequest) error {
	email, err := ParseEmail(f.Email)
	if err != nil {
		return err
	}
	if err := a.checkCaptcha(ctx, f.Captcha); err != nil {
		return err
	}
	began := time.Now()
	defer padResponseTime(ctx, began)
	u, known, err := a.userOf(ctx, email)
	switch {
	case err != nil || !known:
		return err
	case u.State == shop.UserPending:
		return a.mailNewLink(ctx, &u, shop.TokenActivate)
	}
	return a.mailNewLink(ctx, &u, shop.TokenReset)
}

// Reset sets the password of the account of an e-mailed link and ends all its logins. It reads the link before it
// computes the hash, so a forged link costs one read. The transaction that sets the password also invalidates the link.
func (a *Accounts) Reset(ctx context.Context, n NewPassword) error {
	if !looksLikeSecret(n.Token) {
		return errLink()
	}
	if err := CheckPassword(n.Password, ""); err != nil {
		return err
	}
	u, err := a.Store.Accounts().CheckMailToken(ctx, hashOf(n.Token), shop.TokenReset, a.Now())
	if err != nil {
		return linkError(err)
	}
	leave, err := a.Hasher.Enter(false, u.ID, netip.Addr{})
	if err != nil {
		return err
	}
	defer leave()
	hash, err := a.Hasher.Hash(ctx, n.Password)
	if err != nil {
		return err
	}
	if _, err = a.Store.Accounts().Reset(ctx, hashOf(n.Token), hash, a.Now()); err != nil {
		return linkError(err)
	}
	a.readRevocationsNow(ctx)
	return nil
}

func errLink() error {
	return shop.Fail(shop.NotFound, "the link is not valid: it was used, has expired or is incomplete; request a new one")
}

// linkError converts an error of the use of a link. A nil err stays nil.
func linkError(err error) error {
	if errors.Is(err, shop.ErrNoRow) {
		return errLink()
	}
	return shop.Unavailable("accounts", err)
}

// NewUser is an account that an operator adds.
type NewUser struct {
	Email    string
	Name     string // "": a name is generated
	Lang     string // "" means en
	Role     shop.Role
	Password string // "": a link is sent by e-mail
}

// Add adds an active account: the operator has verified its e-mail. If the password is empty, the owner gets a link by
// e-mail that sets the password. The e-mail is sent after the COMMIT. Conflict: the e-mail address has an account, or
// the idempotency key of the actor was used before.
func (a *Accounts) Add(ctx context.Context, actor journal.Actor, n NewUser) (shop.User, error) {
	u, err := n.user()
	if err != nil {
		return shop.User{}, err
	}
	if n.Password != "" {
		if err := CheckPassword(n.Password, u.Email); err != nil {
			return shop.User{}, err
		}
		u.Password = hashPassword(n.Password)
	}
	if u.ID, err = a.mint(); err != nil {
		return shop.User{}, err
	}
	if u.Role != shop.Shopper { // the journal shows the name
		before, _, _ := strings.Cut(u.Email, "@")
		u.Name = cmp.Or(u.Name, before[:min(len(before), maxName)])
	}
	u.Name = cmp.Or(u.Name, guestName(u.ID))
	u.CreatedAt, u.ActivatedAt = a.Now(), a.Now()
	secret, token := a.newMailToken(u.ID, shop.TokenReset)
	done, err := a.Store.RunOperation(ctx, actor, func(tx *store.Store) (journal.Operation, error) {
		err := tx.Accounts().AddUser(ctx, u)
		if err == nil && n.Password == "" {
			err = tx.Accounts().AddMailToken(ctx, token, &u)
		}
		after := map[string]any{"role": u.Role, "state": u.State}
		return journal.Operation{Kind: "user.add", Object: "user:" + u.ID.String(), After: after, Result: u.ID}, err
	})
	if err == nil && done.Repeated {
		err = shop.Fail(shop.Conflict, "a request with the same key was already done")
	}
	if errors.Is(err, shop.ErrTaken) {
		return shop.User{}, shop.Fail(shop.Conflict, "the e-mail already has an account")
	}
	if err == nil && n.Password == "" {
		err = a.mailLink(ctx, &u, shop.TokenReset, secret)
	}
	return u, err
}

// user validates the input and returns the account.
func (n *NewUser) user() (u shop.User, err error) {
	u = shop.User{Role: n.Role, State: shop.UserActive}
	if u.Email, err = ParseEmail(n.Email); err != nil {
		return u, err
	}
	if u.Lang, err = shop.ParseLang(cmp.Or(n.Lang, "en")); err != nil {
		return u, err
	}
	if n.Name != "" {
		u.Name, err = ParseName(n.Name)
	}
	return u, err
}
