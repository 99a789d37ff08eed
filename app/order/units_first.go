package order

import (
	"context"
	"sync"
	"time"
)

// publishDelay is the maximum time that publishing a batch waits for the units of other batches.
const publishDelay = 300 * time.Millisecond

// unitsFirst delays events until units are returned. After a deadline of thousands of orders both need the same CPUs,
// and the units must be back within a second (P5). The zero value is ready.
type unitsFirst struct {
	mu    sync.Mutex
	under int           // batches whose units are not returned yet
	calm  chan struct{} // closed when under becomes 0; nil: no waiter
}

// begin registers a batch. The caller calls end after the units are returned or their return has failed.
func (u *unitsFirst) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.under++
}

func (u *unitsFirst) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.under--; u.under == 0 && u.calm != nil {
		close(u.calm)
		u.calm = nil
	}
}

// wait returns when no batch is running, after publishDelay, or when ctx ends.
func (u *unitsFirst) wait(ctx context.Context) {
	u.mu.Lock()
	if u.under == 0 {
		u.mu.Unlock()
		return
	}
	if u.calm == nil {
		u.calm = make(chan struct{})
	}
	calm := u.calm
	u.mu.Unlock()
	timer := time.NewTimer(publishDelay)
	defer timer.Stop()
	select {
	case <-calm:
	case <-timer.C:
	case <-ctx.Done():
	}
}
