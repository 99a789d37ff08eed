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
	// maxRequestsWithoutAddedBits is the maximum number of pass requests per address and pressureWindow before tasks
	// get harder. An office of 200 people sends fewer. For a wide network (see shop.Networks) it is shop.WideFactor
	// times as high.
	maxRequestsWithoutAddedBits = 256
	// maxAddedBits is the maximum number of added bits.
	maxAddedBits = 6
	// maxCountedNetworks limits the memory to about 5 MB. At this number all counts are reset.
	maxCountedNetworks = 65_536
)

// pressure counts, on this node, the pass requests from each network of an address (see shop.Networks).
type pressure struct {
	mu           sync.Mutex
	narrow, wide map[netip.Prefix]*requestCounts
}

// requestCounts has the requests of a network in the current window, which started at began, and in the
// previous window.
type requestCounts struct {
	began             time.Time
	current, previous int
}

// count counts a request and returns the bits to add to the difficulty: 0 up to the limit, then one bit for each
// doubling of the requests. It returns 0 for the zero address.
func (p *pressure) count(from netip.Addr, now time.Time) (addedBits int) {
	if !from.IsValid() {
		return 0
	}
	narrow, wide := shop.Networks(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	addedBits = countRequest(&p.narrow, narrow, maxRequestsWithoutAddedBits, now)
	if wide.IsValid() {
		addedBits = max(addedBits, countRequest(&p.wide, wide, maxRequestsWithoutAddedBits*shop.WideFactor, now))
	}
	return addedBits
}

// countRequest counts a request of one network; limit is the number of requests without added bits. The caller holds
// mu.
func countRequest(
	counts *map[netip.Prefix]*requestCounts, network netip.Prefix, limit int, now time.Time,
) (addedBits int) {
	c := (*counts)[network]
	if c == nil {
		if *counts == nil || len(*counts) >= maxCountedNetworks {
			*counts = make(map[netip.Prefix]*requestCounts)
		}
		c = &requestCounts{began: now}
		(*counts)[network] = c
	}
	switch since := now.Sub(c.began); {
	case since >= 2*pressureWindow:
		*c = requestCounts{began: now}
	case since >= pressureWindow:
		*c = requestCounts{began: c.began.Add(pressureWindow), previous: c.current}
	}
	c.current++
	// The previous window counts in proportion to its part that lies within the last pressureWindow.
	left := 1 - float64(now.Sub(c.began))/float64(pressureWindow)
	requests := c.current + int(left*float64(c.previous))
	return min(bits.Len(uint(requests/(limit+1))), maxAddedBits)
}
