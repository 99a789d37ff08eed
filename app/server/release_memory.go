package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"stampede/app"
)

// pace is how much garbage there may be per 100 bytes that live before the next collection, unless GOGC says otherwise:
// twice Go's 100. A node with thousands of sockets has much that lives and little that dies; a buy then costs a tenth
// less of it.
const pace = 200

const (
	lookAtMemory = time.Second
	calmFor      = 10 * time.Second // no collection is due for this long
	worthwhile   = 16 << 20         // bytes
)

// releaseMemory gives memory to the system that a crowd left behind when it came in, and what has gathered since,
// whenever the node is calm. The collector alone keeps twice as much garbage as there is alive, which is right while
// buyers press: collecting earlier would cost them processor time. So its pace is slow, and only in between it is told
// to clear up.
func releaseMemory(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(pace))
	}
	for before := readHeap(); app.Sleep(ctx, lookAtMemory); {
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
