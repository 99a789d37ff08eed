package realtime

import (
	"context"
	"sync"
	"time"

	"stampede/app"
)

// opContext is the context of one op, and what its reply needs of the request. It ends at a deadline, but only who
// listens makes it set a clock: most ops, and a buy is one of them, ask at most when it would end, and a timer for each
// would cost as much as decoding its frame.
type opContext struct {
	of    *client
	until time.Time
	id    int64 // of the request
	op    string

	mu    sync.Mutex
	clock context.Context // nil while nobody listens
	stop  context.CancelFunc
}

// newOpContext makes the context of a client's request that ends at the latest at the instant given. Release it.
func newOpContext(of *client, until time.Time, r *request) *opContext {
	return &opContext{of: of, until: until, id: r.id, op: r.op}
}

// Value answers what its lines of the log are about, and nothing else.
func (w *opContext) Value(key any) any {
	if w.of == nil || !app.IsLogIDs(key) {
		return nil
	}
	return []any{"op", w.op, "request", w.id, "session", w.of.session}
}

func (w *opContext) Deadline() (time.Time, bool) { return w.until, true }

func (w *opContext) Done() <-chan struct{} { return w.ticking().Done() }

// Err asks the clock too, so that nobody finds the context ended whom Done has not told.
func (w *opContext) Err() error { return w.ticking().Err() }

func (w *opContext) ticking() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clock == nil {
		w.clock, w.stop = context.WithDeadline(context.Background(), w.until)
	}
	return w.clock
}

// release ends the context. Nobody may ask it for the first time after that.
func (w *opContext) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
}
