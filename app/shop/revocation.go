package shop

import (
	"time"
)

// AccessLife is how long an access token of an account lives. What is revoked stays in the set as long.
const AccessLife = 15 * time.Minute

// Revocations is what nodes read every two seconds.
type Revocations struct {
	Subjects []Revocation
	Now      Millis // by the database's clock, read before the rows
	Keys     KeyGeneration
}

// Revocation is a subject whose access tokens do not count until an instant.
type Revocation struct {
	Subject ID
	Until   Millis
}

// KeyGeneration says which key signs access tokens, and which ones still count.
type KeyGeneration struct {
	Number int64  // signs; 0: the key of the configuration itself
	Since  Millis // when it began, by the database's clock; 0: from the first
	Oldest int64  // the first generation that may count
	Salt   string `json:"-"` // of all generations that may count; secret. "": none has ended all tokens yet
}
