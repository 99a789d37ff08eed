package streams

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"stampede/app"
)

const (
	attendEvery = time.Second
	// attendFor is how long a worker counts that says nothing any more: a beat may be lost, and one be late.
	attendFor = 3 * time.Second
	// lookInEvery is how long entries wait at most whose partition belongs to a worker that stands still.
	lookInEvery = time.Second
)

// Workers shares the partitions out among the workers of a shop without a leader: each announces itself once a second
// and sorts all names; the n-th of k has the partitions n, n + k, n + 2k … A change takes a second, after a crash four.
//
// It is a hint (I11): a worker waits on its partitions, and the others look in once a second, or when more waits than
// one batch. Errors cost only a moment, because the group gives each entry to one consumer. Entries of a worker that is
// gone are taken over after five seconds (claim.go).
type Workers struct {
	inventory *Inventory
	name      string
	life      time.Duration

	present atomic.Pointer[[]string] // who is there, in order; nil: not known
	heard   time.Time                // of the last answer; belongs to the goroutine in Run
}

// NewWorkers makes a worker known under the name of its consumers, as soon as it runs.
func NewWorkers(l *Inventory, name string) *Workers {
	return &Workers{inventory: l, name: name, life: attendFor}
}

// Run says that the worker is there until ctx ends, and then that it is not any more.
func (w *Workers) Run(ctx context.Context) error {
	_ = app.Repeat(ctx, attendEvery, "share the partitions", w.runOnce)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := w.attend(bye, 0)
	return err
}

// runOnce says it once. What was heard last counts for as long as this worker counts for the others.
func (w *Workers) runOnce(ctx context.Context) error {
	asked := time.Now()
	names, err := w.attend(ctx, w.life)
	switch {
	case err == nil:
		w.present.Store(&names)
		w.heard = asked
	case asked.Sub(w.heard) > w.life:
		w.present.Store(nil)
	}
	return err
}

func (w *Workers) attend(ctx context.Context, life time.Duration) ([]string, error) {
	reply, err := attendScript.run(ctx, w.inventory.client, []string{workersKey}, w.name, life.Milliseconds())
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

// attends reports whether this worker has the partition. One that does not know who is there has them all.
func (w *Workers) attends(partition int) bool {
	names := w.known()
	if len(names) == 0 {
		return true
	}
	at := slices.Index(names, w.name)
	return at < 0 || partition%len(names) == at
}

// gone reports whether a consumer belongs to no worker that is there. Who that is has to be known.
func (w *Workers) gone(consumer string) bool {
	names := w.known()
	return len(names) > 0 && !slices.Contains(names, consumer)
}

// known are those who are there, in order; none where that is not known.
func (w *Workers) known() []string {
	if w == nil {
		return nil
	}
	if names := w.present.Load(); names != nil {
		return *names
	}
	return nil
}

// Attended is how many partitions this worker has.
func (w *Workers) Attended() int {
	n := 0
	for p := range w.inventory.parts {
		if w.attends(p) {
			n++
		}
	}
	return n
}
