package admission

import (
	"math/bits"
	"net/netip"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// pressureWindow is the time over which the pass requests of an address are counted.
	pressureWindow = 10 * time.Second
	// calmAsks is the maximum number of pass requests per address in that time without harder tasks. An office of 200
	// people sends fewer. The limit of a wide network (Networks) is WideShare times as high.
	calmAsks = 256
	// hardest is the maximum number of added bits.
	hardest = 6
	// addressesKept limits the memory to about 5 MB. Beyond it all counts restart.
	addressesKept = 65_536
)

// pressure counts, on this node, the pass requests from each of the Networks of an address.
type pressure struct {
	mu        sync.Mutex
	own, wide map[netip.Prefix]*asks
}

// asks has the requests of a network in the present window, which started at began, and in the previous window.
type asks struct {
	began       time.Time
	now, before int
}

// ask counts a request and returns the bits to add to the difficulty: 0 up to the limit, then one more for each
// doubling. It returns 0 for the zero address.
func (p *pressure) ask(from netip.Addr, now time.Time) (more int) {
	if !from.IsValid() {
		return 0
	}
	own, wide := shop.Networks(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	more = askOf(&p.own, own, calmAsks, now)
	if wide.IsValid() {
		more = max(more, askOf(&p.wide, wide, calmAsks*shop.WideShare, now))
	}
	return more
}

// askOf counts a request of one network with the limit calm. The caller holds mu.
func askOf(of *map[netip.Prefix]*asks, network netip.Prefix, calm int, now time.Time) (more int) {
	a := (*of)[network]
	if a == nil {
		if *of == nil || len(*of) >= addressesKept {
			*of = make(map[netip.Prefix]*asks)
		}
		a = &asks{began: now}
		(*of)[network] = a
	}
	switch since := now.Sub(a.began); {
	case since >= 2*pressureWindow:
		*a = asks{began: now}
	case since >= pressureWindow:
		*a = asks{began: a.began.Add(pressureWindow), before: a.now}
	}
	a.now++
	// The previous window counts in proportion to its part that lies within the last pressureWindow.
	left := 1 - float64(now.Sub(a.began))/float64(pressureWindow)
	return min(bits.Len(uint((a.now+int(left*float64(a.before)))/(calm+1))), hardest)
}
