package account

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"stampede/app"
)

// verifiedKept bounds how many tokens a node remembers to have read, about 6 MB. It is a power of two.
const verifiedKept = 16_384

// verified remembers tokens whose signature was right, and what they say, so that the next request with the same token
// costs a comparison. Each token has one place, by its hash; the newest keeps it. What changes while a token lives is
// none of its business (see Issuer.Verify).
type verified struct {
	seed   maphash.Seed
	places [verifiedKept]atomic.Pointer[verifiedToken]
}

type verifiedToken struct {
	token string
	who   app.Identity
}

func newVerified() *verified { return &verified{seed: maphash.MakeSeed()} }

func (v *verified) look(token string) (app.Identity, bool) {
	if at := v.place(token).Load(); at != nil && at.token == token {
		return at.who, true
	}
	return app.Identity{}, false
}

// keep remembers a token. Its text is copied: requests are read into buffers that are used again.
func (v *verified) keep(token string, who app.Identity) {
	who.Name = strings.Clone(who.Name)
	v.place(token).Store(&verifiedToken{strings.Clone(token), who})
}

func (v *verified) place(token string) *atomic.Pointer[verifiedToken] {
	return &v.places[maphash.String(v.seed, token)&(verifiedKept-1)]
}
