package payment

import (
	"cmp"
	"math"
	"sync"
	"time"
)

const (
	// maxQueries is the maximum number of running queries per node. If the gateway replies after 100 ms, these are
	// about a thousand queries per second.
	maxQueries     = 128
	initialQueries = 8
	// After faultsToPause consecutive faults the gateway counts as unavailable, and claims pause for faultPause.
	faultsToPause = 3
	faultPause    = time.Second
)

// queryWindow limits the number of running trade queries. It grows with each result, up to the number that the latency
// of the gateway needs. It shrinks with faults, so that an overloaded gateway gets fewer queries:
//
//	a result    + 2 / size      2 places each time that all places were used once
//	a fault     − 1 / 10        and a pause of all queries after faultsToPause consecutive faults
type queryWindow struct {
	mu          sync.Mutex
	limit       int     // 0: maxQueries
	size        float64 // 0: no query yet
	running     int
	faults      int // consecutive
	pausedUntil time.Time
	freed       chan struct{} // buffered; signals that places may be free
}

// enter reserves all free places and returns their number. It returns 0 while fewer than half of the places are free,
// so that a database read is worthwhile, and during a pause.
func (w *queryWindow) enter(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size = min(cmp.Or(w.size, initialQueries), float64(cmp.Or(w.limit, maxQueries)))
	places := int(w.size)
	free := places - w.running
	if now.Before(w.pausedUntil) || free < 1 || 2*free < places {
		return 0
	}
	w.running += free
	return free
}

// leave releases n reserved places that no query uses.
func (w *queryWindow) leave(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running -= n
}

// finished records the end of one query.
func (w *queryWindow) finished(fault bool, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.signal()
	if !fault {
		w.faults = 0
		w.size += 2 / w.size
		return
	}
	w.faults++
	w.size = math.Max(1, w.size*0.9)
	if w.faults >= faultsToPause {
		w.pausedUntil = now.Add(faultPause)
	}
}

// changed returns a channel that signals when places may be free.
func (w *queryWindow) changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ensureChannel()
	return w.freed
}

func (w *queryWindow) signal() {
	w.ensureChannel()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

func (w *queryWindow) ensureChannel() {
	if w.freed == nil {
		w.freed = make(chan struct{}, 1)
	}
}
