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
	idlePeriod     = 10 * time.Second // calm: the next collection is at least this far away
	minGain        = 16 << 20         // minimum gain, bytes
)

// releaseResources returns memory to the operating system while the node is idle. Under load the collector keeps its
// slow pace, because earlier collections would cost processor time.
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
	objects   float64 // live or not yet collected
	live      float64 // live at the last collection
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

// idleSince reports whether, at the allocation rate since before, no collection is due within idlePeriod.
func (h heap) idleSince(before heap, passed time.Duration) bool {
	perSecond := (h.allocated - before.allocated) / passed.Seconds()
	return h.goal-h.objects > perSecond*idlePeriod.Seconds()
}

// worthReleasing reports whether a collection returns more than worthwhile and an eighth of the remaining memory.
func (h heap) worthReleasing() bool {
	gain := h.objects - h.live + h.free
	return gain > minGain && gain > (h.live+h.stacks)/8
}
