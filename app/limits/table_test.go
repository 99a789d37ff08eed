package limits

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"stampede/app/shop"
)

// tableWithClock returns a table, and a function that advances its clock.
func tableWithClock[K comparable](p Pace) (*Table[K], func(d time.Duration)) {
	t := NewTable[K](p)
	now := int64(0)
	t.now = func() int64 { return now }
	return t, func(d time.Duration) { now += int64(d) }
}

func TestTableRefills(t *testing.T) {
	t.Parallel()
	table, advance := tableWithClock[string](Pace{2, time.Second, 2})
	for i, want := range []time.Duration{0, 0, 500 * time.Millisecond, 500 * time.Millisecond} {
		if wait := table.Take("a"); wait != want {
			t.Errorf("token %d: wait %v, want %v", i+1, wait, want)
		}
	}
	if wait := table.Take("b"); wait != 0 {
		t.Errorf("another key waits %v, want 0", wait)
	}
	advance(600 * time.Millisecond)
	if wait := table.Take("a"); wait != 0 || table.Wait("a") == 0 {
		t.Errorf("after the refill: got waits %v and %v, want 0 and more", wait, table.Wait("a"))
	}
}

// The burst and the rate after it are independent. A rejected call takes no token.
func TestPaceAllowsABurst(t *testing.T) {
	t.Parallel()
	table, advance := tableWithClock[int](Pace{Rate: 60, Period: time.Minute, Burst: 300})
	for i := range 300 {
		if wait := table.Take(1); wait != 0 {
			t.Fatalf("token %d waits %v, want 0", i+1, wait)
		}
	}
	for range 1000 {
		if wait := table.Take(1); wait != time.Second {
			t.Fatalf("after the burst: got wait %v, want 1 s", wait)
		}
	}
	advance(time.Second)
	if wait := table.Take(1); wait != 0 {
		t.Errorf("after the pause: got wait %v, want 0", wait)
	}
	advance(time.Hour)
	for i := range 300 {
		if wait := table.Take(1); wait != 0 {
			t.Fatalf("token %d of the next burst waits %v, want 0", i+1, wait)
		}
	}
	if wait := table.Take(1); wait != time.Second {
		t.Errorf("after the next burst: got wait %v, want 1 s", wait)
	}
}

// A flood of keys does not increase the number of buckets beyond maxBuckets.
func TestTableMemoryIsBounded(t *testing.T) {
	t.Parallel()
	table := NewTable[int](Pace{1, time.Hour, 1})
	for i := range 5 * maxBuckets {
		table.Take(i)
	}
	kept := 0
	for i := range table.shard {
		kept += len(table.shard[i].buckets)
	}
	if kept > maxBuckets {
		t.Errorf("got %d buckets, want at most %d", kept, maxBuckets)
	}
}

func TestZeroLimitAcceptsAllRequests(t *testing.T) {
	t.Parallel()
	table, buys := NewTable[int](Pace{}), newBuckets(Limits{})
	buys.setNodes(4)
	for range 1000 {
		if table.Take(1) > 0 || buys.take(7, office) != nil || table.Wait(1) > 0 {
			t.Fatal("a request was limited although no limit is set")
		}
	}
	table.GiveBack(1)
}

// The pace of a whole shop is divided among its nodes, but never to 0.
func TestSharedDividesAPace(t *testing.T) {
	t.Parallel()
	p := Pace{Rate: 1000, Period: time.Second, Burst: 10}
	if got := p.Shared(4); got != (Pace{1000, 4 * time.Second, 2}) {
		t.Errorf("got %+v for a quarter, want 1000 per 4 s with burst 2", got)
	}
	if got := p.Shared(100); got.Burst != 1 {
		t.Errorf("got %+v for a hundredth, want burst 1", got)
	}
	if p.Shared(1) != p || p.Shared(0) != p || (Pace{}).Shared(4) != (Pace{}) {
		t.Error("Shared changed the pace for one node, no node or no limit")
	}
}

var (
	office = netip.MustParseAddr("192.0.2.1")
	home   = netip.MustParseAddr("192.0.2.2")
)

// wantLimited checks that the error is rate_limited with the given wait.
func wantLimited(t *testing.T, err error, want time.Duration) {
	t.Helper()
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != shop.RateLimited || e.RetryMS != want.Milliseconds() {
		t.Errorf("got %+v, want rate_limited for %v", e, want)
	}
}

func bucketsWithClock(p Limits) (*buckets, func(d time.Duration)) {
	b, now := newBuckets(p), int64(0)
	b.now = func() int64 { return now }
	return b, func(d time.Duration) { now += int64(d) }
}

// A flood from one user takes no tokens of other users at the same address. A flood from one address takes no tokens of
// the shop. A call rejected by a wide limit keeps the caller's own token.
func TestFloodTakesNoTokensOfOthers(t *testing.T) {
	t.Parallel()
	b, advance := bucketsWithClock(Limits{
		User: Pace{1, time.Second, 1}, Addr: Pace{10, time.Second, 4}, All: Pace{1000, time.Second, 6},
	})
	take := func(user shop.ID, addr netip.Addr) error { return b.take(user, addr) }
	if err := take(7, office); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		wantLimited(t, take(7, office), time.Second)
	}
	for user := shop.ID(11); user <= 13; user++ {
		if err := take(user, office); err != nil {
			t.Errorf("user %d at the same address: got %v, want no error", user, err)
		}
	}
	for range 1000 {
		wantLimited(t, take(14, office), 100*time.Millisecond)
	}
	for user := shop.ID(21); user <= 22; user++ {
		if err := take(user, home); err != nil {
			t.Errorf("user %d at another address: got %v, want no error", user, err)
		}
	}
	for range 1000 {
		wantLimited(t, take(23, home), time.Millisecond)
	}
	advance(100 * time.Millisecond)
	for user, addr := range map[shop.ID]netip.Addr{14: office, 23: home} {
		if err := take(user, addr); err != nil {
			t.Errorf("user %d lost tokens because of rejected calls: got %v, want no error", user, err)
		}
	}
}

// A shop's pace is divided among its serving nodes.
func TestShopPaceIsDividedAmongNodes(t *testing.T) {
	t.Parallel()
	b, _ := bucketsWithClock(Limits{
		User: Pace{1, time.Hour, 1}, Addr: Pace{1, time.Hour, 1e6}, All: Pace{1000, time.Second, 100},
	})
	b.setNodes(4)
	admitted := 0
	for user := shop.ID(1); user <= 100; user++ {
		if b.take(user, office) == nil {
			admitted++
		}
	}
	if admitted != 25 {
		t.Errorf("one of four nodes accepted %d of 100 requests at once, want 25", admitted)
	}
}

// The limits of a buy allocate nothing, for any address. The test does not run in parallel, because it counts all
// allocations.
func TestBuyLimitsAllocateNothing(t *testing.T) {
	b := newBuckets(Limits{
		User: Pace{1e9, time.Second, 1e6}, Addr: Pace{1e9, time.Second, 1e6}, All: Pace{1e9, time.Second, 1e6},
	})
	for _, addr := range []netip.Addr{office, netip.MustParseAddr("2001:db8::1")} {
		if allocs := testing.AllocsPerRun(1000, func() { _ = b.take(7, addr) }); allocs > 0 {
			t.Errorf("%v allocations per buy from %v, want none", allocs, addr)
		}
	}
}

func BenchmarkBuyLimits(b *testing.B) {
	buys := newBuckets(Limits{
		User: Pace{1e9, time.Second, 1e6}, Addr: Pace{1e9, time.Second, 1e6}, All: Pace{1e9, time.Second, 1e6},
	})
	b.ReportAllocs()
	user := shop.ID(0)
	for b.Loop() {
		user++
		_ = buys.take(user%10_000, office)
	}
}
