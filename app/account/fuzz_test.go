package account

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// What claimsOf reads, it reads as the library does; to what it does not know it says nothing.
func FuzzClaims(f *testing.F) {
	i, err := NewIssuer(testKey, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []claims{{Name: "Ada", Role: app.Admin, Device: "7"}, {Name: "灵儿 \"<\\", Role: "root"}} {
		token, _, err := i.sign(42, c, time.Hour)
		if err != nil {
			f.Fatal(err)
		}
		text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	const begin = `{"iss":"stampede","sub":"1","aud":["stampede"],`
	f.Add(begin + `"exp":1.5,"iat":1,"name":"","role":"admin"}`)
	f.Add(begin + `"exp":+1,"iat":99999999999999999999,"name":"\x00","role":"admin"} `)
	f.Fuzz(func(t *testing.T, text string) {
		quick := claimsOf(text)
		if quick == nil {
			return
		}
		var c claims
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%q is no JSON: %v", text, err)
		}
		if diff := cmp.Diff(&c, quick); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
