package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"stampede/app/shop"
)

// gcPercent is the GC percentage unless GOGC is set: twice Go's default of 100. A node with thousands of sockets has
// much live memory and little garbage. The slower pace makes a buy 10 % cheaper.
const gcPercent = 200

const (
	memoryInterval = time.Second
	idlePeriod     = 10 * time.Second // a node is idle if its next collection is not due within this time
	minGain        = 16 << 20         // minimum size of memory worth a collection, in bytes
)

// releaseMemory returns memory to the operating system while the node is idle. Under load it does nothing, because more
// collections would cost processor time.
func releaseMemory(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	for before := readHeap(); shop.Sleep(ctx, memoryInterval); {
		now := readHeap()
		if now.idleSince(before, memoryInterval) && now.worthReleasing() {
			debug.FreeOSMemory()
			now = readHeap()
		}
		before = now
	}
	return ctx.Err()
}

// heap is a sample of the runtime's memory figures, in bytes.
type heap struct {
	allocated float64 // total since the start
	objects   float64 // live objects and dead objects that are not collected yet
	live      float64 // live objects at the last collection
	free      float64 // unused and not returned to the system
	stacks    float64
	goal      float64 // size of objects at which the next collection starts
}

func readHeap() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/gc/heap/goal:bytes"},
	}
	metrics.Read(samples)
	read := func(i int) float64 { return float64(samples[i].Value.Uint64()) }
	return heap{allocated: read(0), objects: read(1), live: read(2), free: read(3), stacks: read(4), goal: read(5)}
}

// idleSince reports whether no collection is due within idlePeriod, at the allocation rate since the sample `before`.
func (h heap) idleSince(before heap, passed time.Duration) bool {
	perSecond := (h.allocated - before.allocated) / passed.Seconds()
	return h.goal-h.objects > perSecond*idlePeriod.Seconds()
}

// worthReleasing reports whether a collection returns more than minGain, and more than an eighth of the live memory.
func (h heap) worthReleasing() bool {
	gain := h.objects - h.live + h.free
	return gain > minGain && gain > (h.live+h.stacks)/8
}
