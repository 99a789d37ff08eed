package streams

import (
	"context"
	"errors"
	"sync"
	"time"

	"stampede/app"
)

const (
	// maxFaults in a row mean that the receiver is unreachable; fewer are about single messages.
	maxFaults = 3
	// longestPause is the longest pause that a receiver can ask for.
	longestPause = 5 * time.Minute
)

// pace reduces deliveries to a receiver that accepts nothing:
//
//	going ── maxFaults failures, or the receiver asks for a pause ──▶ failing: pause, one delivery, pause, …
//	  ▲                                                                 │
//	  └──────────────── one message was delivered or rejected ──────────┘
type pace struct {
	shortest time.Duration // pause between two attempts to find out whether the receiver is back

	mu     sync.Mutex
	faults int       // in a row
	until  time.Time // the end of the pause
}

// wait waits until the pause is over; false: ctx ended first.
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
	return p.faults >= maxFaults
}

// record records the result of a delivery. Deliveries that were under way at the same time fail together: a pause that
// has begun since covers them.
func (p *pace) record(err error, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil || errors.Is(err, app.ErrRejected) {
		p.faults = 0
		return
	}
	p.faults++
	if p.faults >= maxFaults && began.After(p.until) {
		p.until = time.Now().Add(p.shortest)
	}
}

// pause records that the receiver asked for one, between shortest and longestPause.
func (p *pace) pause(asked time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = max(p.faults, maxFaults)
	if until := time.Now().Add(min(max(asked, p.shortest), longestPause)); until.After(p.until) {
		p.until = until
	}
}
