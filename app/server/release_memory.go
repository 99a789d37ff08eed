package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"stampede/app/shop"
)

// pace is the GC percentage unless GOGC is set: twice Go's 100. A node with thousands of sockets has much live memory
// and little garbage; the slower pace makes a buy a tenth cheaper.
const pace = 200

const (
	lookAtMemory = time.Second
	calmFor      = 10 * time.Second // no collection is due for this long
	worthwhile   = 16 << 20         // bytes
)

// releaseMemory returns memory to the system while the node is calm. While buyers press, the collector runs at a slow
// pace, because an earlier collection would cost them processor time.
func releaseMemory(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(pace))
	}
	for before := readHeap(); shop.Sleep(ctx, lookAtMemory); {
		now := readHeap()
		if now.calmSince(before, lookAtMemory) && now.worthClearing() {
			debug.FreeOSMemory()
			now = readHeap()
		}
		before = now
	}
	return ctx.Err()
}

// heap is what the runtime tells of its memory, bytes.
type heap struct {
	allocated float64 // ever
	objects   float64 // that are alive, or not known to be dead yet
	alive     float64 // of them at the last collection
	free      float64 // neither used nor given back
	stacks    float64
	goal      float64 // of objects; there the next collection begins
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
	return heap{allocated: read(0), objects: read(1), alive: read(2), free: read(3), stacks: read(4), goal: read(5)}
}

// calmSince reports whether so little was allocated since the time before that no collection is near.
func (h heap) calmSince(before heap, passed time.Duration) bool {
	perSecond := (h.allocated - before.allocated) / passed.Seconds()
	return h.goal-h.objects > perSecond*calmFor.Seconds()
}

// worthClearing reports whether clearing up gives back a good part of what would stay.
func (h heap) worthClearing() bool {
	gain := h.objects - h.alive + h.free
	return gain > worthwhile && gain > (h.alive+h.stacks)/8
}
