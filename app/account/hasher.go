package account

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"stampede/app/limits"
	"stampede/app/shop"
)

const (
	// hashShare is the share of a core for passwords. A flood of logins cannot take more from the sale.
	hashShare = 0.15
	// hashSaved is the largest saved budget, enough for about 20 passwords.
	hashSaved = 500 * time.Millisecond
	// hashQueue is the maximum number of waiting callers. They are served within about three seconds.
	hashQueue = 16
	// hashOpen is the maximum number of callers without a captcha. The other places are for solved captchas. Of
	// hashOpen, hashOpenPerAddr limits concurrent logins of one address, and hashOpenPerUser limits concurrent password
	// proofs of one account.
	hashOpen        = hashQueue / 2
	hashOpenPerAddr = 2
	hashOpenPerUser = 1
	hashRetry       = 3 * time.Second
	// pressedAfter is the time with a non-empty queue after which logins are under pressure.
	pressedAfter = time.Second
)

// Hasher computes password hashes, one at a time and within a budget of processor time. With a full queue it rejects
// callers before any computation.
type Hasher struct {
	budget *budget
	turn   chan struct{}
	now    func() time.Time

	mu      sync.Mutex
	inside  int           // callers that compute or wait
	open    limits.Places // callers without a captcha
	waiting time.Time     // start of the time with a non-empty queue; zero: the queue is empty
}

// NewHasher returns the hasher of a node.
func NewHasher() *Hasher { return newHasher(time.Now) }

func newHasher(now func() time.Time) *Hasher {
	return &Hasher{
		budget: newBudget(hashShare, hashSaved, now), turn: make(chan struct{}, 1), now: now,
		open: limits.Places{Most: hashOpen, User: hashOpenPerUser, Addr: hashOpenPerAddr},
	}
}

// Enter takes a place in the queue; leave releases it. Busy: no place is free. Callers without a captcha share a part
// of the places, with a limit per user and address, so that they cannot block others.
func (h *Hasher) Enter(captcha bool, user shop.ID, addr netip.Addr) (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside > hashQueue || !captcha && !h.open.Room(user, addr) {
		return nil, errCrowded()
	}
	count := func(n int) {
		h.inside += n
		if !captcha {
			h.open.Add(user, addr, n)
		}
		h.noteWaiting()
	}
	count(1)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		count(-1)
	}, nil
}

// noteWaiting updates waiting. Callers hold mu.
func (h *Hasher) noteWaiting() {
	switch waits := h.inside > 1; {
	case !waits:
		h.waiting = time.Time{}
	case h.waiting.IsZero():
		h.waiting = h.now()
	}
}

// Attempts reports whether the queue has been non-empty for pressedAfter.
func (h *Hasher) Attempts() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.waiting.IsZero() && h.now().Sub(h.waiting) >= pressedAfter
}

// scarce reports whether less than half of the largest budget is left. The rest is reserved for captchas and for
// addresses with few failures.
func (h *Hasher) scarce() bool { return h.budget.left() < hashSaved/2 }

// Hash computes the hash of a new password.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.compute(ctx, func() { hash = hashPassword(password) })
	return hash, err
}

// Fits reports whether the password matches the hash. "" means an unknown user and takes as long as a hash.
func (h *Hasher) Fits(ctx context.Context, hash, password string) (fit bool, err error) {
	if hash == "" {
		hash = dummyHash
	}
	var wrong error
	if err := h.compute(ctx, func() { fit, wrong = fits(hash, password) }); err != nil {
		return false, err
	}
	return fit, wrong
}

func errCrowded() error {
	return shop.FailBusy("many users are logging in right now; try again", hashRetry)
}

func (h *Hasher) compute(ctx context.Context, work func()) error {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return errCrowded()
	}
	if h.budget.spend(ctx, work) != nil {
		return errCrowded()
	}
	return nil
}

// budget limits the processor time of expensive work. It is a bucket that refills with time. Work starts while the
// level is not negative, and its measured time is subtracted afterwards.
type budget struct {
	share float64       // share of a core
	most  time.Duration // maximum level
	now   func() time.Time

	mu    sync.Mutex
	level time.Duration
	at    time.Time
}

func newBudget(share float64, most time.Duration, now func() time.Time) *budget {
	return &budget{share: share, most: most, now: now, level: most, at: now()}
}

// wait returns the time until the level is not negative.
func (b *budget) wait() time.Duration {
	left := b.left()
	if left >= 0 {
		return 0
	}
	return time.Duration(float64(-left)/b.share) + time.Millisecond
}

// left returns the level of the bucket.
func (b *budget) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	return b.level
}

// pay subtracts used time.
func (b *budget) pay(used time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	b.level -= used
}

// fill refills the bucket. Callers hold mu.
func (b *budget) fill() {
	now := b.now()
	b.level = min(b.most, b.level+time.Duration(float64(now.Sub(b.at))*b.share))
	b.at = now
}

// spend waits until work may start, runs it and subtracts its wall-clock time, so that a busy machine does less.
// Callers run one at a time.
func (b *budget) spend(ctx context.Context, work func()) error {
	for pause := b.wait(); pause > 0; pause = b.wait() {
		if !shop.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
	began := b.now()
	work()
	b.pay(b.now().Sub(began))
	return nil
}
