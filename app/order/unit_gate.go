package order

import (
	"context"
	"sync"
	"time"
)

// publishDelay is the maximum time that publishing a batch waits for the units of other batches.
const publishDelay = 300 * time.Millisecond

// unitGate delays order events until units are returned. When thousands of orders expire together, events and returns
// need the same CPUs, and the units must be back within a second (P5). The zero value is ready.
type unitGate struct {
	mu   sync.Mutex
	open int           // batches whose units are not returned yet
	idle chan struct{} // closed when the field open becomes 0; nil: no call of wait
}

// begin registers a batch. The caller calls end after the units are returned or their return has failed.
func (u *unitGate) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open++
}

func (u *unitGate) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open--; u.open == 0 && u.idle != nil {
		close(u.idle)
		u.idle = nil
	}
}

// wait returns when no batch is running, after publishDelay, or when ctx ends.
func (u *unitGate) wait(ctx context.Context) {
	u.mu.Lock()
	if u.open == 0 {
		u.mu.Unlock()
		return
	}
	if u.idle == nil {
		u.idle = make(chan struct{})
	}
	idle := u.idle
	u.mu.Unlock()
	timer := time.NewTimer(publishDelay)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}
