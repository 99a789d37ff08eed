package account

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app"
)

const (
	// MinKeyBytes is the shortest signing key that is accepted: as long as the output of its hash.
	MinKeyBytes = 32
	issuerName  = "stampede"
	audience    = "stampede"
	// leeway forgives nodes whose clocks differ a little.
	leeway = 5 * time.Second
	// maxToken bounds what is even looked at, in bytes; our own tokens are about 300.
	maxToken = 2048
)

// ParseRole accepts exactly the three roles.
func ParseRole(s string) (app.Role, error) {
	switch r := app.Role(s); r {
	case app.Shopper, app.Operator, app.Admin:
		return r, nil
	}
	return "", fmt.Errorf("role %q: want shopper, operator or admin", s)
}

// Issuer signs and verifies access tokens (HS256) with one key. The key's fingerprint is the token's kid, so that
// a token of another key is recognised before any signature is computed.
type Issuer struct {
	key    []byte
	kid    string
	now    func() time.Time
	parser *jwt.Parser
}

// NewIssuer refuses keys shorter than MinKeyBytes. now is the clock that all nodes share; nil means the wall clock of
// this machine.
func NewIssuer(key []byte, now func() time.Time) (*Issuer, error) {
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("the signing key has %d bytes, at least %d are needed", len(key), MinKeyBytes)
	}
	if now == nil {
		now = time.Now
	}
	return &Issuer{
		key: append([]byte(nil), key...), kid: fingerprint(key), now: now,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
			jwt.WithIssuer(issuerName), jwt.WithAudience(audience),
			jwt.WithLeeway(leeway), jwt.WithTimeFunc(now),
		),
	}, nil
}

// fingerprint names a key without telling anything of it.
func fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("stampede kid:"), key...))
	return hex.EncodeToString(sum[:4])
}

type claims struct {
	jwt.RegisteredClaims
	Name string   `json:"name"`
	Role app.Role `json:"role"`
}

// Issue signs a token that lives for ttl.
func (i *Issuer) Issue(user app.ID, name string, role app.Role, ttl time.Duration) (string, error) {
	now := i.now()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuerName, Audience: jwt.ClaimStrings{audience}, Subject: user.String(),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
		},
		Name: name, Role: role,
	})
	token.Header["kid"] = i.kid
	signed, err := token.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign token of user %s: %w", user, err)
	}
	return signed, nil
}

// Verify reads a token. Every failure is Unauthorized; the sentence tells an expired token, which is worth
// renewing, from one that is no good at all.
func (i *Issuer) Verify(token string) (app.Identity, error) {
	if token == "" {
		return app.Identity{}, app.Fail(app.Unauthorized, "a token is needed")
	}
	if len(token) > maxToken {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token is too long")
	}
	var c claims
	_, err := i.parser.ParseWithClaims(token, &c, i.keyOf)
	if errors.Is(err, jwt.ErrTokenExpired) {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token has expired")
	}
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token is not valid")
	}
	user, err := app.ParseID(c.Subject)
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token names no user")
	}
	role, err := ParseRole(string(c.Role))
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token has an unknown role")
	}
	return app.Identity{User: user, Name: c.Name, Role: role, Expires: app.MillisOf(c.ExpiresAt.Time)}, nil
}

func (i *Issuer) keyOf(token *jwt.Token) (any, error) {
	if kid, _ := token.Header["kid"].(string); kid != i.kid {
		return nil, errors.New("signed with another key")
	}
	return i.key, nil
}
