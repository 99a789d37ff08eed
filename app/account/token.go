package account

import (
	"errors"
	"fmt"
	"sync/atomic"
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
	expired  = "the token has expired"
)

// ParseRole accepts exactly the three roles.
func ParseRole(s string) (app.Role, error) {
	switch r := app.Role(s); r {
	case app.Shopper, app.Operator, app.Admin:
		return r, nil
	}
	return "", fmt.Errorf("role %q: want shopper, operator or admin", s)
}

// Issuer signs and verifies access tokens (HS256). Which keys count, and which subjects do not, is told to it from time
// to time (see Watch); to look at that takes no lock.
type Issuer struct {
	secret  []byte
	now     func() time.Time
	parser  *jwt.Parser
	keys    atomic.Pointer[keyring]
	revoked atomic.Pointer[map[app.ID]app.Millis] // until when; never changed in place
	known   *verified

	refresher refresher // by a key that is never rotated: what is signed here is looked up in the database, too
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
	i := &Issuer{
		secret: append([]byte(nil), key...), now: now, known: newVerified(),
		refresher: refresher{derive(key, "stampede refresh tokens")},
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
			jwt.WithIssuer(issuerName), jwt.WithAudience(audience),
			jwt.WithLeeway(leeway), jwt.WithTimeFunc(now),
		),
	}
	i.UseKeys(app.KeyGeneration{})
	i.revoked.Store(&map[app.ID]app.Millis{})
	return i, nil
}

// UseKeys says which generations of the key sign and count from now on.
func (i *Issuer) UseKeys(g app.KeyGeneration) {
	if present := i.keys.Load(); present == nil || present.KeyGeneration != g {
		i.keys.Store(newKeyring(i.secret, g))
	}
}

type claims struct {
	jwt.RegisteredClaims
	Name   string   `json:"name"`
	Role   app.Role `json:"role"`
	Device string   `json:"did,omitempty"`
}

// Issue signs a token without a device, as guests have it, that lives for ttl.
func (i *Issuer) Issue(user app.ID, name string, role app.Role, ttl time.Duration) (string, error) {
	token, _, err := i.sign(user, claims{Name: name, Role: role}, ttl)
	return token, err
}

// IssueTo signs an access token of an account for one of its devices, and answers when it ends.
func (i *Issuer) IssueTo(u *app.User, device app.ID) (token string, expires app.Millis, err error) {
	return i.sign(u.ID, claims{Name: u.Name, Role: u.Role, Device: device.String()}, app.AccessLife)
}

func (i *Issuer) sign(user app.ID, c claims, ttl time.Duration) (string, app.Millis, error) {
	now, key := i.now(), &i.keys.Load().keys[0]
	ends := jwt.NewNumericDate(now.Add(ttl))
	c.Issuer, c.Audience, c.Subject = issuerName, jwt.ClaimStrings{audience}, user.String()
	c.IssuedAt, c.ExpiresAt = jwt.NewNumericDate(now), ends
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	token.Header["kid"] = key.kid
	signed, err := token.SignedString(key.key)
	if err != nil {
		return "", 0, fmt.Errorf("sign token of user %s: %w", user, err)
	}
	return signed, app.MillisOf(ends.Time), nil
}

// Verify reads a token. Every failure is Unauthorized; the sentence tells an expired token, which is worth
// renewing, from one that is no good at all. A token that was read before is only looked at again for what may have
// changed since: its end, the keys that count, and what was revoked.
func (i *Issuer) Verify(token string) (app.Identity, error) {
	if len(token) > maxToken {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token is too long")
	}
	who, known := i.known.look(token)
	if !known {
		var err error
		if who, err = i.read(token); err != nil {
			return app.Identity{}, err
		}
		i.known.keep(token, who)
	}
	if app.MillisOf(i.now()) >= who.Expires.Add(leeway) {
		return app.Identity{}, app.Fail(app.Unauthorized, expired)
	}
	if i.Revoked(who) {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token was revoked: log in again")
	}
	return who, nil
}

// Revoked reports whether a token that was good does not count any more, before its end.
func (i *Issuer) Revoked(who app.Identity) bool {
	if _, revoked := (*i.revoked.Load())[who.Subject()]; revoked {
		return true
	}
	return !i.keys.Load().counts(who.KeyNumber, app.MillisOf(i.now()))
}

// read checks a token that is seen for the first time.
func (i *Issuer) read(token string) (app.Identity, error) {
	if token == "" {
		return app.Identity{}, app.Fail(app.Unauthorized, "a token is needed")
	}
	var c claims
	var key *signingKey
	_, err := i.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if key = i.keys.Load().byKid(kid, app.MillisOf(i.now())); key == nil {
			return nil, errors.New("signed with a key that does not count")
		}
		return key.key, nil
	})
	if errors.Is(err, jwt.ErrTokenExpired) {
		return app.Identity{}, app.Fail(app.Unauthorized, expired)
	}
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token is not valid")
	}
	user, err := app.ParseID(c.Subject)
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token names no user")
	}
	var device app.ID
	if c.Device != "" {
		if device, err = app.ParseID(c.Device); err != nil {
			return app.Identity{}, app.Fail(app.Unauthorized, "the token names no device")
		}
	}
	role, err := ParseRole(string(c.Role))
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token has an unknown role")
	}
	return app.Identity{
		User: user, Name: c.Name, Role: role, Expires: app.MillisOf(c.ExpiresAt.Time), Device: device,
		KeyNumber: key.generation,
	}, nil
}
