package app

import (
	"math/bits"
	"net/netip"
	"sync"
	"time"
)

const (
	// pressureWindow is over what time the questions of an address are counted.
	pressureWindow = 10 * time.Second
	// calmAsks is how many passes an address may ask for in that time before its tasks get harder: more than the 200
	// people of an office do.
	calmAsks = 256
	// hardest is how many bits are added at most.
	hardest = 6
	// addressesKept bounds the memory, about 5 MB; beyond it everybody begins anew.
	addressesKept = 65_536
)

// pressure counts, on this node, how often passes are asked for from each address (CustomerAddr).
type pressure struct {
	mu sync.Mutex
	of map[netip.Addr]*asks
}

// asks are those of an address in the window that began at an instant, and in the one before it.
type asks struct {
	began       time.Time
	now, before int
}

// ask counts a question and answers how many bits harder it gets: none for whoever asks calmly, then one more each time
// that the questions double. Nothing is known of the zero address.
func (p *pressure) ask(from netip.Addr, now time.Time) (more int) {
	if !from.IsValid() {
		return 0
	}
	from = CustomerAddr(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of[from]
	if a == nil {
		if p.of == nil || len(p.of) >= addressesKept {
			p.of = make(map[netip.Addr]*asks)
		}
		a = &asks{began: now}
		p.of[from] = a
	}
	switch since := now.Sub(a.began); {
	case since >= 2*pressureWindow:
		*a = asks{began: now}
	case since >= pressureWindow:
		*a = asks{began: a.began.Add(pressureWindow), before: a.now}
	}
	a.now++
	// Of the window before, as much counts as still lies within ten seconds.
	left := 1 - float64(now.Sub(a.began))/float64(pressureWindow)
	return min(bits.Len(uint((a.now+int(left*float64(a.before)))/(calmAsks+1))), hardest)
}
