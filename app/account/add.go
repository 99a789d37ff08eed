package account

import (
	"cmp"
	"context"
	"errors"

	"stampede/app"
)

// NewUser is an account that an operator makes.
type NewUser struct {
	Email    string
	Name     string // "": one is made up
	Lang     string // "": en
	Role     app.Role
	Password string // "": a link by mail sets it
}

// Add makes an account that is active at once: an operator answers for its e-mail. Without a password its bearer is
// mailed a link that sets one, after the account was committed: write does that, in a transaction that holds more.
func (a *Accounts) Add(
	ctx context.Context, n NewUser, write func(u *app.User, all func(ctx context.Context) error) error,
) (app.User, error) {
	u, err := n.user()
	if err != nil {
		return app.User{}, err
	}
	if n.Password != "" {
		if err := CheckPassword(n.Password, u.Email); err != nil {
			return app.User{}, err
		}
		u.Password = hashPassword(n.Password)
	}
	if u.ID, err = a.mint(); err != nil {
		return app.User{}, err
	}
	u.Name = cmp.Or(u.Name, guestName(u.ID))
	u.CreatedAt, u.ActivatedAt = a.Now(), a.Now()
	secret, token := a.token(u.ID, app.TokenReset)
	err = write(&u, func(ctx context.Context) error {
		err := a.Users.AddUser(ctx, u)
		if err == nil && n.Password == "" {
			err = a.Users.AddMailToken(ctx, token)
		}
		return err
	})
	if errors.Is(err, app.ErrTaken) {
		return app.User{}, app.Fail(app.Conflict, "that e-mail has an account already")
	}
	if err == nil && n.Password == "" {
		err = a.mailLink(ctx, &u, app.TokenReset, secret)
	}
	return u, err
}

// user checks what an operator typed.
func (n *NewUser) user() (u app.User, err error) {
	u = app.User{Role: n.Role, State: app.UserActive}
	if u.Email, err = ParseEmail(n.Email); err != nil {
		return u, err
	}
	if u.Lang, err = ParseLang(cmp.Or(n.Lang, "en")); err != nil {
		return u, err
	}
	if n.Name != "" {
		u.Name, err = ParseName(n.Name)
	}
	return u, err
}
