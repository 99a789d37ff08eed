package shop

import (
	"time"
)

// AccessLife is the lifetime of an account's access token. A revocation is kept for the same time.
const AccessLife = 15 * time.Minute

// Revocations has the revoked subjects and the signing keys. Nodes read it every two seconds.
type Revocations struct {
	Subjects []Revocation
	Now      Millis // by the database's clock, read before the rows
	Keys     KeyGeneration
}

// Revocation is a subject whose access tokens are invalid until an instant.
type Revocation struct {
	Subject ID
	Until   Millis
}

// KeyGeneration identifies the key that signs access tokens and the keys that are still accepted.
type KeyGeneration struct {
	Number int64  // generation of the signing key; 0: the configured key itself
	Since  Millis // when the generation started, by the database's clock; 0: no rotation yet
	Oldest int64  // the first generation that may be accepted
	Salt   string `json:"-"` // secret salt of all accepted generations; "": no rotation has invalidated all tokens yet
}
