package account

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// FuzzVerify: only tokens signed with this key identify a user. Any other input is unauthorized and never panics.
func FuzzVerify(f *testing.F) {
	i, err := NewIssuer(testKey, nil)
	kit.Must(f, err)
	valid, err := i.Issue(42, "Ada", shop.Shopper, 100*365*24*time.Hour)
	kit.Must(f, err)
	for _, token := range []string{
		valid, valid[:len(valid)-1], valid + ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9.",
		"eyJhbGciOiJIUzI1NiIsImtpZCI6MX0.e30.AAAA", "eyJhbGciOlsiSFMyNTYiXX0.bnVsbA.",
	} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		who, err := i.Verify(token)
		if err != nil {
			if !errors.Is(err, &shop.Error{Code: shop.Unauthorized}) || who != (shop.Identity{}) {
				t.Fatalf("%q: got %+v, %v, want Unauthorized", token, who, err)
			}
			return
		}
		if who.User != 42 || who.Role != shop.Shopper {
			t.Fatalf("%q: got %+v, want user 42", token, who)
		}
	})
}

// FuzzClaims: claimsOf agrees with the JWT library on every input it accepts.
func FuzzClaims(f *testing.F) {
	i, err := NewIssuer(testKey, nil)
	kit.Must(f, err)
	for _, c := range []claims{{Name: "Ada", Role: shop.Admin, Device: "7"}, {Name: "灵儿 \"<\\", Role: "root"}} {
		token, _, err := i.sign(42, c, time.Hour)
		kit.Must(f, err)
		text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		kit.Must(f, err)
		f.Add(string(text))
	}
	const begin = `{"iss":"stampede","sub":"1","aud":["stampede"],`
	f.Add(begin + `"exp":1.5,"iat":1,"name":"","role":"admin"}`)
	f.Add(begin + `"exp":+1,"iat":99999999999999999999,"name":"\x00","role":"admin"} `)
	f.Fuzz(func(t *testing.T, text string) {
		fast := claimsOf(text)
		if fast == nil {
			return
		}
		var c claims
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%q is not JSON: %v", text, err)
		}
		if diff := cmp.Diff(&c, fast); diff != "" {
			t.Fatalf("%q: claims (-json +claimsOf):\n%s", text, diff)
		}
	})
}

// FuzzRefresh: parse accepts only refresh tokens that this server has issued for the device in the token.
func FuzzRefresh(f *testing.F) {
	r := refresher{[]byte("a key for tests")}
	first := r.first(42)
	for _, secret := range []string{first, r.next(42, first), r.first(43), first + "\n", first[:43], ""} {
		f.Add(refreshToken(42, secret))
	}
	f.Add("eyJhbGciOiJIUzI1NiJ9.e30.AAAA")
	f.Add("-1." + first)
	f.Fuzz(func(t *testing.T, token string) {
		device, secret, ok := r.parse(token)
		if !ok {
			if device != 0 || secret != "" {
				t.Fatalf("%q: got device %s, secret %q, want none", token, device, secret)
			}
			return
		}
		if token != refreshToken(device, secret) || device < 1 || !r.isGenuine(device, secret) {
			t.Fatalf("%q was parsed as device %s and secret %q, want the values in the token", token, device, secret)
		}
		if next := r.next(device, secret); !r.isGenuine(device, next) || r.isGenuine(device+1, secret) {
			t.Fatalf("%q: the next token is invalid or belongs to another device", token)
		}
	})
}

// FuzzHash: a stored text that is not a hash of this package, or that is too expensive, returns errHash.
func FuzzHash(f *testing.F) {
	for _, s := range []string{
		dummyHash, "$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=19$m=4294967295,t=4294967295,p=255$a$b", "$",
		"$argon2id$v=18$m=19456,t=2,p=1$", "$2a$10$abcdefghijklmnopqrstuv",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, hash string) {
		if salt, sum, err := saltAndSum(hash); err == nil && (len(salt) < saltBytes || len(sum) != hashBytes) {
			t.Fatalf("%q: got a salt of %d bytes and a sum of %d, want at least %d and %d", hash, len(salt), len(sum), saltBytes, hashBytes)
		}
		if ok, err := matches(hash, "a password"); ok || err != nil && err != errHash {
			t.Fatalf("hash %q: got %v, %v, want no match", hash, ok, err)
		}
	})
}
