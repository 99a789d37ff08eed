package streams

import (
	"errors"
	"testing"

	"stampede/app"
)

// Units leave a portion and come to one once for each number; behind a fence neither happens any more up to its number.
func TestFencePortion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(5)
		move := func(no int64) app.Move {
			return app.Move{Sale: s.ID, No: no, From: s.Ref(), To: s.Ref(), Units: 2, Taken: 2}
		}
		takes := func(no, want int64, wantKnown bool) {
			t.Helper()
			taken, _, known, err := f.inventory.MoveOut(f.ctx, move(no))
			if err != nil || known != wantKnown || taken != want {
				t.Errorf("move %d took %d, known %v, %v; want %d, %v", no, taken, known, err, want, wantKnown)
			}
		}
		fence := func(no int64, want app.PortionCount) {
			t.Helper()
			want.SaleRef, want.Epoch = s.Ref(), f.inventory.Epoch(s.Partition)
			if got, err := f.inventory.FencePortion(f.ctx, s.Ref(), no); err != nil || got != want {
				t.Errorf("fence %d: %+v, %v; want %+v", no, got, err, want)
			}
		}
		takes(7, 2, true)
		takes(7, 2, true)                                        // once
		fence(6, app.PortionCount{Loaded: true, Later: 7})       // a later number is known
		fence(8, app.PortionCount{Loaded: true, Initial: 5 - 2}) // what was on its way is nobody's
		fence(8, app.PortionCount{Loaded: true, Initial: 5 - 2}) // again
		fence(7, app.PortionCount{Loaded: true, Later: 8})
		for _, no := range []int64{7, 8} { // a node that had stopped goes on
			takes(no, 0, false)
			f.must(f.inventory.MoveIn(f.ctx, move(no), testEpoch))
		}
		if a := f.audit(s); a.Stock != 3 || a.Initial != 3 {
			t.Errorf("behind the fence: %+v", a.Counters)
		}
		f.must(f.inventory.MoveIn(f.ctx, move(9), testEpoch))
		takes(10, 2, true)
		if a := f.audit(s); a.Stock != 3 || a.Initial != 3 {
			t.Errorf("after it: %+v", a.Counters)
		}

		absent := app.SaleRef{ID: s.ID + 1, Partition: s.Partition}
		if c, err := f.inventory.FencePortion(f.ctx, absent, 8); err != nil || c.Loaded {
			t.Errorf("a portion that is not here: %+v, %v", c, err)
		}
		if _, err := f.inventory.FencePortion(f.ctx, s.Ref(), 0); !errors.Is(err, app.ErrPermanent) {
			t.Errorf("no number: %v", err)
		}
		f.must(f.inventory.Pause(f.ctx, s.Partition))
		if _, err := f.inventory.FencePortion(f.ctx, s.Ref(), 11); !errors.Is(err, app.ErrTransient) {
			t.Errorf("while the partition is made anew: %v", err)
		}
	})
}
