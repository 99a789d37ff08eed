package account

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app"
)

// read checks all of a token but whether it was revoked.
func (i *Issuer) read(token string) (app.Identity, error) {
	if token == "" {
		return app.Identity{}, app.Fail(app.Unauthorized, "a token is needed")
	}
	c, key, err := i.own(token)
	if c == nil {
		c, key, err = i.foreign(token)
	}
	if errors.Is(err, jwt.ErrTokenExpired) {
		return app.Identity{}, app.Fail(app.Unauthorized, expired)
	}
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token is not valid")
	}
	return c.identity(key)
}

// own reads a token whose header is to the letter that of one of our keys, which says the method, so that nothing of it
// is decoded. The library computes the signature, and after that judges the claims. Without claims it says nothing: a
// token that is written in any other way is left to foreign.
func (i *Issuer) own(token string) (*claims, *signingKey, error) {
	key := i.keys.Load().byHeader(token, app.MillisOf(i.now()))
	dot := strings.LastIndexByte(token, '.')
	if key == nil || dot < len(key.header) {
		return nil, nil, nil
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[dot+1:])
	if err != nil {
		return &claims{}, key, err
	}
	if err = jwt.SigningMethodHS256.Verify(token[:dot], signature, key.key); err != nil {
		return &claims{}, key, err
	}
	text, err := base64.RawURLEncoding.DecodeString(token[len(key.header):dot])
	if err != nil {
		return &claims{}, key, err
	}
	c := claimsOf(string(text))
	if c == nil {
		return nil, nil, nil
	}
	return c, key, i.rules.Validate(c)
}

// foreign leaves all of a token to the library.
func (i *Issuer) foreign(token string) (*claims, *signingKey, error) {
	var c claims
	var key *signingKey
	_, err := i.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if key = i.keys.Load().byKid(kid, app.MillisOf(i.now())); key == nil {
			return nil, errors.New("signed with a key that does not count")
		}
		return key.key, nil
	})
	return &c, key, err
}

// identity is who the claims of a good token name.
func (c *claims) identity(key *signingKey) (app.Identity, error) {
	user, err := app.ParseID(c.Subject)
	if err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token names no user")
	}
	var device, sale app.ID
	if c.Sale != "" {
		if sale, err = app.ParseID(c.Sale); err != nil || sale == 0 {
			return app.Identity{}, app.Fail(app.Unauthorized, "the token names no sale")
		}
	}
	if c.Device != "" {
		if device, err = app.ParseID(c.Device); err != nil {
			return app.Identity{}, app.Fail(app.Unauthorized, "the token names no device")
		}
	}
	role := c.Role
	if _, err := ParseRole(string(role)); err != nil {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token has an unknown role")
	}
	return app.Identity{
		User: user, Role: role, Expires: app.MillisOf(c.ExpiresAt.Time), Device: device, Sale: sale,
		KeyNumber: key.generation,
		Name:      strings.Clone(c.Name), // cut out of the claims, which would all be kept with it
	}, nil
}
