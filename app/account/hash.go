package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Parameters of argon2id as recommended by OWASP. A hash takes about 25 ms of one core.
const (
	hashMemory  = 19 << 10 // KiB
	hashTime    = 2
	hashThreads = 1
	saltBytes   = 16
	hashBytes   = 32
	// A stored hash with more memory or more passes is rejected.
	maxHashMemory = 4 * hashMemory
	maxHashTime   = 4 * hashTime
)

const phcFormat = "$argon2id$v=%d$m=%d,t=%d,p=%d$"

// hashPassword returns the PHC string of a password with a new salt.
func hashPassword(password string) string {
	var salt [saltBytes]byte
	_, _ = rand.Read(salt[:]) // never fails
	sum := argon2.IDKey([]byte(normalized(password)), salt[:], hashTime, hashMemory, hashThreads, hashBytes)
	return phc(salt[:], sum)
}

func phc(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf(phcFormat, argon2.Version, hashMemory, hashTime, hashThreads) +
		b64.EncodeToString(salt) + "$" + b64.EncodeToString(sum)
}

// dummyHash matches no password and costs as much as any other hash.
var dummyHash = phc(make([]byte, saltBytes), make([]byte, hashBytes))

// errHash means that a stored text is not a hash of this package.
var errHash = errors.New("not an argon2id hash with an accepted cost")

// matches reports whether the password matches the hash. It truncates overlong passwords to limit the work. The
// truncated text is still longer than any valid password, so it cannot match.
func matches(hash, password string) (bool, error) {
	var version int
	var memory, passes uint32
	var threads uint8
	var rest string
	_, err := fmt.Sscanf(hash, phcFormat+"%s", &version, &memory, &passes, &threads, &rest)
	if err != nil || version != argon2.Version || memory > maxHashMemory || passes > maxHashTime || passes < 1 ||
		threads != hashThreads {
		return false, errHash
	}
	salt, sum, err := saltAndSum(rest)
	if err != nil {
		return false, err
	}
	text := []byte(normalized(password))
	text = text[:min(len(text), 4*maxPassword+1)]
	got := argon2.IDKey(text, salt, passes, memory, threads, uint32(len(sum)))
	return subtle.ConstantTimeCompare(got, sum) == 1, nil
}

func saltAndSum(s string) (salt, sum []byte, err error) {
	first, second, _ := strings.Cut(s, "$")
	salt, errSalt := base64.RawStdEncoding.DecodeString(first)
	sum, errSum := base64.RawStdEncoding.DecodeString(second)
	if errSalt != nil || errSum != nil || len(salt) < saltBytes || len(sum) != hashBytes {
		return nil, nil, errHash
	}
	return salt, sum, nil
}

// secretBytes is the length of secrets before encoding, in bytes.
const secretBytes = 32

// newSecret returns the secret of an e-mailed link: 43 URL-safe characters.
func newSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hashOf returns the stored form of a secret. Random secrets need no salt and no expensive hash.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// looksLikeSecret rejects malformed secrets before the database is read.
func looksLikeSecret(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == secretBytes
}
