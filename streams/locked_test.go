package streams

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"stampede/app"
	"stampede/app/test/kit"
)

// P2: entries whose sale is locked are put off in one piece, count as nobody's failure, and hold nobody up who comes
// after them.
func TestLockedEntriesWaitWhileOthersGoOn(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		stuck, other := f.openSale(10), f.openSale(10)
		var unlocked atomic.Bool
		var alone atomic.Int64
		box := newDesk()
		box.fulfil = func(_ context.Context, entries []app.Entry) ([]error, error) {
			fates := make([]error, len(entries))
			for i, e := range entries {
				if e.Sale == stuck.ID && !unlocked.Load() {
					fates[i] = &app.StuckSale{Sale: e.Sale, Err: context.DeadlineExceeded}
				}
			}
			if len(entries) == 1 {
				alone.Add(1)
			}
			return fates, nil
		}
		f.reserveMany(stuck, 5)
		f.reserveMany(other, 5)
		f.run(f.consumer("node-1", box))
		done := func(s *app.Sale, want int64) {
			t.Helper()
			kit.Eventually(t, patience, func() (bool, string) {
				got := f.counters(s).Done
				return got == want, fmt.Sprintf("sale %s: %d done, want %d", s.ID, got, want)
			})
		}
		done(other, 5)
		for i := range 3 {
			f.wantVerdict(f.gate(f.inventory), buyOf(other, app.ID(7000+i), 1, "key-later-1"), app.VerdictReserved)
			done(other, int64(6+i))
		}
		if got := f.counters(stuck).Done; got != 0 || f.stats().Pending != 5 {
			t.Errorf("the locked sale: %d done, %+v", got, f.stats())
		}
		before := alone.Load()
		unlocked.Store(true)
		done(stuck, 5)
		if n := alone.Load() - before; n != 0 {
			t.Errorf("%d of five were tried alone", n)
		}
		if n, err := f.client.Exists(f.ctx, f.inventory.parts[1].keys.attempts).Result(); err != nil || n != 0 ||
			f.stats().Dead != 0 {
			t.Errorf("counted: attempts %d (%v), %+v", n, err, f.stats())
		}
	})
}
