package admission

import (
	"math/bits"
	"net/netip"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// pressureWindow is over what time the questions of an address are counted.
	pressureWindow = 10 * time.Second
	// calmAsks is how many passes an address may ask for in that time before its tasks get harder: more than the 200
	// people of an office do. A wide network (Networks) may ask for WideShare times as many.
	calmAsks = 256
	// hardest is how many bits are added at most.
	hardest = 6
	// addressesKept bounds the memory, about 5 MB; beyond it everybody begins anew.
	addressesKept = 65_536
)

// pressure counts, on this node, how often passes are asked for from each of the Networks of an address.
type pressure struct {
	mu        sync.Mutex
	own, wide map[netip.Prefix]*asks
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
	own, wide := shop.Networks(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	more = askOf(&p.own, own, calmAsks, now)
	if wide.IsValid() {
		more = max(more, askOf(&p.wide, wide, calmAsks*shop.WideShare, now))
	}
	return more
}

// askOf counts a question of one network, which may ask for calm of them. Callers hold mu.
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
	// Of the window before, as much counts as still lies within ten seconds.
	left := 1 - float64(now.Sub(a.began))/float64(pressureWindow)
	return min(bits.Len(uint((a.now+int(left*float64(a.before)))/(calm+1))), hardest)
}
