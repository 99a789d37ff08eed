package admission

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"time"

	"stampede/app/shop"
)

// Limits of the difficulty in bits. Each bit doubles the work. 16 bits are 65,536 hashes on average: less than a second
// in a browser, negligible for a bot farm. 26 bits take minutes in a browser.
const (
	DefaultWorkBits = 16
	MinWorkBits     = 1
	MaxWorkBits     = 26
)

const (
	// workTime is the time limit for solving a task.
	workTime = 2 * time.Minute
	// maxNonceDigits is the maximum number of digits of a nonce.
	maxNonceDigits = 20
)

// Task is the task that a buyer solves for a pass.
//
//   - work: find a number n such that SHA-256 of Text, a colon and the decimal digits of n has at least Bits leading
//     zero bits. The solution is n. ID equals Text.
//   - captcha: the solution is the text in Image.
type Task struct {
	Kind  shop.Challenge `json:"kind"`
	ID    string         `json:"id"` // to be sent with the solution
	Text  string         `json:"text,omitempty"`
	Bits  int            `json:"bits,omitempty"`
	Image string         `json:"image,omitempty"` // data URL: data:image/png;base64,…
	Until shop.Millis    `json:"until"`           // invalid from this instant on
}

// newTask returns a new proof-of-work task.
func (p *Passes) newTask(sale, user shop.ID, now shop.Millis, bits int) *Task {
	s := seal{kind: sealWork, sale: sale, user: user, issued: now, until: now.Add(workTime), bits: byte(bits)}
	text := s.text(p.key)
	return &Task{Kind: shop.ChallengeWork, ID: text, Text: text, Bits: bits, Until: s.until}
}

// passForWork returns the pass for a proof of work; false: the nonce does not solve a task of this user and sale. The
// pass is derived from the task, so a solution that is sent twice returns the same pass, on any node. The pass allows
// one buy.
func (p *Passes) passForWork(
	task, nonce string, sale, user shop.ID, now shop.Millis,
) (pass string, until shop.Millis, ok bool) {
	s, ok := seal{kind: sealWork, sale: sale, user: user}.verify(p.key, task, now)
	if !ok || !isNonce(nonce) || !Solves(task, nonce, int(s.bits)) {
		return "", 0, false
	}
	until = s.until.Add(passLife)
	return p.issue(sale, user, s.issued, until), until, true
}

// isNonce reports whether s is a decimal number without leading zeros, of at most maxNonceDigits digits.
func isNonce(s string) bool {
	return s != "" && len(s) <= maxNonceDigits && (s[0] != '0' || len(s) == 1) && shop.Digits(s)
}

// Solves reports whether the nonce solves the proof of work with this text.
func Solves(text, nonce string, minBits int) bool {
	sum := sha256.Sum256([]byte(text + ":" + nonce))
	return bits.LeadingZeros64(binary.BigEndian.Uint64(sum[:])) >= minBits
}

// Solve solves a proof of work: it returns the smallest nonce.
func Solve(text string, minBits int) (nonce string) {
	for n := int64(0); ; n++ {
		if nonce = strconv.FormatInt(n, 10); Solves(text, nonce, minBits) {
			return nonce
		}
	}
}
