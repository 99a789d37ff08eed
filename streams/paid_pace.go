package streams

import (
	"context"
	"sync"
	"time"

	"stampede/app"
)

const (
	// faultsInARow without a delivery that was answered in between are taken for a receiver that is away: fewer are
	// about one posting.
	faultsInARow = 3
	// shortestPause is between two looks whether the receiver is back, longestPause the most that it can ask for.
	shortestPause, longestPause = time.Second, 5 * time.Minute
)

// pace is how a queue of deliveries treats a receiver that takes nothing:
//
//	going ── faultsInARow faults, or the receiver asks for a pause ──▶ failing: pause, one delivery, pause, …
//	  ▲                                                                  │
//	  └──────────────────── one was taken, or refused ───────────────────┘
type pace struct {
	shortest time.Duration // shortestPause

	mu     sync.Mutex
	faults int       // in a row
	until  time.Time // nothing is delivered before
}

// wait waits until the pause is over; false when ctx ended first.
func (p *pace) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		p.mu.Lock()
		left := time.Until(p.until)
		p.mu.Unlock()
		if left <= 0 {
			return true
		}
		app.Sleep(ctx, left)
	}
	return false
}

func (p *pace) failing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults >= faultsInARow
}

// answered: the receiver has taken or refused a posting.
func (p *pace) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = 0
}

// failed: a delivery that began then came to nothing. Those that were under way together fail together; a pause
// that has begun meanwhile covers them.
func (p *pace) failed(began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults++
	if p.faults >= faultsInARow && began.After(p.until) {
		p.until = time.Now().Add(p.shortest)
	}
}

// pause: the receiver asked for one.
func (p *pace) pause(asked time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = max(p.faults, faultsInARow)
	if until := time.Now().Add(min(max(asked, p.shortest), longestPause)); until.After(p.until) {
		p.until = until
	}
}

// turns keep the postings of one order from overtaking each other: each joins behind the one that came before it.
type turns struct {
	mu   sync.Mutex
	last map[app.ID]chan struct{} // closed when the last one in line has left
}

// turn is a place in line: mine is closed when it has come.
type turn struct {
	mine  <-chan struct{}
	leave func()
}

func (t *turns) join(order app.ID) turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = make(map[app.ID]chan struct{})
	}
	before, left := t.last[order], make(chan struct{})
	if before == nil {
		before = make(chan struct{})
		close(before)
	}
	t.last[order] = left
	return turn{mine: before, leave: func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.last[order] == left {
			delete(t.last, order)
		}
		close(left)
	}}
}
