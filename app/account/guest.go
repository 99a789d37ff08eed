package account

import (
	"errors"
	"fmt"
	"time"

	"stampede/app"
)

// GuestLife is how long a guest's token lives. A page renews it when half of that is over and stays the same guest.
const GuestLife = 12 * time.Hour

// Guests lets people in without an account. Whoever loses the token loses what belongs to it.
type Guests struct {
	Issuer *Issuer
	Mint   func() (app.ID, error) // the next user id
}

// Session is what a client gets when it logs in.
type Session struct {
	Access string `json:"access"`
	User   User   `json:"user"`
}

// User is how a client knows itself.
type User struct {
	ID   app.ID `json:"id"`
	Name string `json:"name"`
}

// Enter creates a guest if no token is shown, and renews a valid guest's token. It never grants more than the role of a
// shopper; an account's token must not outlive its log in. An ended or invalid token is Unauthorized: a new identity
// would silently lose the orders.
func (g *Guests) Enter(bearer string) (Session, error) {
	user, err := g.who(bearer)
	if err != nil {
		return Session{}, err
	}
	access, err := g.Issuer.Issue(user.ID, user.Name, app.Shopper, GuestLife)
	if err != nil {
		return Session{}, err
	}
	return Session{Access: access, User: user}, nil
}

func (g *Guests) who(bearer string) (User, error) {
	if bearer != "" {
		known, err := g.Issuer.Verify(bearer)
		if err == nil && known.Device != 0 {
			err = app.Fail(app.Forbidden, "this token is of an account: refresh it, or log out")
		}
		if err == nil && known.Sale != 0 {
			err = app.Fail(app.Forbidden, "a token that is bound to a sale is not renewed")
		}
		return User{ID: known.User, Name: known.Name}, err
	}
	id, err := g.Mint()
	if err != nil {
		return User{}, fmt.Errorf("mint user id: %w",
			errors.Join(err, app.FailBusy("no one can be let in right now; please try again", time.Second)))
	}
	return User{ID: id, Name: guestName(id)}, nil
}

// Bound returns the token of a new guest that is bound to the sale.
func (g *Guests) Bound(sale app.ID) (string, error) {
	user, err := g.who("")
	if err != nil {
		return "", err
	}
	return g.Issuer.IssueBound(user.ID, user.Name, sale, GuestLife)
}

// guestName is friendly and tells nothing: four digits mixed from the id. Names may repeat, ids do not.
func guestName(id app.ID) string {
	return fmt.Sprintf("Guest %d", 1000+uint64(id)*0x9E3779B97F4A7C15>>32%9000)
}
