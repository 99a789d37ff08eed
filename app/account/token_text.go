package account

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app"
)

// claimsOf reads the text of claims as sign writes it: these fields in this order, instants in whole seconds. It
// answers nil for any other text, also for a name with an escape in it. The library's own way through encoding/json,
// which takes every form that the standard allows, costs ten times as much.
func claimsOf(text string) *claims {
	r := claimsReader{rest: text}
	var c claims
	r.word(`{"iss":"` + issuerName + `","sub":"`)
	c.Issuer, c.Subject = issuerName, r.upTo(`"`)
	r.word(`,"aud":["` + audience + `"],"exp":`)
	c.Audience, c.ExpiresAt = ourAudience, r.instant()
	r.word(`"iat":`)
	c.IssuedAt = r.instant()
	r.word(`"name":"`)
	c.Name = r.upTo(`"`)
	r.word(`,"role":"`)
	c.Role = app.Role(r.upTo(`"`))
	if strings.HasPrefix(r.rest, ",") {
		r.word(`,"did":"`)
		c.Device = r.upTo(`"`)
	}
	if r.odd || r.rest != "}" {
		return nil
	}
	return &c
}

var ourAudience = jwt.ClaimStrings{audience} // never changed

// claimsReader goes through a text once; odd is set for good at the first byte that is not as expected.
type claimsReader struct {
	rest string
	odd  bool
}

func (r *claimsReader) word(w string) {
	rest, found := strings.CutPrefix(r.rest, w)
	r.rest, r.odd = rest, r.odd || !found
}

// upTo answers what stands before the next end, and goes on behind it.
func (r *claimsReader) upTo(end string) string {
	value, rest, found := strings.Cut(r.rest, end)
	if !found || strings.ContainsFunc(value, needsEscape) {
		r.odd = true
		return ""
	}
	r.rest = rest
	return value
}

// instant reads seconds and the comma behind them.
func (r *claimsReader) instant() *jwt.NumericDate {
	text := r.upTo(",")
	n, err := strconv.ParseUint(text, 10, 32+8)
	if err != nil || text[0] == '0' {
		r.odd = true
	}
	return &jwt.NumericDate{Time: time.Unix(int64(n), 0)}
}

// needsEscape reports whether a character never stands as itself in our JSON, or is no character.
func needsEscape(c rune) bool { return c < ' ' || c == '\\' || c == utf8.RuneError }
