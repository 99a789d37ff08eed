package streams

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

const (
	registerInterval   = time.Second
	registrationLife   = 3 * time.Second // lifetime of a registration: one heartbeat may be lost, and one late
	otherCheckInterval = time.Second     // maximum wait of entries of a stalled worker
)

// Workers shares the partitions among the workers of a shop without a leader. Each registers itself once a second and
// sorts all names; the n-th of k, counted from 0, has the partitions n, n + k, n + 2k … A change takes effect within a
// second, after a crash within four. The list is a hint (I11): a worker waits on its partitions; the others check them
// once a second, or when more than one batch waits. Errors only cost time, because the group gives each entry to one
// consumer. Entries of a dead worker are taken over after five seconds (consumer_claim.go).
type Workers struct {
	inventory *Inventory
	name      string
	life      time.Duration

	registered atomic.Pointer[[]string] // sorted; nil: unknown
	received   time.Time                // time of the last reply; belongs to the goroutine in Run
}

// NewWorkers makes a worker. name is the name of its consumers.
func NewWorkers(l *Inventory, name string) *Workers {
	return &Workers{inventory: l, name: name, life: registrationLife}
}

// Run registers the worker until ctx ends, and then removes it.
func (w *Workers) Run(ctx context.Context) error {
	_ = shop.Repeat(ctx, registerInterval, "share the partitions", w.runOnce)
	leaveCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := w.register(leaveCtx, 0)
	return err
}

// runOnce registers the worker once. The reply is valid for as long as the registration.
func (w *Workers) runOnce(ctx context.Context) error {
	sentAt := time.Now()
	names, err := w.register(ctx, w.life)
	switch {
	case err == nil:
		w.registered.Store(&names)
		w.received = sentAt
	case sentAt.Sub(w.received) > w.life:
		w.registered.Store(nil)
	}
	return err
}

func (w *Workers) register(ctx context.Context, life time.Duration) ([]string, error) {
	reply, err := registerScript.run(ctx, w.inventory.client, []string{workersKey}, w.name, life.Milliseconds())
	if err != nil {
		return nil, err
	}
	names := make([]string, len(reply))
	for i := range reply {
		names[i] = text(reply[i])
	}
	slices.Sort(names)
	return names, nil
}

// owns reports whether this worker has the partition; true for all partitions if the workers are unknown.
func (w *Workers) owns(partition int) bool {
	names := w.known()
	if len(names) == 0 {
		return true
	}
	at := slices.Index(names, w.name)
	return at < 0 || partition%len(names) == at
}

// gone reports whether the consumer belongs to no registered worker; false if the workers are unknown.
func (w *Workers) gone(consumer string) bool {
	names := w.known()
	return len(names) > 0 && !slices.Contains(names, consumer)
}

// known returns the registered workers, sorted; nil if unknown.
func (w *Workers) known() []string {
	if w == nil {
		return nil
	}
	if names := w.registered.Load(); names != nil {
		return *names
	}
	return nil
}

// OwnedPartitions returns how many partitions this worker has.
func (w *Workers) OwnedPartitions() int {
	n := 0
	for p := range w.inventory.parts {
		if w.owns(p) {
			n++
		}
	}
	return n
}
