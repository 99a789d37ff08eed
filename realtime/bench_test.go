package realtime

import (
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// What a node does most often, in nanoseconds and allocations: a frame is read per op, a tick is encoded per watch set,
// and offered per client.

func BenchmarkDecode(b *testing.B) {
	for name, frame := range map[string]string{
		"time": `{"id":3,"op":"time","t0":151234}`,
		"buy":  `{"id":6,"op":"buy","sale":"7301444403200000101","qty":1,"key":"k-3f9c1d2e"}`,
		"buy to an address": `{"id":6,"op":"buy","sale":"7301444403200000101","qty":2,"key":"k-3f9c1d2e",` +
			`"address":{"name":"李雷","phone":"13800000000","text":"北京市海淀区中关村大街 1 号"}}`,
	} {
		text := []byte(frame)
		b.Run(name, func(b *testing.B) {
			var r request
			b.ReportAllocs()
			for b.Loop() {
				if err := r.decode(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeReply(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		encode(reply{6, app.Receipt{Order: 7301444480512000257, Ticket: 79, Place: 12, State: app.Reserved}})
	}
}

// BenchmarkEncodeTick encodes a tick of eight sales of which two have changed, once for all who watch them.
func BenchmarkEncodeTick(b *testing.B) {
	board := newBoard()
	metrics := NewHub(Options{Shop: &fakeShop{}}).metrics
	ids := []app.ID{11, 12, 13, 14, 15, 16, 17, 18}
	all := make([]app.Counters, len(ids))
	for i, id := range ids {
		all[i] = counters(id, 100)
	}
	board.update(all)
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n++ {
		all[0].Stock, all[5].Stock = n, n
		board.update(all)
		newTick(app.Millis(n), board.changedOf(ids), board.allOf(ids), metrics.encodedTicks)
	}
}

// manyClients are members of one set, each with a writer at work, so that a tick is only offered.
func manyClients(n int) (*Hub, *watchSet) {
	hub := NewHub(Options{Shop: &fakeShop{}})
	set := &watchSet{sales: []app.ID{11}}
	for range n {
		set.members = append(set.members, &client{hub: hub, writing: true})
	}
	return hub, set
}

// BenchmarkOfferTick offers one tick to a thousand clients.
func BenchmarkOfferTick(b *testing.B) {
	hub, set := manyClients(1000)
	board := newBoard()
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		board.update([]app.Counters{counters(11, n)})
		set.beat(board, app.Millis(n), hub.metrics)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/client")
}

// TestATickAllocatesNothingPerClient: what a tick of a watch set allocates does not grow with how many watch.
func TestATickAllocatesNothingPerClient(t *testing.T) {
	perTick := func(clients int) float64 {
		hub, set := manyClients(clients)
		board := newBoard()
		n := int64(0)
		return testing.AllocsPerRun(100, func() {
			n++
			board.update([]app.Counters{counters(11, n)})
			set.beat(board, app.Millis(n), hub.metrics)
		})
	}
	if few, many := perTick(1), perTick(2000); many-few > 1 {
		t.Errorf("a tick allocates %v times for one client and %v times for two thousand", few, many)
	}
}

// TestWritingATickAllocatesNothing: a shared frame goes out without a copy per client. Allocations are counted for the
// whole process, so nobody else may be at work: the peer never reads, and the node looks for nothing.
func TestWritingATickAllocatesNothing(t *testing.T) {
	n := startNode(t, func(o *Options) { o.LookEvery = time.Hour })
	n.rawHandshake(t, nil)
	var c *client
	kit.Eventually(t, patience, func() (bool, string) {
		for _, c = range n.hub.everybody() {
		}
		return c != nil, "the node has no client"
	})
	tick := newTick(1, [][]byte{[]byte(`{"id":"11"}`)}, nil, n.hub.metrics.encodedTicks)
	allocs := testing.AllocsPerRun(100, func() {
		if err := c.write(outgoing{tick: tick}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations per client and tick", allocs)
	}
}
