package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// secretBytes is the length of what nobody can guess.
const secretBytes = 32

// newSecret makes what a mailed link proves: 43 characters that an address may have.
func newSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hashOf is what the store keeps of a secret. A secret is random, so no salt and no cost are needed.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// looksLikeSecret keeps what is no secret of ours from the store.
func looksLikeSecret(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == secretBytes
}
