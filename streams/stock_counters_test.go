package streams

import (
	"errors"
	"testing"

	"stampede/app/shop"
)

// P1, I3: counters are set to the sums of the holds once, and only if no hold has changed since they were read.
func TestCorrectNeedsAnUnchangedMark(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(4), f.gate(f.inventory)
		var last shop.Buy
		for i := range 3 {
			last = buyOf(s, shop.ID(100+i), 1, "key-12345")
			f.wantVerdict(g, last, shop.VerdictReserved)
		}
		key := f.inventory.parts[1].keys.sale(s.ID)
		f.must(f.client.HSet(f.ctx, key, "done", 3).Err()) // all tickets have rows
		f.must(f.client.HSet(f.ctx, key, "stock", 0, "held", 4).Err())
		mark := f.mark(s)
		right := shop.Correction{At: mark, Held: 3, Stock: 1}
		correct := func(c shop.Correction, want bool) {
			t.Helper()
			if did, err := f.stock().Correct(f.ctx, s.Ref(), c); err != nil || did != want {
				t.Fatalf("got corrected %v, want %v, %v", did, want, err)
			}
		}
		for what, invalid := range map[string]shop.Correction{
			"a wrong sum": {At: mark, Held: 3}, "a negative stock": {At: mark, Held: 5, Stock: -1},
		} {
			if _, err := f.stock().Correct(f.ctx, s.Ref(), invalid); !errors.Is(err, shop.ErrPermanent) {
				t.Errorf("%s: got %v, want ErrPermanent", what, err)
			}
		}

		hold := shop.SoldHold{Sale: s.Ref(), Order: last.Order, Hold: 1}
		for what, move := range map[string]func() error{
			"a sale": func() error {
				_, err := f.stock().Sell(f.ctx, []shop.SoldHold{hold})
				return err
			},
			"a reservation under way": func() error { return f.client.HIncrBy(f.ctx, key, "tickets", 1).Err() },
		} {
			before := f.mark(s)
			f.must(move())
			if f.mark(s) == before {
				t.Errorf("%s does not change the mark", what)
			}
			correct(shop.Correction{At: before, Held: 3, Stock: 1}, false)
		}
		f.must(f.client.HSet(f.ctx, key, "tickets", 3).Err())
		correct(right, false) // the hold was sold since
		right = shop.Correction{At: f.mark(s), Held: 2, Sold: 1, Stock: 1}
		correct(right, true)
		correct(right, false)
		if a := f.audit(s); a.Held != 2 || a.Sold != 1 || a.Stock != 1 {
			t.Errorf("got %+v, want held 2, sold 1 and stock 1", a.Counters)
		}
		if rest := f.client.HGet(f.ctx, key, "rest_until").Val(); rest == "0" {
			t.Error("I9: units that return to an empty stock have no cooldown")
		}
		stale := right
		stale.At.Epoch--
		if _, err := f.stock().Correct(f.ctx, s.Ref(), stale); !errors.Is(err, shop.ErrStaleEpoch) {
			t.Errorf("another epoch: got %v, want ErrStaleEpoch", err)
		}
		if did, err := f.stock().Correct(f.ctx, shop.SaleRef{ID: 1, Partition: 1}, right); did ||
			!errors.Is(err, shop.ErrLost) {
			t.Errorf("an absent sale: got %v, %v, want ErrLost", did, err)
		}
	})
}

// Every change of a hold changes the mark, even if the sums stay the same.
func TestEveryHoldChangeChangesTheMark(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10, func(s *shop.Sale) { s.Limit = 9 }), f.gate(f.inventory)
		a, b := buyOf(s, 1, 1, "key-00001"), buyOf(s, 1, 1, "key-00002")
		hold := func(no int64) error {
			_, err := f.stock().Hold(
				f.ctx, shop.HoldRequest{Sale: s.Ref(), Order: a.Order, User: 1, Hold: no, Qty: 1},
			)
			return err
		}
		for _, step := range []struct {
			what string
			do   func() error
		}{
			{"reserve", func() error { f.wantVerdict(g, a, shop.VerdictReserved); return nil }},
			{"reserve again", func() error { f.wantVerdict(g, b, shop.VerdictReserved); return nil }},
			{"take over", func() error { return hold(2) }},
			{"return", func() error {
				_, err := f.stock().Return(f.ctx, []shop.Return{{Sale: s.Ref(), Order: a.Order, Hold: 2, User: 1}})
				return err
			}},
			{"hold", func() error { return hold(3) }},
			{"sell", func() error {
				_, err := f.stock().Sell(f.ctx, []shop.SoldHold{{Sale: s.Ref(), Order: a.Order, Hold: 3}})
				return err
			}},
			{"withdraw", func() error {
				_, err := f.stock().Withdraw(f.ctx, []shop.SoldHold{{Sale: s.Ref(), Order: a.Order, Hold: 3}})
				return err
			}},
		} {
			before := f.mark(s)
			f.must(step.do())
			after := f.mark(s)
			if after.Tickets == before.Tickets && after.HoldChanges == before.HoldChanges {
				t.Errorf("%s: got the same ticket %d and move %d, want a changed mark", step.what, after.Tickets, after.HoldChanges)
			}
		}
	})
}

func (f *fixture) mark(s *shop.Sale) shop.HoldsMark {
	f.t.Helper()
	mark, err := f.stock().HoldsMark(f.ctx, s.Ref())
	f.must(err)
	return mark
}
