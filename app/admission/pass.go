package admission

import (
	"time"

	"stampede/app/shop"
)

const (
	// PassBefore is how long before the opening the first passes are issued.
	PassBefore = time.Minute
	// passLife is the lifetime of a pass.
	passLife = 2 * time.Minute
)

// Passes issues and verifies passes. A pass is bound to the user, the sale and the time, and is not stored. It is valid
// once: the Lua step accepts only a pass that was issued later than the last pass that the buyer used in the sale. A
// rejected buy does not use up its pass.
type Passes struct {
	key []byte
}

// NewPasses returns passes signed with key, which all nodes share.
func NewPasses(key []byte) *Passes { return &Passes{key: key} }

// issue returns a pass with the issue time `issued`.
func (p *Passes) issue(sale, user shop.ID, issued, until shop.Millis) string {
	return seal{kind: sealPass, sale: sale, user: user, issued: issued, until: until}.text(p.key)
}

// Issued returns the instant at which the pass was issued. It returns 0 for a pass that is invalid, expired, or of
// another user or sale.
func (p *Passes) Issued(pass string, sale, user shop.ID, now shop.Millis) shop.Millis {
	if p == nil || pass == "" {
		return 0
	}
	s, ok := seal{kind: sealPass, sale: sale, user: user}.verify(p.key, pass, now)
	if !ok {
		return 0
	}
	return s.issued
}
