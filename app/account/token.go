package account

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app/shop"
)

const (
	// MinKeyBytes is the minimum length of the signing key: the output length of its hash.
	MinKeyBytes    = 32
	issuerName     = "stampede"
	audience       = "stampede"
	leeway         = 5 * time.Second // tolerance for different clocks
	maxToken       = 2048            // bytes; tokens of this server have about 300
	expiredMessage = "the token has expired"
)

// ParseRole accepts exactly the three roles.
func ParseRole(s string) (shop.Role, error) {
	for _, r := range [...]shop.Role{shop.Shopper, shop.Operator, shop.Admin} {
		if s == string(r) {
			return r, nil
		}
	}
	return "", fmt.Errorf("role %q: want shopper, operator or admin", s)
}

// Issuer signs and verifies access tokens (HS256). Watch updates keys and revocations. Verify takes no lock.
type Issuer struct {
	secret    []byte
	now       func() time.Time
	parser    *jwt.Parser
	validator *jwt.Validator // checks the claims, as parser does
	keys      atomic.Pointer[keyring]
	revoked   atomic.Pointer[map[shop.ID]shop.Millis] // until when subjects are revoked; never modified

	refresher refresher // its key is never rotated, because refresh tokens are also checked in the database
}

// NewIssuer returns an issuer with the signing key. It rejects keys shorter than MinKeyBytes. now is the clock shared
// by all nodes; nil: the wall clock.
func NewIssuer(key []byte, now func() time.Time) (*Issuer, error) {
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("the signing key has %d bytes, at least %d are needed", len(key), MinKeyBytes)
	}
	if now == nil {
		now = time.Now
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithIssuer(issuerName), jwt.WithAudience(audience),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(now),
	}
	i := &Issuer{
		secret: append([]byte(nil), key...), now: now,
		refresher: refresher{deriveKey(key, "stampede refresh tokens")},
		parser:    jwt.NewParser(options...), validator: jwt.NewValidator(options...),
	}
	i.UseKeys(shop.KeyGeneration{})
	i.revoked.Store(&map[shop.ID]shop.Millis{})
	return i, nil
}

// UseKeys sets the key generation for signing and the accepted generations.
func (i *Issuer) UseKeys(g shop.KeyGeneration) {
	if current := i.keys.Load(); current == nil || current.KeyGeneration != g {
		i.keys.Store(newKeyring(i.secret, g))
	}
}

type claims struct {
	jwt.RegisteredClaims
	Name   string    `json:"name"`
	Role   shop.Role `json:"role"`
	Device string    `json:"did,omitempty"`
	Sale   string    `json:"sale,omitempty"`
}

// Issue signs a guest's token with lifetime ttl and without a device.
func (i *Issuer) Issue(user shop.ID, name string, role shop.Role, ttl time.Duration) (string, error) {
	token, _, err := i.sign(user, claims{Name: name, Role: role}, ttl)
	return token, err
}

// IssueTo signs an access token for a device of an account. It also returns the expiry of the token.
func (i *Issuer) IssueTo(u *shop.User, device shop.ID) (token string, expires shop.Millis, err error) {
	return i.sign(u.ID, claims{Name: u.Name, Role: u.Role, Device: device.String()}, shop.AccessLife)
}

// IssueBound signs a guest's token for one sale; see shop.BoundTo.
func (i *Issuer) IssueBound(user shop.ID, name string, sale shop.ID, ttl time.Duration) (string, error) {
	token, _, err := i.sign(user, claims{Name: name, Role: shop.Shopper, Sale: sale.String()}, ttl)
	return token, err
}

func (i *Issuer) sign(user shop.ID, c claims, ttl time.Duration) (string, shop.Millis, error) {
	now, key := i.now(), &i.keys.Load().keys[0]
	expires := jwt.NewNumericDate(now.Add(ttl))
	c.Issuer, c.Audience, c.Subject = issuerName, jwt.ClaimStrings{audience}, user.String()
	c.IssuedAt, c.ExpiresAt = jwt.NewNumericDate(now), expires
	signed, err := key.token(c).SignedString(key.key)
	if err != nil {
		return "", 0, fmt.Errorf("sign token of user %s: %w", user, err)
	}
	return signed, shop.MillisOf(expires.Time), nil
}

// Verify reads a token. Every failure returns Unauthorized; the message distinguishes expired tokens, which can be
// renewed.
func (i *Issuer) Verify(token string) (shop.Identity, error) {
	if len(token) > maxToken {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token is too long")
	}
	who, err := i.parse(token)
	if err != nil {
		return shop.Identity{}, err
	}
	if i.Revoked(who) {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token was revoked: log in again")
	}
	return who, nil
}

// Revoked reports whether a valid token was revoked before its expiry.
func (i *Issuer) Revoked(who shop.Identity) bool {
	if _, revoked := (*i.revoked.Load())[who.Subject()]; revoked {
		return true
	}
	return !i.keys.Load().accepts(who.KeyNumber, shop.MillisOf(i.now()))
}
