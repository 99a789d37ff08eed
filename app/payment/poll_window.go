package payment

import (
	"cmp"
	"math"
	"sync"
	"time"
)

const (
	// maxQueries is the maximum number of running queries per node: with replies after 100 ms, a thousand per second.
	maxQueries    = 128
	askersAtFirst = 8
	// After awayAfter consecutive faults the gateway counts as unavailable, and claims pause for awayRest.
	awayAfter = 3
	awayRest  = time.Second
)

// askWindow limits the number of running trade queries. It grows with each result, up to the number that the latency of
// the gateway needs. It shrinks with faults, so that an overloaded gateway gets fewer queries:
//
//	a result    + 2 / size      2 places each time that all places were used once
//	a fault     − 1 / 10        and a pause of all queries after awayAfter consecutive faults
type askWindow struct {
	mu     sync.Mutex
	most   int     // 0: maxQueries
	size   float64 // 0: no query yet
	under  int
	faults int // consecutive
	until  time.Time
	freed  chan struct{} // buffered; signals that places may be free
}

// enter reserves the free places if they are at least half of all, which makes a database read worthwhile. 0: wait.
func (w *askWindow) enter(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size = min(cmp.Or(w.size, askersAtFirst), float64(cmp.Or(w.most, maxQueries)))
	places := int(w.size)
	free := places - w.under
	if now.Before(w.until) || free < 1 || 2*free < places {
		return 0
	}
	w.under += free
	return free
}

// leave releases unused places.
func (w *askWindow) leave(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under -= n
}

// answered records the end of one query.
func (w *askWindow) answered(fault bool, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under--
	w.signal()
	if !fault {
		w.faults = 0
		w.size += 2 / w.size
		return
	}
	w.faults++
	w.size = math.Max(1, w.size*0.9)
	if w.faults >= awayAfter {
		w.until = now.Add(awayRest)
	}
}

// changed returns a channel that signals when places may be free.
func (w *askWindow) changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepare()
	return w.freed
}

func (w *askWindow) signal() {
	w.prepare()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

func (w *askWindow) prepare() {
	if w.freed == nil {
		w.freed = make(chan struct{}, 1)
	}
}
