package streams

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// groupInfo returns the values of XINFO GROUPS as operators see them.
func (f *fixture) groupInfo() (lag, pending, read any) {
	f.t.Helper()
	reply, err := f.client.Do(f.ctx, "XINFO", "GROUPS", f.inventory.parts[1].keys.orders).Slice()
	f.must(err)
	fields := reply[0].(map[any]any)
	return fields["lag"], fields["pending"], fields["entries-read"]
}

func (f *fixture) wantGroup(lag, pending int64) {
	f.t.Helper()
	if l, p, r := f.groupInfo(); l != lag || p != pending {
		f.t.Fatalf("P7: XINFO has lag %v and pending %v (read %v), want %d and %d", l, p, r, lag, pending)
	}
}

// P7: lag counts undelivered entries and pending counts unsettled ones, exactly.
func TestXinfoCountsLagAndPendingExactly(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(100)
	f.wantGroup(0, 0)
	f.reserveMany(s, 30)
	f.wantGroup(30, 0)
	_, entries := f.delivered("node-1", 10)
	f.wantGroup(20, 10)
	f.settle(entries[:4]...)
	f.wantGroup(20, 6)
	if st := f.stats(); st.Lag != 20 || st.Pending != 6 || st.Length != 30 {
		t.Fatalf("got %+v, want lag 20, pending 6 and length 30", st)
	}
	fixed, err := NewLagFixer(f.inventory).runOnce(f.ctx)
	f.must(err)
	if fixed != 0 {
		t.Fatalf("corrected %d groups, want none", fixed)
	}
}

// P7, P2: after Redis was killed and restarted all entries exist, and LagFixer corrects lag. This also holds after an
// AOF rewrite and with more entries than LagFixer counts one by one.
func TestLagIsCorrectedAfterARestart(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	f := newFixture(t, server.URL)
	s := f.openSale(4000)
	f.reserveMany(s, 100)
	_, entries := f.delivered("node-1", 40)
	f.settle(entries[:15]...)
	fixer := NewLagFixer(f.inventory)
	restart := func() {
		server.Kill()
		server.Start()
		kit.Eventually(t, testTimeout, func() (bool, string) {
			_, err := fixer.runOnce(f.ctx)
			return err == nil, fmt.Sprint(err)
		})
		f.confirm(1)
	}
	restart()
	f.wantGroup(60, 25)
	for i := range 1500 {
		b := buyOf(s, shop.ID(50_000+i), 1, "key-many-2")
		if i%500 == 0 {
			b.Qty = 2
		}
		if d, err := reserveUntilKnown(f.ctx, f.gate(f.inventory), b); err != nil || d.Verdict != shop.VerdictReserved {
			t.Fatalf("%+v, %v, want %v", d, err, shop.VerdictReserved)
		}
	}
	f.wantGroup(1560, 25)
	f.must(f.client.BgRewriteAOF(f.ctx).Err())
	kit.Eventually(t, testTimeout, func() (bool, string) {
		info := f.client.InfoMap(f.ctx, "persistence")
		return info.Item("Persistence", "aof_rewrite_in_progress") == "0" &&
			info.Item("Persistence", "aof_rewrite_scheduled") == "0", fmt.Sprint("AOF rewrite: ", info)
	})
	restart()
	f.wantGroup(1560, 25)
	if a := f.audit(s); a.Tickets != 1600 || a.Done != 15 {
		t.Fatalf("after the restart: got %+v, want 1600 tickets and 15 done", a.Counters)
	}
}

// A count per sale is used to find waiting entries. Entries that an operator removed by hand must not stay in it, and
// entries that still wait must not be missing.
func TestWaitingCountsAreCorrectedAfterRemovalByHand(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		gone, left := f.openSale(100), f.openSale(100)
		f.reserveMany(gone, 6)
		f.reserveMany(left, 5)
		c, entries := f.delivered("node-1", 8) // all entries of the first sale and two of the second are pending
		f.settle(entries[7:8]...)
		keys := f.inventory.parts[1].keys
		for _, e := range entries[:6] {
			if e.Sale != gone.ID {
				t.Fatalf("entry %+v, want %v", e, gone.ID)
			}
			f.must(f.client.XAck(f.ctx, keys.orders, group, e.StreamID).Err())
			f.must(f.client.XDel(f.ctx, keys.orders, e.StreamID).Err())
		}
		wantWaiting := func(waiting string, want map[string]string) {
			t.Helper()
			f.must(f.client.HSet(f.ctx, keys.meta, "waiting", 77).Err())
			_, err := NewLagFixer(f.inventory).runOnce(f.ctx)
			f.must(err)
			got, err := f.client.HGetAll(f.ctx, keys.waiting).Result()
			f.must(err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("waiting of sales (-want +got):\n%s", diff)
			}
			if n, err := f.client.HGet(f.ctx, keys.meta, "waiting").Result(); err != nil || n != waiting {
				t.Fatalf("waiting is %s, %v; want %s", n, err, waiting)
			}
		}
		wantWaiting("4", map[string]string{left.ID.String(): "4"})
		reservations, err := f.queue().Waiting(f.ctx, entries[6].User)
		f.must(err)
		if len(reservations) != 1 || reservations[0].Sale != left.ID {
			t.Fatalf("got the waiting reservations %+v, want one of sale %s", reservations, left.ID)
		}
		// A count that is too low is also wrong: it would hide a reservation.
		f.must(f.client.Del(f.ctx, keys.waiting).Err())
		wantWaiting("4", map[string]string{left.ID.String(): "4"})

		// Without entries, nothing waits.
		rest, err := c.read(f.ctx)
		f.must(err)
		for _, e := range append(rest, entries[6]) {
			f.must(f.client.XAck(f.ctx, keys.orders, group, e.StreamID).Err())
		}
		wantWaiting("0", map[string]string{})
	})
}

// P2: entries that another program removed from a stream before they were settled count as lost, once. Settled entries
// do not.
func TestVanishedEntriesCountAsLost(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	f.reserveMany(f.openSale(100), 10)
	_, entries := f.delivered("node-1", 4)
	f.settle(entries[:3]...)
	wantLost := func(want float64) {
		t.Helper()
		_, err := NewLagFixer(f.inventory).runOnce(f.ctx)
		f.must(err)
		if got := testutil.ToFloat64(f.inventory.metrics.lostReservations); got != want {
			t.Fatalf("%v reservations count as lost, want %v", got, want)
		}
	}
	wantLost(0)
	f.must(f.client.XTrimMaxLen(f.ctx, f.inventory.parts[1].keys.orders, 0).Err())
	wantLost(6) // one entry is pending: its consumer makes it a dead letter
	f.reserveMany(f.openSale(100), 2)
	wantLost(6)
}

// Trimming deletes only entries that are delivered, settled and old, or beyond the length bound. XINFO stays correct
// (P7).
func TestTrimKeepsUnsettledEntries(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(100)
		f.reserveMany(s, 30)
		_, entries := f.delivered("node-1", 20)
		f.settle(entries[:5]...)
		f.settle(entries[6:20]...) // the sixth entry is pending
		certain := true
		trim := func(retention time.Duration, length, want int64) {
			t.Helper()
			trimmer := NewTrimmer(f.inventory, func() bool { return certain })
			trimmer.retention, trimmer.maxLength = retention, length
			got, err := trimmer.runOnce(f.ctx)
			f.must(err)
			if got != want {
				t.Fatalf("trimmed %d, want %d", got, want)
			}
		}
		trim(time.Hour, 1000, 0)  // not old enough
		trim(time.Hour, 28, 2)    // beyond the bound
		trim(-time.Minute, 28, 3) // old: up to the pending entry
		f.settle(entries[5:6]...)
		certain = false
		trim(-time.Minute, 1, 0) // the database may lack entries of the stream
		certain = true
		trim(-time.Minute, 1, 14) // up to the last delivered entry
		if st := f.stats(); st.Length != 11 || st.Pending != 0 || st.Lag != 10 {
			t.Fatalf("got %+v, want length 11, pending 0 and lag 10", st)
		}
		f.must(f.client.Del(f.ctx, f.inventory.parts[0].keys.orders).Err())
		trim(-time.Minute, 1, 0)
	})
}

// A scrape returns the streams' numbers. If Redis is unreachable, it reports that and does not fail.
func TestScrapeSucceedsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{})
	f := newFixture(t, server.URL)
	f.reserveMany(f.openSale(9), 3)
	collector := NewStreamCollector(f.inventory)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector, f.inventory.metrics)
	if _, err := registry.Gather(); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(collector, "stampede_stream_waiting"); n != 2 {
		t.Fatalf("got %d partitions, want 2", n)
	}
	if n := testutil.ToFloat64(f.inventory.metrics.verdict(shop.VerdictReserved)); n != 3 {
		t.Fatalf("got %v reserved buys, want 3", n)
	}
	server.Kill()
	if n := testutil.CollectAndCount(collector); n != 1 {
		t.Fatalf("got %d metrics without Redis, want streams_up alone", n)
	}
}
