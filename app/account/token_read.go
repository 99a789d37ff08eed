package account

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app/shop"
)

// parse checks everything about a token except whether it was revoked.
func (i *Issuer) parse(token string) (shop.Identity, error) {
	if token == "" {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "a token is needed")
	}
	c, key, err := i.parseFast(token)
	if c == nil {
		c, key, err = i.parseWithLibrary(token)
	}
	if errors.Is(err, jwt.ErrTokenExpired) {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, expiredMessage)
	}
	if err != nil {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token is not valid")
	}
	return c.identity(key)
}

// parseFast parses a token that has the header of an accepted key, without decoding the header. The library verifies
// the signature and then the claims. If parseFast returns nil claims, the token has another form and must be
// parsed by parseWithLibrary.
func (i *Issuer) parseFast(token string) (*claims, *signingKey, error) {
	key := i.keys.Load().byHeader(token, shop.MillisOf(i.now()))
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
	return c, key, i.validator.Validate(c)
}

// parseWithLibrary parses a token with the library.
func (i *Issuer) parseWithLibrary(token string) (*claims, *signingKey, error) {
	var c claims
	var key *signingKey
	_, err := i.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if key = i.keys.Load().byKid(kid, shop.MillisOf(i.now())); key == nil {
			return nil, errors.New("signed with a key that is not accepted")
		}
		return key.key, nil
	})
	return &c, key, err
}

// identity returns the identity in the claims of a valid token.
func (c *claims) identity(key *signingKey) (shop.Identity, error) {
	user, err := shop.ParseID(c.Subject)
	if err != nil {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token has no valid user")
	}
	var device, sale shop.ID
	if c.Sale != "" {
		if sale, err = shop.ParseID(c.Sale); err != nil || sale == 0 {
			return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token has no valid sale")
		}
	}
	if c.Device != "" {
		if device, err = shop.ParseID(c.Device); err != nil {
			return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token has no valid device")
		}
	}
	role := c.Role
	if _, err := ParseRole(string(role)); err != nil {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token has an unknown role")
	}
	return shop.Identity{
		User: user, Role: role, Expires: shop.MillisOf(c.ExpiresAt.Time), Device: device, Sale: sale,
		KeyNumber: key.generation,
		Name:      strings.Clone(c.Name), // a copy, so that the complete claims can be freed
	}, nil
}

// claimsOf parses the claims that sign writes for guests and devices: these fields in this order, whole seconds. It
// returns nil for any other text, for example for names with escapes and for tokens of a sale. The library's parser
// accepts every standard form and costs ten times as much.
func claimsOf(text string) *claims {
	r := claimsReader{rest: text}
	var c claims
	r.skipText(`{"iss":"` + issuerName + `","sub":"`)
	c.Issuer, c.Subject = issuerName, r.readUntil(`"`)
	r.skipText(`,"aud":["` + audience + `"],"exp":`)
	c.Audience, c.ExpiresAt = ourAudience, r.readTime()
	r.skipText(`"iat":`)
	c.IssuedAt = r.readTime()
	r.skipText(`"name":"`)
	c.Name = r.readUntil(`"`)
	r.skipText(`,"role":"`)
	c.Role = shop.Role(r.readUntil(`"`))
	if strings.HasPrefix(r.rest, ",") {
		r.skipText(`,"did":"`)
		c.Device = r.readUntil(`"`)
	}
	if r.malformed || r.rest != "}" {
		return nil
	}
	return &c
}

var ourAudience = jwt.ClaimStrings{audience} // shared by all claims, never modified

// claimsReader reads a text once. malformed is set at the first unexpected byte.
type claimsReader struct {
	rest      string
	malformed bool
}

func (r *claimsReader) skipText(text string) {
	rest, found := strings.CutPrefix(r.rest, text)
	r.rest, r.malformed = rest, r.malformed || !found
}

// readUntil returns the text before the next occurrence of end and skips this text and end.
func (r *claimsReader) readUntil(end string) string {
	value, rest, found := strings.Cut(r.rest, end)
	if !found || strings.ContainsFunc(value, needsEscape) {
		r.malformed = true
		return ""
	}
	r.rest = rest
	return value
}

// secondsBits limits a time to about 35,000 years.
const secondsBits = 40

// readTime reads seconds and the comma after them.
func (r *claimsReader) readTime() *jwt.NumericDate {
	text := r.readUntil(",")
	n, err := strconv.ParseUint(text, 10, secondsBits)
	if err != nil || text[0] == '0' {
		r.malformed = true
	}
	return &jwt.NumericDate{Time: time.Unix(int64(n), 0)}
}

// needsEscape reports whether a JSON decoder rejects or changes the character. The library parses such texts.
func needsEscape(c rune) bool { return c < ' ' || c == '\\' || c == utf8.RuneError }
