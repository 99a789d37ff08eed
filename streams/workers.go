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
	registrationLife   = 3 * time.Second // one lost and one late registration are tolerated
	otherCheckInterval = time.Second     // maximum wait of entries of a stalled worker
)

// Workers is one worker and its list of all workers of the shop. It assigns the partitions to the workers, without a
// leader. Each worker registers itself once a second and sorts all names. The n-th of k workers, counted from 0, owns
// the partitions n, n + k, n + 2k … A change takes effect within one second, or within four seconds after a crash. The
// list is a hint (I11): a worker waits on its partitions, and the other workers check them once a second, or when more
// than one batch waits. A wrong list only causes delay, because the group gives each entry to one consumer. Entries of
// a dead worker are taken over after five seconds (consumer_claim.go).
type Workers struct {
	conn *connection
	name string
	life time.Duration

	registered atomic.Pointer[[]string] // sorted; nil: unknown
	lastSentAt time.Time                // when the last successful registration was sent; used only in Run
}

// NewWorkers makes the worker whose consumers have the given name.
func NewWorkers(i *Inventory, name string) *Workers {
	return &Workers{conn: i.connection, name: name, life: registrationLife}
}

// Run registers the worker until ctx ends, and then removes it.
func (w *Workers) Run(ctx context.Context) error {
	_ = shop.Repeat(ctx, registerInterval, "share the partitions", w.runOnce)
	leaveCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := w.register(leaveCtx, 0)
	return err
}

// runOnce registers the worker once and stores the list in the reply. The list is valid as long as the registration.
func (w *Workers) runOnce(ctx context.Context) error {
	sentAt := time.Now()
	names, err := w.register(ctx, w.life)
	switch {
	case err == nil:
		w.registered.Store(&names)
		w.lastSentAt = sentAt
	case sentAt.Sub(w.lastSentAt) > w.life:
		w.registered.Store(nil)
	}
	return err
}

func (w *Workers) register(ctx context.Context, life time.Duration) ([]string, error) {
	reply, err := registerScript.run(ctx, w.conn.client, []string{workersKey}, w.name, life.Milliseconds())
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

// owns reports whether this worker owns the partition. Without a list of workers, it owns all partitions.
func (w *Workers) owns(partition int) bool {
	names := w.registeredNames()
	if len(names) == 0 {
		return true
	}
	at := slices.Index(names, w.name)
	return at < 0 || partition%len(names) == at
}

// isUnregistered reports whether the consumer belongs to no registered worker; false without a list of workers.
func (w *Workers) isUnregistered(consumer string) bool {
	names := w.registeredNames()
	return len(names) > 0 && !slices.Contains(names, consumer)
}

// registeredNames returns the names of the registered workers, sorted; nil without a list of workers.
func (w *Workers) registeredNames() []string {
	if w == nil {
		return nil
	}
	if names := w.registered.Load(); names != nil {
		return *names
	}
	return nil
}

// OwnedPartitions returns how many partitions this worker owns.
func (w *Workers) OwnedPartitions() int {
	n := 0
	for p := range w.conn.parts {
		if w.owns(p) {
			n++
		}
	}
	return n
}
