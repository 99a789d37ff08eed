package realtime

import (
	"math"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// manyClients returns a set of n clients, each with a running writer, so that a tick is only queued.
func manyClients(n int) (*Hub, *watchSet) {
	hub := NewHub(Options{Shop: (&fakeShop{}).calls()})
	set := &watchSet{sales: []shop.ID{11}}
	for range n {
		set.members = append(set.members, &client{hub: hub, writing: true})
	}
	return hub, set
}

// The allocations of a tick do not grow with the number of watchers.
func TestATickAllocatesNothingPerClient(t *testing.T) {
	perTick := func(clients int) float64 {
		hub, set := manyClients(clients)
		lineTable := newLineTable()
		n := int64(0)
		return testing.AllocsPerRun(100, func() {
			n++
			lineTable.update([]shop.Counters{counters(11, n)})
			set.queueTick(lineTable, shop.Millis(n), hub.metrics)
		})
	}
	if few, many := perTick(1), perTick(2000); many-few > 1 {
		t.Errorf("a tick makes %v allocations for 1 client and %v for 2000, want the same number", few, many)
	}
}

// A shared frame is written without a copy per client. AllocsPerRun counts the allocations of the whole process. So the
// node is idle: it does not read the latest numbers, and its peer never reads. The minimum of five rounds counts,
// because other goroutines only add allocations.
func TestWritingATickAllocatesNothing(t *testing.T) {
	n := startNode(t, func(o *Options) { o.ProbeEvery = time.Hour })
	n.rawHandshake(t, nil)
	var c *client
	kit.Eventually(t, testTimeout, func() (bool, string) {
		if all := n.hub.allClients(); len(all) > 0 {
			c = all[0]
		}
		return c != nil, "waiting for a client"
	})
	tick := newTick(1, [][]byte{[]byte(`{"id":"11"}`)}, nil, n.hub.metrics.encodedTicks)
	allocs := math.Inf(1)
	for range 5 {
		allocs = min(allocs, testing.AllocsPerRun(100, func() {
			if err := c.write(outgoing{tick: tick}); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if allocs > 0 {
		t.Errorf("got %v allocations per client and tick, want none", allocs)
	}
}
