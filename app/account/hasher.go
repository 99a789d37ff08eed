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
	// hashShare is the share of a core for passwords. A flood of logins cannot use more.
	hashShare = 0.15
	// hashMaxBudget is the maximum of the unused budget, enough for about 20 passwords.
	hashMaxBudget = 500 * time.Millisecond
	// hashQueue is the maximum number of waiting callers. Each of them is served within about three seconds.
	hashQueue = 16
	// maxWithoutCaptcha is the maximum number of callers without a solved captcha. The other places are reserved for
	// callers with a solved captcha. maxWithoutCaptchaPerAddr is the maximum for concurrent logins of one address,
	// maxWithoutCaptchaPerUser the maximum for concurrent password checks of one account.
	maxWithoutCaptcha        = hashQueue / 2
	maxWithoutCaptchaPerAddr = 2
	maxWithoutCaptchaPerUser = 1
	hashRetry                = 3 * time.Second
	// pressureAfter is how long the queue must be non-empty before UnderPressure reports true.
	pressureAfter = time.Second
)

// Hasher computes password hashes, one at a time and within a budget of processor time. With a full queue it rejects
// callers before any computation.
type Hasher struct {
	budget *budget
	slot   chan struct{}
	now    func() time.Time

	mu             sync.Mutex
	callers        int           // callers that compute or wait
	withoutCaptcha limits.Places // callers without a captcha
	queuedSince    time.Time     // start of the time with a non-empty queue; zero: the queue is empty
}

// NewHasher returns the hasher of a node.
func NewHasher() *Hasher { return newHasher(time.Now) }

func newHasher(now func() time.Time) *Hasher {
	return &Hasher{
		budget: newBudget(hashShare, hashMaxBudget, now), slot: make(chan struct{}, 1), now: now,
		withoutCaptcha: limits.Places{
			Max: maxWithoutCaptcha, User: maxWithoutCaptchaPerUser, Addr: maxWithoutCaptchaPerAddr,
		},
	}
}

// Enter takes a place in the queue; leave releases it. Busy: no place is free. Callers without a captcha share a part
// of the places, with a limit per user and address, so that they cannot block others.
func (h *Hasher) Enter(captcha bool, user shop.ID, addr netip.Addr) (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.callers > hashQueue || !captcha && !h.withoutCaptcha.HasRoom(user, addr) {
		return nil, errQueueFull()
	}
	count := func(n int) {
		h.callers += n
		if !captcha {
			h.withoutCaptcha.Add(user, addr, n)
		}
		h.updateQueuedSince()
	}
	count(1)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		count(-1)
	}, nil
}

// updateQueuedSince updates queuedSince. Callers hold mu.
func (h *Hasher) updateQueuedSince() {
	switch hasQueue := h.callers > 1; {
	case !hasQueue:
		h.queuedSince = time.Time{}
	case h.queuedSince.IsZero():
		h.queuedSince = h.now()
	}
}

// UnderPressure reports whether the queue has been non-empty for pressureAfter.
func (h *Hasher) UnderPressure() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.queuedSince.IsZero() && h.now().Sub(h.queuedSince) >= pressureAfter
}

// budgetLow reports whether less than half of hashMaxBudget is left. The remaining budget is reserved for logins with
// a solved captcha and for addresses with few failures.
func (h *Hasher) budgetLow() bool { return h.budget.left() < hashMaxBudget/2 }

// Hash computes the hash of a new password.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.compute(ctx, func() { hash = hashPassword(password) })
	return hash, err
}

// Matches reports whether the password matches the hash. The hash "" stands for an unknown user: the result is false,
// after the same time as for a hash.
func (h *Hasher) Matches(ctx context.Context, hash, password string) (match bool, err error) {
	if hash == "" {
		hash = dummyHash
	}
	var matchErr error
	if err := h.compute(ctx, func() { match, matchErr = matches(hash, password) }); err != nil {
		return false, err
	}
	return match, matchErr
}

func errQueueFull() error {
	return shop.FailBusy("many users are logging in right now; try again", hashRetry)
}

func (h *Hasher) compute(ctx context.Context, work func()) error {
	select {
	case h.slot <- struct{}{}:
		defer func() { <-h.slot }()
	case <-ctx.Done():
		return errQueueFull()
	}
	if h.budget.spend(ctx, work) != nil {
		return errQueueFull()
	}
	return nil
}

// budget limits the processor time of expensive work. It is a bucket that refills with time. Work starts only while the
// level is not negative; its measured time is subtracted afterwards.
type budget struct {
	share float64       // share of a core
	limit time.Duration // maximum level
	now   func() time.Time

	mu       sync.Mutex
	level    time.Duration
	filledAt time.Time
}

func newBudget(share float64, limit time.Duration, now func() time.Time) *budget {
	return &budget{share: share, limit: limit, now: now, level: limit, filledAt: now()}
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
	b.refill()
	return b.level
}

// pay subtracts used time.
func (b *budget) pay(used time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	b.level -= used
}

// refill adds the time since filledAt to the bucket. Callers hold mu.
func (b *budget) refill() {
	now := b.now()
	b.level = min(b.limit, b.level+time.Duration(float64(now.Sub(b.filledAt))*b.share))
	b.filledAt = now
}

// spend waits until work may start, runs it and subtracts its wall-clock time, so that a busy machine computes fewer
// hashes. Callers run one at a time.
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
