package payment

import (
	"sync"
	"time"
)

const (
	// openAfter faults in a row count as "the gateway is away": a single lost answer is everyday.
	openAfter = 5
	// restFor is how long an absent gateway is left alone before one call looks again. It is within the minute in which
	// reconciliation must find a missed payment.
	restFor = 2 * time.Second
)

// Breaker keeps an absent gateway from being asked by everybody, each waiting for the timeout: after some faults in a row
// calls fail at once, and one at a time looks whether it is back. The zero value is not usable; see NewBreaker.
//
//	closed ── openAfter faults in a row ──▶ open ── restFor ──▶ one call may try
//	   ▲                                     ▲                     │        │
//	   └──────────── it worked ──────────────┼─────────────────────┘        │
//	                                         └──────────── a fault ─────────┘
type Breaker struct {
	now func() time.Time

	mu      sync.Mutex
	faults  int       // in a row
	tryAt   time.Time // while open: when the next call may try
	trying  bool      // somebody looks whether the gateway is back
	refused int64
}

// NewBreaker makes a closed one.
func NewBreaker() *Breaker { return &Breaker{now: time.Now} }

// Allow tells whether a call may be made. Whoever is allowed must say by Done how it went.
func (b *Breaker) Allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.faults < openAfter {
		return true
	}
	if b.trying || b.now().Before(b.tryAt) {
		b.refused++
		return false
	}
	b.trying = true
	return true
}

// Done records the outcome of a call that was allowed. One that was abandoned, because nobody wanted the answer any
// more, says nothing about the gateway; one whose time was over does.
func (b *Breaker) Done(fault, abandoned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch {
	case abandoned:
	case !fault:
		b.faults = 0
	default:
		b.faults++
		if b.faults >= openAfter {
			b.tryAt = b.now().Add(restFor)
		}
	}
}

// Open tells whether calls fail at once now.
func (b *Breaker) Open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults >= openAfter
}

// Refused counts the calls that were not made.
func (b *Breaker) Refused() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}
