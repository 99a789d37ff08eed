package account

import (
	"errors"
	"testing"
	"time"

	"stampede/app"
)

// Nothing but a token that this key signed is a user; whatever else comes is unauthorized, and never a panic.
func FuzzVerify(f *testing.F) {
	i, err := NewIssuer(testKey, nil)
	if err != nil {
		f.Fatal(err)
	}
	fine, err := i.Issue(42, "Ada", app.Shopper, 100*365*24*time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	for _, token := range []string{
		fine, fine[:len(fine)-1], fine + ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9.",
		"eyJhbGciOiJIUzI1NiIsImtpZCI6MX0.e30.AAAA", "eyJhbGciOlsiSFMyNTYiXX0.bnVsbA.",
	} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		who, err := i.Verify(token)
		if err != nil {
			if !errors.Is(err, &app.Error{Code: app.Unauthorized}) || who != (app.Identity{}) {
				t.Fatalf("%q: %+v, %v", token, who, err)
			}
			return
		}
		if who.User != 42 || who.Role != app.Shopper {
			t.Fatalf("%q was accepted as %+v", token, who)
		}
	})
}
