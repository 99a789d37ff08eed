package account

import (
	"context"
	"sync"
	"time"

	"stampede/app"
)

const (
	// hashShare is how much of a core a node gives to passwords, whoever asks: a flood of log ins takes no more of it
	// than that from the sale.
	hashShare = 0.15
	// hashSaved is how much time may be saved up for the moment in which many come at once: about 20 passwords.
	hashSaved = 500 * time.Millisecond
	// hashQueue is how many may wait for their turn: they are served within about three seconds.
	hashQueue = 16
	hashRetry = 3 * time.Second
	// pressedAfter is how long somebody must have been waiting without a break for log ins to be under pressure.
	pressedAfter = time.Second
)

// Hasher computes what passwords cost, one at a time and within a budget of processor time. Who finds its queue full is
// sent away before anything is computed, looked up or counted.
type Hasher struct {
	budget *budget
	turn   chan struct{}
	now    func() time.Time

	mu      sync.Mutex
	inside  int       // who computes and who waits
	waiting time.Time // since when somebody waits without a break; zero: nobody does
}

// NewHasher makes the hasher of a node.
func NewHasher() *Hasher { return newHasher(time.Now) }

func newHasher(now func() time.Time) *Hasher {
	return &Hasher{budget: newBudget(hashShare, hashSaved, now), turn: make(chan struct{}, 1), now: now}
}

// Enter takes a place in the queue, or fails with Busy. Whoever has one calls leave when done, and may compute
// meanwhile.
func (h *Hasher) Enter() (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside > hashQueue {
		return nil, app.FailBusy("many people are logging in right now; please try again", hashRetry)
	}
	h.inside++
	h.noteWaiting()
	return h.leave, nil
}

func (h *Hasher) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inside--
	h.noteWaiting()
}

// noteWaiting keeps since when the queue has not been empty. Callers hold mu.
func (h *Hasher) noteWaiting() {
	switch waits := h.inside > 1; {
	case !waits:
		h.waiting = time.Time{}
	case h.waiting.IsZero():
		h.waiting = h.now()
	}
}

// Pressed reports whether log ins have been waiting for each other for a while.
func (h *Hasher) Pressed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.waiting.IsZero() && h.now().Sub(h.waiting) >= pressedAfter
}

// Hash computes the hash of a new password.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.compute(ctx, func() { hash = hashPassword(password) })
	return hash, err
}

// Fits computes whether the password is that of the hash. "" is the hash of nobody, which takes as long.
func (h *Hasher) Fits(ctx context.Context, hash, password string) (fit bool, err error) {
	if hash == "" {
		hash = nobodysHash
	}
	var wrong error
	if err := h.compute(ctx, func() { fit, wrong = fits(hash, password) }); err != nil {
		return false, err
	}
	return fit, wrong
}

func (h *Hasher) compute(ctx context.Context, work func()) error {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return app.FailBusy("many people are logging in right now; please try again", hashRetry)
	}
	if err := h.budget.spend(ctx, work); err != nil {
		return app.FailBusy("many people are logging in right now; please try again", hashRetry)
	}
	return nil
}
