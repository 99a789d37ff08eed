package streams

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2: entries of a locked sale are postponed in one batch. No failure is counted, and later entries of other sales are
// not delayed.
func TestLockedSaleDelaysNoOtherSale(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		stuck, other := f.openSale(10), f.openSale(10)
		var unlocked atomic.Bool
		var alone atomic.Int64
		handler := newFakeHandler()
		handler.fulfil = func(_ context.Context, entries []shop.Entry) ([]error, error) {
			outcomes := make([]error, len(entries))
			for i, e := range entries {
				if e.Sale == stuck.ID && !unlocked.Load() {
					outcomes[i] = &shop.StuckSale{Sale: e.Sale, Err: context.DeadlineExceeded}
				}
			}
			if len(entries) == 1 {
				alone.Add(1)
			}
			return outcomes, nil
		}
		f.reserveMany(stuck, 5)
		f.reserveMany(other, 5)
		f.run(f.consumer("node-1", handler))
		done := func(s *shop.Sale, want int64) {
			t.Helper()
			kit.Eventually(t, testTimeout, func() (bool, string) {
				got := f.counters(s).Done
				return got == want, fmt.Sprintf("sale %s: %d done, want %d", s.ID, got, want)
			})
		}
		done(other, 5)
		for i := range 3 {
			f.wantVerdict(f.gate(f.inventory), buyOf(other, shop.ID(7000+i), 1, "key-later-1"), shop.VerdictReserved)
			done(other, int64(6+i))
		}
		if got := f.counters(stuck).Done; got != 0 || f.stats().Pending != 5 {
			t.Errorf("the locked sale: got %d done and %+v, want 0 and 5 pending", got, f.stats())
		}
		before := alone.Load()
		unlocked.Store(true)
		done(stuck, 5)
		if n := alone.Load() - before; n != 0 {
			t.Errorf("%d of five entries were tried alone, want 0", n)
		}
		if n, err := f.client.Exists(f.ctx, f.inventory.parts[1].keys.attempts).Result(); err != nil || n != 0 ||
			f.stats().Dead != 0 {
			t.Errorf("got %d attempt keys (%v) and %+v, want none and no dead letter", n, err, f.stats())
		}
	})
}

// P2: entries of a locked sale do not hide the pending entries of dead workers, even if more of them than a batch are
// idle. The search wraps around: it also finds entries before the place where it ended.
func TestLockedEntriesDelayNoClaims(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		stuck, other := f.openSale(100), f.openSale(10)
		handler := newFakeHandler()
		handler.fulfil = func(_ context.Context, entries []shop.Entry) ([]error, error) {
			outcomes := make([]error, len(entries))
			for i, e := range entries {
				if e.Sale == stuck.ID {
					outcomes[i] = &shop.StuckSale{Sale: e.Sale, Err: context.DeadlineExceeded}
				}
			}
			return outcomes, nil
		}
		f.reserveMany(other, 1)
		f.delivered("node-dies-last", 1)
		f.reserveMany(stuck, 25)
		c := f.consumer("node-1", handler)
		c.options.Batch, c.options.ClaimIdle = 10, time.Minute
		for len(c.retries) < 25 {
			f.must(c.runOnce(f.ctx))
		}
		f.reserve(f.gate(f.inventory), buyOf(other, 7000, 1, "key-hidden-1"))
		f.delivered("node-dead", 1)
		f.setIdle(c.name, time.Hour)
		for i, dead := range []string{"node-dead", "node-dies-last"} {
			f.setIdle(dead, time.Hour)
			c.nextClaim = time.Time{}
			f.must(c.claimIdle(f.ctx))
			if got, want := f.counters(other).Done, int64(i+1); got != want {
				t.Fatalf("entries of %s: %d done, want %d", dead, got, want)
			}
		}
	})
}
