package streams

import (
	"errors"
	"testing"
	"time"

	"stampede/app/shop"
)

// Terms are ordered by version, not by arrival. Added units are sold, and only once.
func TestTermsAreOrderedByVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(1), f.gate(f.inventory)
		f.wantVerdict(g, buyOf(s, 1, 1, "key-00001"), shop.VerdictReserved)
		later := *s
		later.Version, later.Added, later.Paused, later.Limit = 5, 3, true, 1
		f.must(f.stock().SetTerms(f.ctx, &later))
		earlier := *s
		earlier.Version, earlier.Added = 4, 2
		f.must(f.stock().SetTerms(f.ctx, &earlier)) // a late call
		f.must(f.stock().SetTerms(f.ctx, &later))   // a repeated call
		if a := f.audit(s); a.Stock != 3 || a.Added != 3 || a.Version != 5 || !a.Paused {
			t.Errorf("got %+v, want stock 3, added 3, version 5, paused", a.Counters)
		}
		f.wantVerdict(g, buyOf(s, 2, 1, "key-00002"), shop.VerdictPaused)
		later.Version, later.Paused = 6, false
		f.must(f.stock().SetTerms(f.ctx, &later))
		f.wantVerdict(g, buyOf(s, 2, 2, "key-00003"), shop.VerdictLimit)
		f.wantVerdict(g, buyOf(s, 2, 1, "key-00004"), shop.VerdictReserved) // after the cooldown of an empty stock (I9)
		later.Version, later.ClosesAt = 7, s.OpensAt.Add(time.Second)
		f.must(f.stock().SetTerms(f.ctx, &later))
		f.wantVerdict(g, buyOf(s, 3, 1, "key-00005"), shop.VerdictClosed)
		f.wantVerdict(g, buyOf(s, 2, 1, "key-00004"), shop.VerdictRepeated) // I9
		later.Version, later.Added = 8, 2
		if err := f.stock().SetTerms(f.ctx, &later); !errors.Is(err, shop.ErrPermanent) {
			t.Errorf("fewer added: %v, want ErrPermanent", err)
		}
		f.audit(s)
	})
}

// A withdrawal takes free units once. A withdrawal that a recovery has restored as settled takes no more.
func TestWithdrawUnitsTakesFreeUnitsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(5), f.gate(f.inventory)
		f.wantVerdict(g, buyOf(s, 1, 2, "key-00001"), shop.VerdictReserved)
		wantTaken := func(operation, units, want int64) {
			t.Helper()
			taken, epoch, err := f.stock().WithdrawUnits(f.ctx, s.Ref(), operation, units)
			if err != nil || taken != want || epoch != f.inventory.Epoch(1) {
				t.Errorf("withdrawal %d took %d under epoch %d, %v; want %d", operation, taken, epoch, err, want)
			}
		}
		wantTaken(11, 2, 2)
		wantTaken(11, 2, 2) // a repeated call
		wantTaken(12, 9, 1) // the remaining free units
		wantTaken(13, 1, 0)
		if a := f.audit(s); a.Stock != 0 || a.Withdrawn != 3 || a.WithdrawnUnits[11] != 2 ||
			a.WithdrawnUnits[12] != 1 || len(a.WithdrawnUnits) != 3 {
			t.Errorf("%+v, want stock 0, withdrawn 3, and 3 withdrawals: 11 with 2 units, 12 with 1 unit", a)
		}
		if _, _, err := f.stock().WithdrawUnits(f.ctx, s.Ref(), 14, 0); !errors.Is(err, shop.ErrPermanent) {
			t.Errorf("no units: %v, want ErrPermanent", err)
		}
		f.close(testEpoch+1, true)
		if _, _, err := f.stock().WithdrawUnits(f.ctx, s.Ref(), 15, 1); !errors.Is(err, shop.ErrTransient) {
			t.Errorf("while the partition is closed: got %v, want ErrTransient", err)
		}
		f.must(f.recovery().Restore(f.ctx, testEpoch+1, shop.SaleState{
			Sale: s, Stock: 3, Withdrawn: 2, Withdrawals: []shop.StockWithdrawal{{
				ID: 11, Taken: 2,
				State: shop.StockDone,
			}},
		}))
		f.open(testEpoch+1, 1, true)
		wantTaken(11, 2, 2)
		wantTaken(12, 1, 1)
		if a := f.audit(s); a.Stock != 2 || a.Withdrawn != 3 {
			t.Errorf("%+v, want stock 2 and withdrawn 3", a)
		}
		for _, err := range []error{
			f.stock().SetTerms(f.ctx, &shop.Sale{ID: newID(), Partition: 1}),
			func() error {
				_, _, err := f.stock().WithdrawUnits(f.ctx, shop.SaleRef{ID: newID(), Partition: 1}, 1, 1)
				return err
			}(),
		} {
			if !errors.Is(err, shop.ErrLost) {
				t.Errorf("an absent sale: got %v, want ErrLost", err)
			}
		}
	})
}
