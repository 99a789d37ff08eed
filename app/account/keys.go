package account

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app"
)

// LongestLife is how long the tokens live that are given to people: those of guests. As long a key counts after the
// next one has taken its place.
const LongestLife = GuestLife

// signingKey is one generation. Its fingerprint is the kid of its tokens, so that a token of another key is recognised
// before any signature is computed. All of its tokens begin with the same header.
type signingKey struct {
	generation int64
	key        []byte
	kid        string
	header     string // as it stands in a token, with the dot behind it
}

// keyring are the keys that count: the present one, the one before it for as long as its tokens live, and the next one,
// which other nodes may have heard of first.
type keyring struct {
	app.KeyGeneration
	keys []signingKey // the present one first
}

func newKeyring(secret []byte, g app.KeyGeneration) *keyring {
	r := &keyring{KeyGeneration: g}
	for _, n := range []int64{g.Number, g.Number + 1, g.Number - 1} {
		if n >= max(0, g.Oldest) {
			r.keys = append(r.keys, newSigningKey(secret, n))
		}
	}
	return r
}

// newSigningKey derives the key of a generation. The first is the secret itself.
func newSigningKey(secret []byte, generation int64) signingKey {
	key := secret
	if generation > 0 {
		key = derive(secret, "stampede signing key "+strconv.FormatInt(generation, 10))
	}
	k := signingKey{generation: generation, key: key, kid: fingerprint(key)}
	text, err := k.token(nil).SigningString()
	if err != nil {
		panic("account: " + err.Error()) // only for claims that have no JSON
	}
	k.header, _, _ = strings.Cut(text, ".")
	k.header += "."
	return k
}

// token is what is signed with the key.
func (k *signingKey) token(c jwt.Claims) *jwt.Token {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	t.Header["kid"] = k.kid
	return t
}

// derive makes a key for one purpose of the secret.
func derive(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, MinKeyBytes)
	if err != nil {
		panic("account: " + err.Error()) // only for lengths that are not this one
	}
	return key
}

// fingerprint names a key without telling anything of it.
func fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("stampede kid:"), key...))
	return hex.EncodeToString(sum[:4])
}

// byKid answers the key with that fingerprint, if it counts at the instant now.
func (r *keyring) byKid(kid string, now app.Millis) *signingKey {
	for i := range r.keys {
		if r.keys[i].kid == kid && r.counts(r.keys[i].generation, now) {
			return &r.keys[i]
		}
	}
	return nil
}

// byHeader answers the key whose tokens begin as this one does, if it counts at the instant now.
func (r *keyring) byHeader(token string, now app.Millis) *signingKey {
	for i := range r.keys {
		if strings.HasPrefix(token, r.keys[i].header) && r.counts(r.keys[i].generation, now) {
			return &r.keys[i]
		}
	}
	return nil
}

// counts reports whether tokens of a generation still count.
func (r *keyring) counts(generation int64, now app.Millis) bool {
	switch {
	case generation < r.Oldest:
		return false
	case generation == r.Number, generation == r.Number+1:
		return true
	}
	return generation == r.Number-1 && now < r.Since.Add(LongestLife+time.Minute)
}
