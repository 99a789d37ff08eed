package account

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

var (
	testKey  = []byte("0123456789abcdef0123456789abcdef")
	otherKey = []byte("fedcba9876543210fedcba9876543210")
)

func newIssuer(t *testing.T, key []byte, now func() time.Time) *Issuer {
	t.Helper()
	i, err := NewIssuer(key, now)
	kit.Must(t, err)
	return i
}

func TestShortKeyIsRejected(t *testing.T) {
	t.Parallel()
	if _, err := NewIssuer(testKey[:31], nil); err == nil {
		t.Error("a key of 31 bytes was accepted, want an error")
	}
}

// TestVerifyRejectsInvalidTokens: every kind of invalid token returns unauthorized.
func TestVerifyRejectsInvalidTokens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, testKey, nil)
	validClaims := func() claims {
		return claims{
			RegisteredClaims: jwt.RegisteredClaims{
				Issuer: issuerName, Audience: jwt.ClaimStrings{audience}, Subject: "42",
				IssuedAt: jwt.NewNumericDate(time.Now()), ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour)),
			},
			Name: "x", Role: shop.Shopper,
		}
	}
	sign := func(method jwt.SigningMethod, key any, change func(*claims)) string {
		c := validClaims()
		change(&c)
		token := jwt.NewWithClaims(method, c)
		token.Header["kid"] = i.keys.Load().keys[0].kid
		s, err := token.SignedString(key)
		kit.Must(t, err)
		return s
	}
	signHS256 := func(change func(*claims)) string { return sign(jwt.SigningMethodHS256, testKey, change) }
	valid := signHS256(func(*claims) {})
	who, err := i.Verify(valid)
	if left := who.Expires.Sub(shop.MillisOf(time.Now())); err != nil || who.User != 42 || who.Name != "x" ||
		who.Role != shop.Shopper || left < 59*time.Minute || left > 61*time.Minute {
		t.Fatalf("the unchanged token: got %+v, %v, want user 42 and a lifetime of one hour", who, err)
	}
	parts := strings.Split(valid, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"` + i.keys.Load().keys[0].kid + `"}`))
	otherKeyToken, err := newIssuer(t, otherKey, nil).Issue(42, "x", shop.Shopper, time.Hour)
	kit.Must(t, err)

	for name, token := range map[string]string{
		"empty":               "",
		"not a token":         "hello",
		"too long":            strings.Repeat("a", maxToken+1),
		"expired":             signHS256(func(c *claims) { c.ExpiresAt = jwt.NewNumericDate(time.Now().Add(-time.Minute)) }),
		"without exp":         signHS256(func(c *claims) { c.ExpiresAt = nil }),
		"from the future":     signHS256(func(c *claims) { c.IssuedAt = jwt.NewNumericDate(time.Now().Add(time.Hour)) }),
		"other issuer":        signHS256(func(c *claims) { c.Issuer = "someone" }),
		"other audience":      signHS256(func(c *claims) { c.Audience = jwt.ClaimStrings{"someone"} }),
		"without audience":    signHS256(func(c *claims) { c.Audience = nil }),
		"without user":        signHS256(func(c *claims) { c.Subject = "" }),
		"user is not an id":   signHS256(func(c *claims) { c.Subject = "-1" }),
		"unknown role":        signHS256(func(c *claims) { c.Role = "root" }),
		"alg none":            sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(*claims) {}),
		"alg none, forged":    forged + "." + parts[1] + ".",
		"alg HS512":           sign(jwt.SigningMethodHS512, testKey, func(*claims) {}),
		"other key, same kid": sign(jwt.SigningMethodHS256, otherKey, func(*claims) {}),
		"other server's key":  otherKeyToken,
		"changed payload":     parts[0] + "." + parts[1] + "A." + parts[2],
	} {
		_, err := i.Verify(token)
		if !errors.Is(err, &shop.Error{Code: shop.Unauthorized}) {
			t.Errorf("%s: got %v, want unauthorized", name, err)
		}
	}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"shopper", "operator", "admin"} {
		if r, err := ParseRole(s); err != nil || string(r) != s {
			t.Errorf("role %s: got %v, %v, want no error", s, r, err)
		}
	}
	if _, err := ParseRole("Admin"); err == nil {
		t.Error("the role Admin was accepted, want an error")
	}
}

// TestFastTokenParserAgreesWithLibrary: parseFast parses the tokens of this server and returns the same result as the
// library.
func TestFastTokenParserAgreesWithLibrary(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, testKey, nil)
	i.UseKeys(shop.KeyGeneration{Number: 3})
	for what, c := range map[string]claims{
		"a token of a guest":           {Name: "Guest 4821", Role: shop.Shopper},
		"a token of an account":        {Name: "灵儿", Role: shop.Operator, Device: "1234567890123456789"},
		"a token without a name":       {Role: shop.Admin, Device: "7"},
		"an expired token":             {Name: "Ada", Role: shop.Shopper, Device: "8"},
		"a token with an unknown role": {Name: "Ada", Role: "root"},
	} {
		life := time.Hour
		if what == "an expired token" {
			life = -time.Hour
		}
		token, _, err := i.sign(42, c, life)
		kit.Must(t, err)
		fast, key, fastErr := i.parseFast(token)
		library, libraryKey, libraryErr := i.parseWithLibrary(token)
		if fast == nil {
			t.Errorf("%s: the fast parser returned no claims", what)
			continue
		}
		if diff := cmp.Diff(library, fast); diff != "" || key != libraryKey ||
			errors.Is(fastErr, jwt.ErrTokenExpired) !=
				errors.Is(libraryErr, jwt.ErrTokenExpired) || (fastErr == nil) != (libraryErr == nil) {
			t.Errorf("%s: got the error %v, want %v; claims (-want +got):\n%s", what, fastErr, libraryErr, diff)
		}
	}
	token, _, err := i.sign(42, claims{Name: `Ada "the first" <b>`, Role: shop.Shopper}, time.Hour)
	kit.Must(t, err)
	if fast, _, err := i.parseFast(token); fast != nil || err != nil {
		t.Errorf("a name with escapes: got %+v, %v, want no claims and no error", fast, err)
	}
	if who, err := i.Verify(token); err != nil || who.Name != `Ada "the first" <b>` {
		t.Errorf("got %+v, %v, want the name with escapes", who, err)
	}
}
