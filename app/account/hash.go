package account

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/argon2"
)

// What a password costs: OWASP's first choice for argon2id, about 25 ms of one core.
const (
	hashMemory  = 19 << 10 // KiB
	hashTime    = 2
	hashThreads = 1
	saltBytes   = 16
	hashBytes   = 32
	// No stored hash may cost more than a few times that.
	maxHashMemory = 4 * hashMemory
	maxHashTime   = 4 * hashTime
)

const phcFormat = "$argon2id$v=%d$m=%d,t=%d,p=%d$"

// hashPassword computes the PHC string of a password under a new salt.
func hashPassword(password string) string {
	var salt [saltBytes]byte
	_, _ = rand.Read(salt[:]) // it never fails
	sum := argon2.IDKey([]byte(typed(password)), salt[:], hashTime, hashMemory, hashThreads, hashBytes)
	return phc(salt[:], sum)
}

func phc(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf(phcFormat, argon2.Version, hashMemory, hashTime, hashThreads) +
		b64.EncodeToString(salt) + "$" + b64.EncodeToString(sum)
}

// nobodysHash fits no password, and to find that out costs as much as with any other hash.
var nobodysHash = phc(make([]byte, saltBytes), make([]byte, hashBytes))

// errHash means that what is stored is no hash of ours.
var errHash = errors.New("not an argon2id hash with a cost that is taken")

// fits computes whether the password is that of the hash.
func fits(hash, password string) (bool, error) {
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
	got := argon2.IDKey([]byte(typed(password)), salt, passes, memory, threads, uint32(len(sum)))
	return subtle.ConstantTimeCompare(got, sum) == 1, nil
}

func saltAndSum(s string) (salt, sum []byte, err error) {
	for i := range len(s) {
		if s[i] != '$' {
			continue
		}
		salt, errSalt := base64.RawStdEncoding.DecodeString(s[:i])
		sum, errSum := base64.RawStdEncoding.DecodeString(s[i+1:])
		if errSalt != nil || errSum != nil || len(salt) < saltBytes || len(sum) != hashBytes {
			return nil, nil, errHash
		}
		return salt, sum, nil
	}
	return nil, nil, errHash
}
