package money

import (
	"context"
	"fmt"
	"sync"

	"stampede/app/shop"
	"stampede/streams"
)

// errDied is the error of all calls of a dead process.
var errDied = fmt.Errorf("%w: this process is dead", shop.ErrTransient)

// dyingProcess is a process that dies after its n-th call of a store or the gateway. That call has its effect, but its
// result is lost. Later calls have no effect.
type dyingProcess struct {
	mu        sync.Mutex
	callsLeft int
	died      bool
}

func (d *dyingProcess) dead() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.died
}

// countCall counts a completed call and reports whether the process is still alive.
func (d *dyingProcess) countCall() bool {
	if d == nil {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.callsLeft--
	d.died = d.died || d.callsLeft == 0
	return !d.died
}

// fault wraps each call of this process.
func (d *dyingProcess) fault(_ context.Context, _ string, call func() error) error {
	if d.dead() {
		return errDied
	}
	err := call()
	if !d.countCall() {
		return errDied
	}
	return err
}

// recordedQueue is a queue that also passes the events of Finish to the buyers.
type recordedQueue struct {
	streams.Queue
	buyers *buyers
}

func (q recordedQueue) Finish(
	ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry,
) error {
	if err := q.Queue.Finish(ctx, partition, asOf, rows, entries); err != nil {
		return err
	}
	return q.buyers.Publish(ctx, partition, asOf, rows)
}
