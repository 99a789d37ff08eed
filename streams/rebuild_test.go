package streams

import (
	"errors"
	"testing"

	"stampede/app"
)

// I8: a rebuild that has lost its lock goes on for a moment beside the next one. What it has read is older: neither
// does it write into what the other one restores, nor does it open the partition. A rebuild that begins after both
// counts anew.
func TestLaterRebuildTakesOver(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.must(f.inventory.Pause(f.ctx, 1))
		stateOf := func(stock int64) app.SaleState {
			return app.SaleState{Sale: s, Stock: stock, Withdrawn: 10 - stock}
		}
		f.must(f.inventory.Restore(f.ctx, testEpoch+1, stateOf(4)))
		f.must(f.inventory.Restore(f.ctx, testEpoch+2, stateOf(5)))
		if err := f.inventory.Restore(f.ctx, testEpoch+1, stateOf(4)); !errors.Is(err, app.ErrStaleEpoch) {
			t.Errorf("an older rebuild restores: %v", err)
		}
		if err := f.inventory.Resume(f.ctx, 1, testEpoch+1, 0); !errors.Is(err, app.ErrStaleEpoch) {
			t.Errorf("an older rebuild opens the partition: %v", err)
		}
		f.must(f.inventory.Resume(f.ctx, 1, testEpoch+2, 0))
		if a := f.audit(s); a.Stock != 5 {
			t.Errorf("stock %d, want what the later one read", a.Stock)
		}
		f.must(f.inventory.Pause(f.ctx, 1)) // of a database that was taken back to an older epoch
		f.must(f.inventory.Restore(f.ctx, testEpoch+1, stateOf(3)))
		f.must(f.inventory.Resume(f.ctx, 1, testEpoch+1, 0))
	})
}
