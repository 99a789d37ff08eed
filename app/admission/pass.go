package admission

import (
	"time"

	"stampede/app/shop"
)

const (
	// PassBefore is how long before the opening passes are given at the earliest.
	PassBefore = time.Minute
	// passLife is how long a pass counts.
	passLife = 2 * time.Minute
)

// Passes issues and reads passes. A pass is bound to the user, the sale and the time, and is not stored. It counts
// once: the Lua step accepts only a pass that was issued later than the last one that the buyer spent in the sale. A
// refused buy does not spend it.
type Passes struct {
	key []byte
}

// NewPasses takes the key that all nodes share.
func NewPasses(key []byte) *Passes { return &Passes{key: key} }

// issue makes a pass of that instant.
func (p *Passes) issue(sale, user shop.ID, issued, until shop.Millis) string {
	return seal{kind: sealPass, sale: sale, user: user, issued: issued, until: until}.text(p.key)
}

// Issued answers when the pass was issued; 0 when it is none, is another user's or another sale's, or has ended.
func (p *Passes) Issued(pass string, sale, user shop.ID, now shop.Millis) shop.Millis {
	if p == nil || pass == "" {
		return 0
	}
	s, ok := seal{kind: sealPass, sale: sale, user: user}.read(p.key, pass, now)
	if !ok {
		return 0
	}
	return s.issued
}
