package realtime

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

func counters(sale shop.ID, stock int64) shop.Counters {
	return shop.Counters{Sale: sale, Loaded: true, Stock: stock, Held: 1, Sold: 2, Done: 3, Rate: 1.26, Watching: 4}
}

// watcher connects a client that sends a watch op.
func (n *node) watcher(t *testing.T, watch string) *peer {
	t.Helper()
	p := n.connect(t, 0)
	p.mustCall(watch, nil)
	return p
}

// sendThreeTicks sends three ticks, so that newcomers have received the whole set and later ticks carry only changes.
func (n *node) sendThreeTicks(watched ...shop.Counters) {
	for range 3 {
		n.hub.Tick(1, watched)
	}
}

// Each tick is encoded once per watch set, for any number of clients.
func TestOneFrameIsEncodedPerWatchSetAndTick(t *testing.T) {
	t.Parallel()
	const clients = 1000
	n := startNode(t)
	peers := make([]*peer, clients)
	for i := range peers {
		peers[i] = n.watcher(t, fmt.Sprintf(`"op":"watch","slot":"%d"`, 1+i%2))
	}
	n.sendThreeTicks(counters(11, 50), counters(21, 60))
	for _, p := range peers {
		p.awaitEvents("tick", 1)
	}
	kit.Eventually(t, testTimeout, func() (bool, string) { return n.allWritten(), "waiting for the first ticks" })
	before := testutil.ToFloat64(n.hub.metrics.encodedTicks)
	for stock := range int64(10) {
		n.hub.Tick(shop.Millis(stock), []shop.Counters{counters(11, stock), counters(21, stock)})
		// The slowest of a thousand readers may skip a tick; that would cost an extra frame with the whole set.
		kit.Eventually(t, testTimeout, func() (bool, string) { return n.allWritten(), "waiting for ticks" })
	}
	if encoded := testutil.ToFloat64(n.hub.metrics.encodedTicks) - before; encoded != 20 {
		t.Errorf("got %v encoded frames for 10 ticks of 2 watch sets with %d clients, want one per set and tick", encoded, clients)
	}
	for _, p := range peers {
		p.awaitTick("last tick", func(lines map[shop.ID]wsclient.TickLine) bool {
			for _, line := range lines {
				if line.Stock == 9 {
					return true
				}
			}
			return false
		})
	}
}

// allWritten reports whether no tick is queued.
func (n *node) allWritten() bool {
	for _, c := range n.hub.allClients() {
		c.mu.Lock()
		idle := !c.writing
		c.mu.Unlock()
		if !idle {
			return false
		}
	}
	return true
}

func TestNoTickIsSentWithoutChanges(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.watcher(t, `"op":"watch"`)
	n.sendThreeTicks(counters(11, 5))
	p.awaitEvents("tick", 1)
	p.waitHandled()
	before, encoded := len(p.all("tick")), testutil.ToFloat64(n.hub.metrics.encodedTicks)
	for range 20 {
		n.hub.Tick(2, []shop.Counters{counters(11, 5), counters(12, 0), {Sale: 13}}[:1])
	}
	p.waitHandled()
	if after := len(p.all("tick")); after != before || testutil.ToFloat64(n.hub.metrics.encodedTicks) != encoded {
		t.Errorf("got %d ticks without changes, want none", after-before)
	}
}

func TestTickContainsOnlyChangedWatchedSales(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.watcher(t, `"op":"watch"`)
	n.sendThreeTicks(counters(11, 5), counters(12, 6), counters(77, 1))
	p.awaitEvents("tick", 1)
	p.waitHandled()
	before := len(p.all("tick"))
	n.hub.Tick(2, []shop.Counters{counters(11, 4), counters(12, 6), counters(77, 0)})
	got := lines(p.awaitEvents("tick", before+1)[before])
	want := map[shop.ID]wsclient.TickLine{11: {ID: 11, Stock: 4, Held: 1, Sold: 2, Done: 3, Rate: 1.3, Watching: 4}}
	wantSame(t, "tick", want, got)
}

// A snapshot may be older than the line table. The second tick after it contains the whole set, even without changes.
func TestNewWatcherGetsTheWholeSetOnce(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.watcher(t, `"op":"watch"`)
	n.sendThreeTicks(counters(11, 5), counters(12, 6))
	late := n.watcher(t, `"op":"watch"`)
	n.sendThreeTicks(counters(11, 5), counters(12, 6))
	if got := lines(late.awaitEvents("tick", 1)[0]); len(got) != 2 {
		t.Errorf("the new watcher got the lines %v, want both sales", got)
	}
	late.waitHandled()
	if n := len(late.all("tick")); n != 1 {
		t.Errorf("the new watcher got %d ticks, want 1", n)
	}
}

// A newer tick replaces a queued one, and the client then receives the whole watch set.
func TestClientThatSkippedATickGetsTheWholeSet(t *testing.T) {
	t.Parallel()
	c := &client{hub: NewHub(Options{Shop: (&fakeShop{}).calls()}), writing: true} // a writer is running
	b := newLineTable()
	set := &watchSet{sales: []shop.ID{11, 12}, members: []*client{c}}
	for stock := range int64(3) {
		b.update([]shop.Counters{counters(11, stock), counters(12, 9)})
		set.queueTick(b, shop.Millis(stock), c.hub.metrics)
	}
	p, ok := c.out.next()
	if !ok || p.tick == nil || !p.whole || p.tick.now != 2 {
		t.Fatalf("got %+v, want the newest tick as the whole set", p)
	}
	if _, more := c.out.next(); more {
		t.Error("an older tick is still queued")
	}
	b.update([]shop.Counters{counters(11, 99), counters(12, 9)})
	set.queueTick(b, 3, c.hub.metrics)
	if p, _ = c.out.next(); p.whole {
		t.Error("a client without skipped ticks got the whole set")
	}
}

func TestUnwatchRemovesSalesFromTheWatchedList(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.watcher(t, `"op":"watch","sales":["5","6"]`)
	wantSame(t, "watched", []shop.ID{5, 6}, n.hub.Watched())
	p.mustCall(`"op":"unwatch","sales":["5"]`, nil)
	wantSame(t, "watched", map[shop.ID]int64{6: 1}, n.hub.WatchedBy())
	p.mustCall(`"op":"unwatch"`, nil)
	if got := n.hub.Watched(); len(got) != 0 {
		t.Errorf("got the watched sales %v, want none", got)
	}
}

func TestWatchersOfTheSameSalesShareASet(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.MaxSets = 1 })
	n.watcher(t, `"op":"watch","sales":["5","6"]`)
	n.watcher(t, `"op":"watch","sales":["6","5","5"]`)
	p := n.connect(t, 0)
	// The number of sets is limited; above the limit, watch returns Busy.
	if e := p.wantError(`"op":"watch","sales":["7"]`, shop.Busy); e.RetryMS == 0 {
		t.Fatalf("got the error %+v, want it with retry_ms", e)
	}
	p.mustCall(`"op":"watch","sales":["5","6"]`, nil)
	wantSame(t, "watched", map[shop.ID]int64{5: 3, 6: 3}, n.hub.WatchedBy())
	// A whole slot is never rejected: without a place for a combined set, it replaces the other subjects.
	p.mustCall(`"op":"watch","slot":"1"`, nil)
	wantSame(t, "watched", map[shop.ID]int64{5: 2, 6: 2, 11: 1, 12: 1}, n.hub.WatchedBy())
	p.wantError(`"op":"watch","slot":"1","sales":["7"]`, shop.Busy)
}

// TestNoAddressTakesAllWatchSets repeats the attack of the review of 2026-11: many anonymous clients of one address
// each watch another subset of sales, or another pair of slots.
func TestNoAddressTakesAllWatchSets(t *testing.T) {
	t.Parallel()
	h := NewHub(Options{Shop: (&fakeShop{}).calls()})
	at := func(addr string, user shop.ID) *client {
		return &client{hub: h, addr: netip.MustParseAddr(addr), gone: true, identity: shop.Identity{User: user}}
	}
	admitted := func(addr string, user shop.ID, first int) (in []*client) {
		for n := range 1000 {
			c := at(addr, user)
			id := shop.ID(first + n)
			w := watching{slots: []shop.ID{id, id + 1}}
			if n%2 == 0 {
				w = watching{sales: []shop.ID{id, id + 1}}
			}
			if h.join(c, w, nil) == nil {
				in = append(in, c)
			}
		}
		return in
	}
	attackers := admitted("127.0.0.66", 0, 1000)
	if len(attackers) != maxSetsPerAddr {
		t.Errorf("one address has %d sets, want %d", len(attackers), maxSetsPerAddr)
	}
	if n := len(admitted("127.0.0.1", 7, 3000)); n != maxSetsPerUser {
		t.Errorf("one user has %d sets, want %d", n, maxSetsPerUser)
	}
	if n := len(admitted("127.0.0.2", 0, 5000)); n != maxSetsPerAddr {
		t.Errorf("another address has %d sets, want %d", n, maxSetsPerAddr)
	}
	for slot := range shop.ID(100) {
		if busy := h.join(at("127.0.0.66", 0), watching{slots: []shop.ID{slot + 1}}, nil); busy != nil {
			t.Fatalf("got the error %v for a whole slot, want it admitted", busy)
		}
	}
	// A place passes to a remaining member and is released when the last member leaves.
	successor := at("127.0.0.3", 8)
	if busy := h.join(successor, watching{sales: []shop.ID{1000, 1001}}, nil); busy != nil {
		t.Fatal(busy)
	}
	for _, c := range attackers {
		h.unwatch(c)
	}
	if n := len(admitted("127.0.0.66", 0, 7000)); n != maxSetsPerAddr {
		t.Errorf("after the attackers left, their address has %d places, want %d", n, maxSetsPerAddr)
	}
	if n := len(admitted("127.0.0.3", 8, 9000)); n != maxSetsPerUser-1 {
		t.Errorf("a user has %d places in addition to the shared one, want %d", n, maxSetsPerUser-1)
	}
	for _, set := range h.allSets() {
		for _, c := range slices.Clone(set.members) {
			h.unwatch(c)
		}
	}
	if len(h.sets) > 0 {
		t.Errorf("got %d sets without members, want 0", len(h.sets))
	}
	if n := len(admitted("127.0.0.4", 9, 1000)); n != maxSetsPerUser {
		t.Errorf("a user has %d places, want %d", n, maxSetsPerUser)
	}
}

func TestWatchedSlotsAreLimited(t *testing.T) {
	t.Parallel()
	p := startNode(t).connect(t, 0)
	for slot := range maxWatchedSlots {
		p.mustCall(fmt.Sprintf(`"op":"watch","slot":"%d"`, slot+1), nil)
	}
	p.wantError(`"op":"watch","slot":"9"`, shop.RateLimited)
	p.mustCall(`"op":"unwatch","slot":"1"`, nil)
	p.mustCall(`"op":"watch","slot":"9"`, nil)
}

func TestMetricsAreRegistered(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	n := startNode(t, func(o *Options) { o.Metrics = registry })
	n.watcher(t, `"op":"watch"`)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		if g := f.GetMetric()[0].GetGauge(); g != nil {
			values[f.GetName()] = g.GetValue()
		}
	}
	want := map[string]float64{"stampede_live_clients": 1, "stampede_live_users": 0, "stampede_live_watch_sets": 1}
	wantSame(t, "gauges", want, values)
}
