package admission

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"time"

	"stampede/app/shop"
)

// Bounds of the difficulty, bits. Each one more doubles the work; 16 are 65,536 hashes on average, a moment for a page
// and a thousandth of nothing for a farm, 26 are minutes for a page.
const (
	DefaultWorkBits = 16
	LeastWorkBits   = 1
	MostWorkBits    = 26
)

const (
	// workTime is how long a task may be solved.
	workTime = 2 * time.Minute
	// longestNonce bounds an answer, digits.
	longestNonce = 20
)

// Task is what a buyer solves for a pass.
//
//   - work: find a number whose decimal digits, behind Text and a colon, hash (SHA-256) to at least Bits leading
//     zero bits; the answer is the number, and ID names the task, as its text does
//   - captcha: the answer is what Image shows
type Task struct {
	Kind  shop.Challenge `json:"kind"`
	ID    string         `json:"id"` // comes back with the answer
	Text  string         `json:"text,omitempty"`
	Bits  int            `json:"bits,omitempty"`
	Image string         `json:"image,omitempty"` // an address of its own: data:image/png;base64,…
	Until shop.Millis    `json:"until"`           // it is worth nothing at that instant
}

// work makes a proof of work to be done.
func (p *Passes) work(sale, user shop.ID, now shop.Millis, bits int) *Task {
	s := seal{kind: sealWork, sale: sale, user: user, issued: now, until: now.Add(workTime), bits: byte(bits)}
	text := s.text(p.key)
	return &Task{Kind: shop.ChallengeWork, ID: text, Text: text, Bits: bits, Until: s.until}
}

// done returns the pass for a proof of work; false: it is no solution of a task of that user and sale. The pass follows
// from the task: the same solution, sent to any node, gives the same pass, and both together buy once.
func (p *Passes) done(
	task, nonce string, sale, user shop.ID, now shop.Millis,
) (pass string, until shop.Millis, ok bool) {
	s, ok := seal{kind: sealWork, sale: sale, user: user}.read(p.key, task, now)
	if !ok || !isNonce(nonce) || !Solves(task, nonce, int(s.bits)) {
		return "", 0, false
	}
	until = s.until.Add(passLife)
	return p.issue(sale, user, s.issued, until), until, true
}

// isNonce reports whether it is a decimal number as one writes it.
func isNonce(s string) bool {
	return s != "" && len(s) <= longestNonce && (s[0] != '0' || len(s) == 1) && shop.Digits(s)
}

// Solves reports whether the nonce is a solution of a proof of work with that text.
func Solves(text, nonce string, zeros int) bool {
	sum := sha256.Sum256([]byte(text + ":" + nonce))
	return bits.LeadingZeros64(binary.BigEndian.Uint64(sum[:])) >= zeros
}

// Solve does a proof of work: it answers the smallest nonce that is a solution.
func Solve(text string, zeros int) (nonce string) {
	for n := int64(0); ; n++ {
		if nonce = strconv.FormatInt(n, 10); Solves(text, nonce, zeros) {
			return nonce
		}
	}
}
