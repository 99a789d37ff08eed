package account

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"stampede/app/shop"
)

// MaxLife is the maximum lifetime of an access token, which is the lifetime of a guest's token. A replaced key stays
// accepted for this time.
const MaxLife = GuestLife

// signingKey is one generation of the key. The kid of its tokens is its fingerprint, so tokens of other keys are
// rejected without a signature check. All tokens of a key start with the same header.
type signingKey struct {
	generation int64
	key        []byte
	kid        string
	header     string // encoded, with the trailing dot
}

// keyring contains the accepted keys: the current key, the next key, which other nodes may already use, and the
// previous key until its tokens have expired.
type keyring struct {
	shop.KeyGeneration
	keys []signingKey // the current key first
}

func newKeyring(secret []byte, g shop.KeyGeneration) *keyring {
	r := &keyring{KeyGeneration: g}
	for _, n := range []int64{g.Number, g.Number + 1, g.Number - 1} {
		if n >= max(0, g.Oldest) {
			r.keys = append(r.keys, newSigningKey(secret, g.Salt, n))
		}
	}
	return r
}

// newSigningKey derives the key of a generation. Generation 0 is the secret itself, for compatibility with releases
// without generations. The salt is in the database, so the secret alone does not yield the keys after `token rotate
// --now`.
func newSigningKey(secret []byte, salt string, generation int64) signingKey {
	key := secret
	if generation > 0 {
		key = deriveKey(secret, strings.TrimSpace("stampede signing key "+strconv.FormatInt(generation, 10)+" "+salt))
	}
	k := signingKey{generation: generation, key: key, kid: fingerprint(key)}
	text, err := k.token(nil).SigningString()
	if err != nil {
		panic("account: " + err.Error()) // impossible: the claims are nil
	}
	k.header, _, _ = strings.Cut(text, ".")
	k.header += "."
	return k
}

// token returns an unsigned token for the key.
func (k *signingKey) token(c jwt.Claims) *jwt.Token {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	t.Header["kid"] = k.kid
	return t
}

// deriveKey returns the key for one purpose, derived from the secret.
func deriveKey(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, MinKeyBytes)
	if err != nil {
		panic("account: " + err.Error()) // impossible with this length
	}
	return key
}

// fingerprint identifies a key without disclosing it.
func fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("stampede kid:"), key...))
	return hex.EncodeToString(sum[:4])
}

// byKid returns the accepted key with this fingerprint, or nil.
func (ke *keyring) byKid(kid string, now shop.Millis) *signingKey {
	return ke.find(now, func(k *signingKey) bool { return k.kid == kid })
}

// byHeader returns the accepted key with the header of this token, or nil.
func (ke *keyring) byHeader(token string, now shop.Millis) *signingKey {
	return ke.find(now, func(k *signingKey) bool { return strings.HasPrefix(token, k.header) })
}

func (ke *keyring) find(now shop.Millis, matches func(k *signingKey) bool) *signingKey {
	for i := range ke.keys {
		if k := &ke.keys[i]; matches(k) && ke.accepts(k.generation, now) {
			return k
		}
	}
	return nil
}

// accepts reports whether tokens of a generation are accepted.
func (ke *keyring) accepts(generation int64, now shop.Millis) bool {
	switch {
	case generation < ke.Oldest:
		return false
	case generation == ke.Number, generation == ke.Number+1:
		return true
	}
	return generation == ke.Number-1 && now < ke.Since.Add(MaxLife+time.Minute)
}
