package account

import (
	"errors"
	"fmt"
	"time"

	"stampede/app/shop"
)

// GuestLife is the lifetime of a guest's token. The page renews the token after half of it.
const GuestLife = 12 * time.Hour

// Guests issues tokens to clients without an account. A guest who loses the token loses access to the orders.
type Guests struct {
	Issuer *Issuer
	Mint   func() (shop.ID, error) // returns the next user id
}

// GuestSession is the reply to a guest's login.
type GuestSession struct {
	Access string `json:"access"`
	User   Guest  `json:"user"`
}

// Guest is the user of a guest session.
type Guest struct {
	ID   shop.ID `json:"id"`
	Name string  `json:"name"`
}

// LogIn creates a guest if bearer is empty, otherwise it renews the guest's token. The role is always Shopper.
// Forbidden: the token belongs to an account or is bound to a sale. Unauthorized: the token is invalid. LogIn does not
// create a new guest then, because the client would lose access to the orders of the former guest.
func (g *Guests) LogIn(bearer string) (GuestSession, error) {
	user, err := g.identify(bearer)
	if err != nil {
		return GuestSession{}, err
	}
	access, err := g.Issuer.Issue(user.ID, user.Name, shop.Shopper, GuestLife)
	if err != nil {
		return GuestSession{}, err
	}
	return GuestSession{Access: access, User: user}, nil
}

func (g *Guests) identify(bearer string) (Guest, error) {
	if bearer != "" {
		verified, err := g.Issuer.Verify(bearer)
		if err == nil && verified.Device != 0 {
			err = shop.Fail(shop.Forbidden, "this token belongs to an account: refresh it, or log out")
		}
		if err == nil && verified.Sale != 0 {
			err = shop.Fail(shop.Forbidden, "a token that is bound to a sale cannot be renewed")
		}
		return Guest{ID: verified.User, Name: verified.Name}, err
	}
	id, err := g.Mint()
	if err != nil {
		return Guest{}, fmt.Errorf("mint user id: %w",
			errors.Join(err, shop.FailBusy("no guest can be created right now; try again", time.Second)))
	}
	return Guest{ID: id, Name: guestName(id)}, nil
}

// BoundToken returns the token of a new guest that is bound to the sale.
func (g *Guests) BoundToken(sale shop.ID) (string, error) {
	user, err := g.identify("")
	if err != nil {
		return "", err
	}
	return g.Issuer.IssueBound(user.ID, user.Name, sale, GuestLife)
}

// guestName returns a name with four digits derived from the id. Names may repeat.
func guestName(id shop.ID) string {
	return fmt.Sprintf("Guest %d", 1000+uint64(id)*0x9E3779B97F4A7C15>>32%9000)
}
