package payment

import (
	"cmp"
	"math"
	"sync"
	"time"
)

const (
	// askersAtMost is how many questions of a node may be under way: with answers after 100 ms, a thousand a second.
	askersAtMost  = 128
	askersAtFirst = 8
	// awayAfter faults in a row mean that the gateway is away; then there is a pause of awayRest between two looks.
	awayAfter = 3
	awayRest  = time.Second
)

// askWindow is how many questions about trades may be under way. It grows while answers come, so that there are as many
// as the gateway's answer time asks for, and shrinks with faults, so that a gateway in trouble is asked less:
//
//	an answer   + 2 / size      some more each time that all places were used once
//	a fault     − 1 / 10        and a pause for everybody after awayAfter in a row
type askWindow struct {
	mu     sync.Mutex
	most   int     // 0: askersAtMost
	size   float64 // 0: nothing was asked yet
	under  int
	faults int // in a row
	until  time.Time
	freed  chan struct{} // holds one when places may have become free
}

// enter reserves what is free, once it is worth a look into the database: half of all places. 0: wait.
func (w *askWindow) enter(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size = min(cmp.Or(w.size, askersAtFirst), float64(cmp.Or(w.most, askersAtMost)))
	places := int(w.size)
	free := places - w.under
	if now.Before(w.until) || free < 1 || 2*free < places {
		return 0
	}
	w.under += free
	return free
}

// leave gives places back that were not needed.
func (w *askWindow) leave(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under -= n
}

// answered notes that one question is over.
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

// changed tells when places may have become free.
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
