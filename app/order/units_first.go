package order

import (
	"context"
	"sync"
	"time"
)

// tellingWaits is how long the telling of a batch waits at most for the units of others.
const tellingWaits = 300 * time.Millisecond

// unitsFirst delays events while units are on their way back: at a deadline of thousands of orders both need the same
// processors, and the units are promised within a second (P5). The zero value is ready.
type unitsFirst struct {
	mu    sync.Mutex
	under int           // batches whose units are not back yet
	calm  chan struct{} // closed when there is none; nil: nobody waits
}

// begin says that a batch is under way; whoever calls it calls end when the units are back, or will not come now.
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

// wait returns when no batch is under way, at the latest after tellingWaits or when ctx ends.
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
	timer := time.NewTimer(tellingWaits)
	defer timer.Stop()
	select {
	case <-calm:
	case <-timer.C:
	case <-ctx.Done():
	}
}
