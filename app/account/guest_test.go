package account

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

func newGuests(t *testing.T) *Guests {
	t.Helper()
	next := shop.ID(7_000_000_000_000_000_000)
	return &Guests{Issuer: newIssuer(t, testKey, nil), Mint: func() (shop.ID, error) { next++; return next, nil }}
}

// TestRenewedGuestTokenKeepsID: two guests have different ids. A renewed token keeps the id.
func TestRenewedGuestTokenKeepsID(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	a, errA := g.LogIn("")
	b, errB := g.LogIn("")
	renewed, err := g.LogIn(a.Access)
	if errA != nil || errB != nil || err != nil {
		t.Fatal(errA, errB, err)
	}
	if a.User.ID == b.User.ID || renewed.User != a.User || !regexp.MustCompile(`^Guest [1-9]\d{3}$`).MatchString(a.User.Name) {
		t.Errorf("got guests %+v and %+v, renewed %+v; want two ids, and the first guest renewed", a.User, b.User, renewed.User)
	}
	if who, err := g.Issuer.Verify(a.Access); err != nil || who.User != a.User.ID || who.Role != shop.Shopper {
		t.Errorf("got %+v, %v, want the guest as a shopper", who, err)
	}
}

// TestInvalidGuestTokenCreatesNoGuest: a token that cannot be renewed is unauthorized. It does not create another
// guest.
func TestInvalidGuestTokenCreatesNoGuest(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	minted := 0
	mint := g.Mint
	g.Mint = func() (shop.ID, error) { minted++; return mint() }
	expiredToken, err := g.Issuer.Issue(42, "Guest 4242", shop.Shopper, -time.Minute)
	kit.Must(t, err)
	otherKeyToken, err := newIssuer(t, otherKey, nil).Issue(42, "Guest 4242", shop.Shopper, time.Hour)
	kit.Must(t, err)
	for name, token := range map[string]string{"an expired token": expiredToken, "a token of another key": otherKeyToken, "a text that is no token": "hello"} {
		s, err := g.LogIn(token)
		if !errors.Is(err, &shop.Error{Code: shop.Unauthorized}) || s != (GuestSession{}) {
			t.Errorf("%s: got %+v, %v, want unauthorized", name, s, err)
		}
	}
	if minted != 0 {
		t.Errorf("got %d new guests, want 0", minted)
	}
}

func TestRenewedGuestTokenIsForShopper(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	token, err := g.Issuer.Issue(42, "boss", shop.Admin, time.Hour)
	kit.Must(t, err)
	s, err := g.LogIn(token)
	kit.Must(t, err)
	if who, err := g.Issuer.Verify(s.Access); err != nil || who.User != 42 || who.Role != shop.Shopper {
		t.Errorf("got %+v, %v, want the guest as a shopper", who, err)
	}
}

func TestGuestLoginWithoutIDReturnsBusy(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	g.Mint = func() (shop.ID, error) { return 0, errors.New("lease ended") }
	if _, err := g.LogIn(""); !errors.Is(err, &shop.Error{Code: shop.Busy}) {
		t.Errorf("got %v, want busy", err)
	}
}
