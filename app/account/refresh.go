package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"stampede/app"
)

// A refresh token is <device>.<secret>. The secret has two halves: one that nobody can guess, and a seal that only this
// server can make of it, so that an old token of a device is told from an invented one, of which everybody can make as
// many as they like. The next secret is computed from the present one: who asks again gets the same answer (I6).
type refresher struct{ key []byte }

const (
	halfBytes  = secretBytes / 2
	maxRefresh = 64 // characters of a refresh token
)

// first makes the secret of a new device.
func (r refresher) first(device app.ID) string {
	var b [halfBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return r.sealed(device, b[:])
}

// next computes the secret that comes after one.
func (r refresher) next(device app.ID, secret string) string {
	return r.sealed(device, r.mac("next", device, []byte(secret)))
}

// genuine reports whether this server has made the secret for the device, however long ago.
func (r refresher) genuine(device app.ID, secret string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return err == nil && len(b) == secretBytes && hmac.Equal(b[halfBytes:], r.mac("seal", device, b[:halfBytes]))
}

func (r refresher) sealed(device app.ID, half []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(half, r.mac("seal", device, half)...))
}

// mac is half as long as a secret.
func (r refresher) mac(what string, device app.ID, text []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte(what + ":" + device.String() + ":"))
	h.Write(text)
	return h.Sum(nil)[:halfBytes]
}

// refreshToken is what the client keeps.
func refreshToken(device app.ID, secret string) string { return device.String() + "." + secret }

// secretOf is the part of a refresh token that follows the device.
func secretOf(token string) string {
	_, secret, _ := strings.Cut(token, ".")
	return secret
}

// read takes a refresh token apart. Access tokens and everything else are no refresh tokens.
func (r refresher) read(token string) (device app.ID, secret string, ok bool) {
	id, secret, found := strings.Cut(token, ".")
	device, err := app.ParseID(id)
	if !found || len(token) > maxRefresh || err != nil || !r.genuine(device, secret) {
		return 0, "", false
	}
	return device, secret, true
}
