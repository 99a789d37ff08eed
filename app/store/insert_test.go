package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/store"
)

// I1: all fields are read as they were written.
func TestInsertWritesAllFields(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		plain, bare := h.order(h.sales[0], 2), h.order(h.sales[0], 1)
		bare.Address = nil
		plain.ProductName = `'); DROP TABLE orders; -- \' ? ?? \\ " ` + "`🫖"
		got := h.insert(plain, bare)
		for i, want := range []shop.Order{plain, bare} {
			want.Rev, want.PublishedRev = 1, 1
			if !got[i].Fresh {
				t.Errorf("order %d is not fresh", i)
			}
			if diff := cmp.Diff(want, got[i].Order, ignoreTouched); diff != "" {
				t.Errorf("result %d (-want +got):\n%s", i, diff)
			}
			if diff := cmp.Diff(want, h.read(want.ID)); diff != "" {
				t.Errorf("row %d (-want +got):\n%s", i, diff)
			}
		}
		h.wantTaken(h.sales[0], 3)
	}, 10)
}

// I1, I5: a redelivered batch changes nothing.
func TestRepeatedInsertChangesNothing(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.orders(50, h.sales[0], 1)
		first := h.insert(rows...)
		fresh := h.order(h.sales[0], 1)
		second := h.insert(append(slices.Clone(rows), fresh)...)
		for i := range first {
			if second[i].Fresh {
				t.Errorf("row %d was written twice", i)
			}
			if diff := cmp.Diff(first[i].Order, second[i].Order, ignoreTouched); diff != "" {
				t.Errorf("row %d changed (-first +second):\n%s", i, diff)
			}
		}
		if !second[50].Fresh {
			t.Error("the new row among the old ones was not written")
		}
		h.wantTaken(h.sales[0], 51)
	}, 100)
}

// I1, I5: the same entries in two concurrent consumers are written once.
func TestConcurrentInsertsWriteOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		for range 2 {
			rows := h.orders(100, h.sales[0], 1)
			before := h.totals(h.sales[0]).Taken
			results := make([][]shop.Inserted, 4)
			var g errgroup.Group
			for i := range results {
				g.Go(func() (err error) {
					mine := slices.Clone(rows[i*10:]) // overlapping, not equal
					if i%2 == 1 {
						slices.Reverse(mine)
					}
					results[i], err = h.Insert(h.ctx, h.epoch, mine)
					return err
				})
			}
			h.must(g.Wait())
			writers := make(map[shop.ID]int)
			for _, result := range results {
				for _, in := range result {
					if in.Fresh {
						writers[in.Order.ID]++
					}
				}
			}
			for _, o := range rows {
				if writers[o.ID] != 1 {
					t.Fatalf("order %s was written by %d consumers", o.ID, writers[o.ID])
				}
			}
			h.wantTaken(h.sales[0], before+100)
		}
	}, 1000)
}

// P2: consumers that write to several sales in opposite order lose no row to deadlocks.
func TestInsertsInOppositeOrderLoseNoRow(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		var g errgroup.Group
		g.SetLimit(4)
		for i := range 20 {
			g.Go(func() error {
				var rows []shop.Order
				for _, sale := range h.sales {
					rows = append(rows, h.orders(5, sale, 1)...)
				}
				if i%2 == 1 {
					slices.Reverse(rows)
				}
				_, err := h.Insert(h.ctx, h.epoch, rows)
				return err
			})
		}
		h.must(g.Wait())
		for _, sale := range h.sales {
			h.wantTaken(sale, 100)
		}
	}, 1000, 1000, 1000)
}

// P1, I2: the guard admits exactly the available units, in the order of tickets. The remaining rows are refused.
func TestGuardRefusesOnlyTheOverflow(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.orders(5, h.sales[0], 2)
		other := h.order(h.sales[1], 1)
		got := h.insert(append(slices.Clone(rows), other)...)
		for i, in := range got {
			want := shop.Pending
			if i == 3 || i == 4 { // 3 × 2 units fit into 7
				want = shop.Refused
			}
			if !in.Fresh || in.Order.State != want {
				t.Errorf("order %d: got fresh %v and state %s, want a fresh order with state %s",
					i, in.Fresh, in.Order.State, want)
			}
			if diff := cmp.Diff(in.Order, h.read(in.Order.ID), ignoreTouched); diff != "" {
				t.Errorf("row %d (-result +row):\n%s", i, diff)
			}
		}
		if got[4].Order.Reason != shop.ReasonGuard {
			t.Errorf("got reason %q, want %v", got[4].Order.Reason, shop.ReasonGuard)
		}
		h.wantTaken(h.sales[0], 6)
		h.wantTaken(h.sales[1], 1)
		if one := h.insert(h.order(h.sales[0], 1))[0]; one.Order.State != shop.Pending {
			t.Errorf("an order for the last unit: got state %s, want pending", one.Order.State)
		}
		if again := h.insert(rows[4])[0]; again.Fresh || again.Order.State != shop.Refused {
			t.Errorf("a repeat of a refused order: got state %s, want refused", again.Order.State)
		}
	}, 7, 100)
}

// P2, I2: a refusal is final, so a recovery refuses no order. Without units it writes nothing and names the sale. The
// rows that it writes count as unpublished, and their payments are watched.
func TestRecoveryRefusesNoOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10, 3)
		const unknown = 999
		watch := &shop.PaymentWatch{Now: 5000, Margin: time.Second}
		for name, c := range map[string]struct {
			sale   shop.ID
			reason string
		}{"too few units": {h.sales[1], shop.ReasonGuard}, "no such sale": {unknown, shop.ReasonNoSale}} {
			rows := append(h.orders(2, h.sales[0], 1), h.orders(4, c.sale, 1)...)
			_, err := h.InsertLost(h.ctx, h.epoch, rows, watch)
			var stuck *shop.StuckSale
			if !errors.As(err, &stuck) || stuck.Sale != c.sale || !errors.Is(err, shop.ErrStockShort) {
				t.Errorf("%s: got error %v, want StuckSale of sale %s", name, err, c.sale)
			}
			if written, err := h.OrdersByID(h.ctx, ids(rows)); err != nil || len(written) != 0 {
				t.Errorf("%s: got %d written rows (%v), want 0", name, len(written), err)
			}
			for range 2 { // a repeat returns the existing rows
				got := val(h.InsertLost(h.ctx, h.epoch, rows[:2], watch))(h.t)
				if o := got[0].Order; o.State != shop.Pending || o.PublishedRev != 0 {
					t.Errorf("%s: the lost order is %s, published up to rev %d", name, o.State, o.PublishedRev)
				}
			}
			if row := val(h.Order(h.ctx, rows[0].ID))(h.t); row.TradeOpened != 0 {
				t.Errorf("%s: the lost order has an opened payment", name)
			}
			got := val(h.Insert(h.ctx, h.epoch, rows))(h.t)
			if last := got[5].Order; last.State != shop.Refused || last.Reason != c.reason {
				t.Errorf("%s: Insert returned an order with state %s and reason %q", name, last.State, last.Reason)
			}
		}
		h.wantTaken(h.sales[0], 4)
		h.wantTaken(h.sales[1], 3)
		if trades := val(h.ClaimTrades(h.ctx, 5001, 9000, 10))(h.t); len(trades) != 4 {
			t.Errorf("got %d watched trades, want 4", len(trades))
		}
		s.History().Trust(val(s.History().Read(h.ctx))(t).Server, 3)
		ended := h.orders(1, h.sales[0], 1)
		ended[0].State = shop.Cancelled
		if o := val(h.InsertLost(h.ctx, h.epoch, ended, nil))(t)[0].Order; o.Rev != 3<<18+1 {
			t.Errorf("an order that had ended: got rev %d, want 3<<18+1, because its pending state had rev 1", o.Rev)
		}
	})
}

// P1: many concurrent consumers never take more units than available.
func TestGuardHoldsUnderConcurrency(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		var g errgroup.Group
		for range 8 {
			g.Go(func() error {
				_, err := h.Insert(h.ctx, h.epoch, h.orders(25, h.sales[0], 1))
				return err
			})
		}
		h.must(g.Wait())
		h.wantTaken(h.sales[0], 100)
		if n := h.totals(h.sales[0]).Orders; n != 200 {
			t.Errorf("got %d rows, want one for each order", n)
		}
	}, 100)
}

// P4: one key of a buyer is one order. The second order becomes a refused row without the key.
func TestUsedKeyBecomesARefusedRow(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10, 10)
		first := h.order(h.sales[0], 1)
		h.insert(first)
		second, third, elsewhere := h.order(h.sales[0], 1), h.order(h.sales[0], 1), h.order(h.sales[1], 1)
		second.User, second.Key = first.User, first.Key
		third.Key, third.User = "a-new-key", second.User
		fourth := h.order(h.sales[0], 1)
		fourth.User, fourth.Key = third.User, third.Key // twice within one batch
		elsewhere.User, elsewhere.Key = first.User, first.Key
		got := h.insert(second, third, fourth, elsewhere)
		want := []shop.OrderState{shop.Refused, shop.Pending, shop.Refused, shop.Pending}
		for i, in := range got {
			if in.Order.State != want[i] {
				t.Errorf("order %d: got state %s, want %s", i, in.Order.State, want[i])
			}
			if refused := in.Order.State == shop.Refused; refused &&
				(in.Order.Reason != shop.ReasonKey || in.Order.Key != "") {
				t.Errorf("order %d: got reason %q and key %q", i, in.Order.Reason, in.Order.Key)
			}
		}
		h.wantTaken(h.sales[0], 2)
		h.wantTaken(h.sales[1], 1)
	})
}

// I8: a transaction with another epoch writes nothing.
func TestStaleEpochWritesNothing(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.order(h.sales[0], 1)
		for _, epoch := range []int64{0, 2} {
			if _, err := h.Insert(h.ctx, epoch, []shop.Order{o}); !errors.Is(err, shop.ErrStaleEpoch) {
				t.Errorf("epoch %d: got error %v, want ErrStaleEpoch", epoch, err)
			}
		}
		wantErr(t, "a row was written", errOf(h.Order(h.ctx, o.ID)), shop.ErrNoRow)
		h.wantTaken(h.sales[0], 0)
	}, 10)
}

// P2: a value that does not fit is a permanent error, and no row of the batch is written, so that the batch can be
// halved.
func TestTooLongValueWritesNothing(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		for name, invalidate := range map[string]func(*shop.Order){
			"key too long":    func(o *shop.Order) { o.Key = strings.Repeat("k", 65) },
			"hash too long":   func(o *shop.Order) { o.ContentHash = strings.Repeat("h", 65) },
			"state too long":  func(o *shop.Order) { o.State = "quite-refunded" },
			"tracking number": func(o *shop.Order) { o.Tracking = strings.Repeat("运", 65) },
		} {
			o := h.order(h.sales[0], 1)
			invalidate(&o)
			_, err := h.Insert(h.ctx, h.epoch, []shop.Order{o})
			if !errors.Is(err, shop.ErrPermanent) || errors.Is(err, shop.ErrTransient) {
				t.Errorf("%s: got error %v, want ErrPermanent", name, err)
			}
		}
		good, bad := h.order(h.sales[0], 1), h.order(h.sales[0], 1)
		bad.ProductName = strings.Repeat("茶", 201)
		wantErr(t, "error", errOf(h.Insert(h.ctx, h.epoch, []shop.Order{good, bad})), shop.ErrPermanent)
		if rows, err := h.OrdersByID(h.ctx, []shop.ID{good.ID, bad.ID}); err != nil || len(rows) != 0 {
			t.Errorf("got %d written rows (%v), want 0", len(rows), err)
		}
		h.wantTaken(h.sales[0], 0)
		bad.ProductName, bad.Reason = strings.Repeat("茶", 200), strings.Repeat("long ", 100)
		h.insert(good, bad) // 200 characters fit, also of several bytes; a longer reason is cut
		if o := h.read(bad.ID); o.ProductName != bad.ProductName || len(o.Reason) != 200 {
			t.Errorf("got a name of %d bytes and a reason of %d, want %d and 200", len(o.ProductName), len(o.Reason),
				len(bad.ProductName))
		}
	}, 10)
}

// I1, I5: a row that is cancelled before its entry arrives takes no units, and the entry finds it.
func TestCancelledRowTakesNoUnits(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		entry := h.order(h.sales[0], 2)
		cancelled := entry
		cancelled.State, cancelled.CancelledAt = shop.Cancelled, opens+5
		h.insert(cancelled)
		if later := h.insert(entry)[0]; later.Fresh || later.Order.State != shop.Cancelled {
			t.Errorf("got fresh %v and state %s, want the cancelled row", later.Fresh, later.Order.State)
		}
		h.wantTaken(h.sales[0], 0)
		if epoch, seq, err := h.PartitionEpoch(h.ctx, 0); err != nil || epoch != 1 || seq != entry.Seq {
			t.Errorf("got epoch %d and seq %d (%v), want the seq of the cancelled row (I8)", epoch, seq, err)
		}
	}, 10)
}

// I8: the last order of a sale is the order with the highest seq, in any order and state of the rows, even if the guard
// refuses some rows.
func TestLastOrderHasTheHighestSeq(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		sale := h.sales[0]
		want := func(o shop.Order) {
			t.Helper()
			got, err := h.LastOrders(h.ctx, 0)
			if err != nil || len(got) != 1 || got[0] != (shop.LastOrder{Sale: o.Ref(), User: o.User, Order: o.ID}) {
				t.Errorf("got last orders %+v (%v), want order %s of user %s", got, err, o.ID, o.User)
			}
		}
		if got, err := h.LastOrders(h.ctx, 0); err != nil || len(got) != 0 {
			t.Errorf("an empty sale: got last orders %+v (%v), want none", got, err)
		}
		first, second, third := h.order(sale, 1), h.order(sale, 1), h.order(sale, 1)
		h.insert(third, second)
		want(third)
		h.insert(first)
		want(third)
		last, cancelled := h.order(sale, 2), h.order(sale, 1) // more than the free units
		cancelled.State, cancelled.CancelledAt = shop.Cancelled, opens+5
		h.insert(cancelled, last)
		want(cancelled)
		h.insert(last, third, first) // redelivered
		want(cancelled)
	}, 3)
}

// I1: an id that another buyer's order has is a permanent error. That order is never returned.
func TestForeignOrderIsNotReturned(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		mine, other := h.order(h.sales[0], 1), h.order(h.sales[0], 1)
		h.insert(mine)
		other.ID = mine.ID
		wantErr(t, "error", errOf(h.Insert(h.ctx, h.epoch, []shop.Order{other})), shop.ErrIDTaken)
		third, fourth := h.order(h.sales[0], 1), h.order(h.sales[1], 1)
		fourth.ID = third.ID
		wantErr(t, "two orders of one batch with one id", errOf(h.Insert(h.ctx, h.epoch, []shop.Order{third, fourth})), shop.ErrIDTaken)
	}, 10, 10)
}
