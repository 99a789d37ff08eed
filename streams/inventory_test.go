package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
)

// I3: units return exactly once per (order, hold), to the stock and to the buyer's limit. Burnt units do not return
// (I2).
func TestUnitsReturnOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10), f.gate(f.inventory)
		one := f.wantVerdict(g, buyOf(s, 11, 2, "key-one-1"), shop.VerdictReserved).Order
		two := f.wantVerdict(g, buyOf(s, 12, 2, "key-two-1"), shop.VerdictReserved).Order
		three := f.wantVerdict(g, buyOf(s, 13, 1, "key-three"), shop.VerdictReserved).Order
		gone := shop.SaleRef{ID: newID(), Partition: 0}
		f.wantReturn([]shop.Return{
			{Sale: s.Ref(), Order: one, Hold: 2, User: 11},             // another hold
			{Sale: s.Ref(), Order: one, Hold: 1, User: 11},             // the open hold
			{Sale: gone, Order: one, Hold: 1},                          // absent sale
			{Sale: s.Ref(), Order: one, Hold: 1, User: 11},             // repeated
			{Sale: s.Ref(), Order: two, Hold: 1, User: 12, Burn: true}, // withdrawn
			{Sale: s.Ref(), Order: newID(), Hold: 1},                   // never reserved
		}, false, true, false, false, true, false)
		f.wantReturn([]shop.Return{
			{Sale: s.Ref(), Order: one, Hold: 1, User: 11}, {Sale: s.Ref(), Order: two, Hold: 1, User: 12},
		}, false, false)
		a := f.audit(s)
		if a.Stock != 7 || a.Held != 1 || a.Withdrawn != 2 || a.Burnt != 2 {
			t.Fatalf("%+v burnt %d, want stock 7, held 1, withdrawn 2 and burnt 2", a.Counters, a.Burnt)
		}
		if diff := cmp.Diff(map[shop.ID]int64{11: 0, 12: 0, 13: 1}, a.Units); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff([]shop.OpenHold{{Order: three, Hold: 1, Qty: 1}}, a.Holds); diff != "" {
			t.Fatal(diff)
		}
		// The limit is free again. The records of old keys stay (P4).
		f.wantVerdict(g, buyOf(s, 11, 2, "key-one-1"), shop.VerdictRepeated)
		f.wantVerdict(g, buyOf(s, 11, 2, "key-one-2"), shop.VerdictReserved)
	})
}

// wantMovedOnce moves the same holds twice. The hold of order one moves once, the hold of order last if lastMoves.
// Other holds of order one, and order one in an absent sale, do not move.
func (f *fixture) wantMovedOnce(
	move func(context.Context, []shop.SoldHold) ([]bool, error), s *shop.Sale, one, last shop.ID, lastMoves bool,
) {
	f.t.Helper()
	for round, want := range [][]bool{{false, true, false, false, lastMoves}, {false, false, false, false, false}} {
		got, err := move(f.ctx, []shop.SoldHold{
			{Sale: s.Ref(), Order: one, Hold: 2},
			{Sale: s.Ref(), Order: one, Hold: 1},
			{Sale: shop.SaleRef{ID: newID(), Partition: 0}, Order: one, Hold: 1},
			{Sale: s.Ref(), Order: one, Hold: 1},
			{Sale: s.Ref(), Order: last, Hold: 1},
		})
		f.must(err)
		if diff := cmp.Diff(want, got); diff != "" {
			f.t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// I3: paid units move from held to sold once per (order, hold), count to the limit, and never return.
func TestUnitsAreSoldOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10), f.gate(f.inventory)
		one := f.wantVerdict(g, buyOf(s, 11, 2, "key-one-1"), shop.VerdictReserved).Order
		two := f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved).Order
		f.wantMovedOnce(f.stock().Sell, s, one, newID(), false)
		f.wantReturn([]shop.Return{
			{Sale: s.Ref(), Order: one, Hold: 1, User: 11}, {Sale: s.Ref(), Order: two, Hold: 1, User: 12},
		}, false, true)
		a := f.audit(s)
		if a.Stock != 8 || a.Held != 0 || a.Sold != 2 || a.Units[11] != 2 {
			t.Fatalf("%+v units %v, want stock 8, held 0, sold 2 and units[11] 2", a.Counters, a.Units)
		}
		if diff := cmp.Diff([]shop.OpenHold{{Order: one, Hold: 1, Qty: 2, Sold: true}}, a.Holds); diff != "" {
			t.Fatal(diff)
		}
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-2"), shop.VerdictLimit)
	})
}

// I3: refunded units are withdrawn once per (order, hold), also before they are marked as sold. The limit stays used
// up.
func TestUnitsAreWithdrawnOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10), f.gate(f.inventory)
		one := f.wantVerdict(g, buyOf(s, 11, 2, "key-one-1"), shop.VerdictReserved).Order
		two := f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved).Order
		_, err := f.stock().Sell(f.ctx, []shop.SoldHold{{Sale: s.Ref(), Order: one, Hold: 1}})
		f.must(err)
		f.wantMovedOnce(f.stock().Withdraw, s, one, two, true) // the second order is paid, but not marked as sold yet
		a := f.audit(s)
		if a.Stock != 7 || a.Held != 0 || a.Sold != 0 || a.Withdrawn != 3 || a.Burnt != 0 || len(a.Holds) != 0 ||
			a.Units[11] != 2 {
			t.Fatalf("got %+v, burnt %d, holds %v and units %v, want stock 7, withdrawn 3 and units[11] 2", a.Counters, a.Burnt, a.Holds, a.Units)
		}
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-2"), shop.VerdictLimit)
	})
}

// Concurrent returns give each unit back once.
func TestConcurrentReturnsCountOnce(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(200)
	returns := make([]shop.Return, 0, 200)
	for i, d := range f.reserveMany(s, 200) {
		returns = append(returns, shop.Return{Sale: s.Ref(), Order: d.Order, Hold: 1, User: shop.ID(5000 + i)})
	}
	var mu sync.Mutex
	total := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			done, err := f.stock().Return(f.ctx, returns)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, d := range done {
				if d {
					total++
				}
			}
		})
	}
	wg.Wait()
	if a := f.audit(s); total != 200 || a.Stock != 200 {
		t.Fatalf("%d returned, stock %d, want total 200 and stock 200", total, a.Stock)
	}
}

// Hold takes units for an existing order once, under a new number, with the gate's rules for stock and limit (I3).
func TestHoldTakesUnitsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(3), f.gate(f.inventory)
		order := f.wantVerdict(g, buyOf(s, 11, 2, "key-one-1"), shop.VerdictReserved).Order
		hold := func(h shop.HoldRequest, want shop.Verdict) {
			t.Helper()
			h.Sale = s.Ref()
			got, err := f.stock().Hold(f.ctx, h)
			f.must(err)
			if got != want {
				t.Fatalf("hold %+v: got verdict %d, want %d", h, got, want)
			}
		}
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: order, Hold: 1, User: 11}}, true)
		hold(shop.HoldRequest{Order: order, User: 11, Hold: 2, Qty: 2}, shop.VerdictReserved)
		hold(shop.HoldRequest{Order: order, User: 11, Hold: 2, Qty: 2}, shop.VerdictRepeated)
		hold(shop.HoldRequest{Order: order, User: 11, Hold: 1, Qty: 2}, shop.VerdictOtherHash)
		// never returned: the same units
		hold(shop.HoldRequest{Order: order, User: 11, Hold: 3, Qty: 2}, shop.VerdictReserved)
		if a := f.audit(s); a.Stock != 1 || a.Held != 2 || a.Units[11] != 2 {
			t.Fatalf("%+v units %v, want stock 1, held 2 and units[11] 2", a.Counters, a.Units)
		}
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: order, Hold: 2, User: 11}}, false)
		hold(shop.HoldRequest{Order: newID(), User: 11, Hold: 2, Qty: 1}, shop.VerdictLimit)
		hold(shop.HoldRequest{Order: newID(), User: 12, Hold: 2, Qty: 2}, shop.VerdictSoldOut)
		last := newID()
		hold(shop.HoldRequest{Order: last, User: 12, Hold: 2, Qty: 1}, shop.VerdictReserved)
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: last, Hold: 2, User: 12}}, true)
		begin := time.Now() // the unit has a cooldown first (I9)
		hold(shop.HoldRequest{Order: last, User: 12, Hold: 3, Qty: 1}, shop.VerdictReserved)
		if time.Since(begin) < shop.FlagLife {
			t.Fatalf("held after %v, want at least the life of a flag", time.Since(begin))
		}
		f.close(testEpoch+1, false)
		hold(shop.HoldRequest{Order: last, User: 12, Hold: 4, Qty: 1}, shop.VerdictRecovering)
		f.open(testEpoch+1, 1, false)
		s.ID = newID()
		hold(shop.HoldRequest{Order: last, User: 12, Hold: 4, Qty: 1}, shop.VerdictNotLoaded)
	})
}

// I7: a sale is created once and sells only when armed. Absent sales are reported as lost.
func TestCreateAndArmAreIdempotent(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(5)
		f.wantVerdict(f.gate(f.inventory), buyOf(s, 11, 2, "key-one-1"), shop.VerdictReserved)
		f.must(f.stock().Create(f.ctx, testEpoch, shop.SaleState{Sale: s, Stock: 99}))
		f.must(f.stock().Arm(f.ctx, testEpoch, s.Ref()))
		if a := f.audit(s); a.Stock != 3 || a.Initial != 5 {
			t.Fatalf("created twice: %+v, want stock 3 and initial 5", a.Counters)
		}
		absent := shop.SaleRef{ID: newID(), Partition: 1}
		if err := f.stock().Arm(f.ctx, testEpoch, absent); !errors.Is(err, shop.ErrLost) {
			t.Fatalf("arm an absent sale: got %v, want ErrLost", err)
		}
		for _, err := range []error{
			f.stock().Create(f.ctx, testEpoch-1, shop.SaleState{Sale: s}), f.stock().Arm(f.ctx, testEpoch-1,
				s.Ref()),
		} {
			if !errors.Is(err, shop.ErrStaleEpoch) {
				t.Fatalf("older epoch: %v, want ErrStaleEpoch", err)
			}
		}
		f.inventory.SetEpoch(1, testEpoch-1)
		units := []shop.Return{{Sale: s.Ref(), Order: 1, Hold: 1}}
		if _, err := f.stock().Return(f.ctx, units); !errors.Is(err, shop.ErrStaleEpoch) {
			t.Fatalf("return under an older epoch: got %v, want ErrStaleEpoch", err)
		}
		if _, err := f.stock().Retire(f.ctx, s.Ref()); !errors.Is(err, shop.ErrStaleEpoch) {
			t.Fatalf("retire under an older epoch: got %v, want ErrStaleEpoch", err)
		}
		f.must(f.client.Del(f.ctx, f.inventory.parts[1].keys.meta).Err())
		for _, err := range []error{
			f.stock().Create(f.ctx, testEpoch, shop.SaleState{Sale: s}), f.stock().Arm(f.ctx, testEpoch, s.Ref()),
		} {
			if !errors.Is(err, shop.ErrLost) {
				t.Fatalf("no partition: %v, want ErrLost", err)
			}
		}
	})
}

// A sale that was edited after the caller read it is written again while it is unarmed. An older version never replaces
// a newer one.
func TestCreateUpdatesAnUnarmedSale(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := &shop.Sale{
			ID: newID(), Partition: 1, Initial: 5, Limit: 2, Cap: 2, PriceFen: 100, ClosesAt: 1 << 50,
			Version: 1,
		}
		edited := *s
		edited.Version, edited.Initial, edited.PriceFen = 2, 3, 200
		for _, version := range []*shop.Sale{s, &edited, s} {
			f.must(f.stock().Create(f.ctx, testEpoch, shop.SaleState{Sale: version, Stock: version.Initial}))
		}
		if a := f.audit(s); a.Stock != 3 || a.Initial != 3 || a.Version != 2 {
			t.Errorf("loaded with %+v, want stock 3, initial 3 and version 2", a.Counters)
		}
		f.must(f.stock().Arm(f.ctx, testEpoch, s.Ref()))
		edited.Version, edited.Initial = 3, 99
		f.must(f.stock().Create(f.ctx, testEpoch, shop.SaleState{Sale: &edited, Stock: 99}))
		if a := f.audit(s); a.Stock != 3 || a.Version != 2 {
			t.Errorf("Create changed an armed sale to %+v", a.Counters)
		}
	})
}

// Counters and holds of a sale. An absent sale is not loaded.
func TestSaleReportsCountersAndHolds(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(5), f.gate(f.inventory)
		f.wantVerdict(g, buyOf(s, 12, 2, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		absent := shop.SaleRef{ID: newID(), Partition: 0}
		got, err := f.stock().Counters(f.ctx, []shop.SaleRef{absent, s.Ref()})
		f.must(err)
		want := []shop.Counters{
			{Sale: absent.ID, Epoch: testEpoch},
			{Sale: s.ID, Loaded: true, Stock: 2, Held: 3, Initial: 5, Tickets: 2, Version: 3, Epoch: testEpoch},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		holds, next, err := f.stock().Holds(f.ctx, s.Ref(), 0)
		f.must(err)
		if len(holds) != 2 || next != 0 {
			t.Fatalf("holds %v, next %d, want 2 holds and next 0", holds, next)
		}
	})
}

// Watchers are summed over the nodes. The count of a silent node expires.
func TestWatchersAreSummedOverNodes(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(5)
	f.must(f.stock().SetWatching(f.ctx, "node-1", map[shop.SaleRef]int64{s.Ref(): 3}))
	f.must(f.stock().SetWatching(f.ctx, "node-2", map[shop.SaleRef]int64{s.Ref(): 4}))
	f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.watching(s.ID), "node-gone", "100:1790000").Err())
	if c := f.counters(s); c.Watching != 7 {
		t.Fatalf("watching %d, want 7", c.Watching)
	}
	read := f.inventory.viewers.readings[s.Ref()].readAt
	for after, want := range map[time.Duration]int{viewersInterval - 1: 0, viewersInterval: 1} {
		if due := f.inventory.viewers.due([]shop.SaleRef{s.Ref()}, read.Add(after)); len(due) != want {
			t.Fatalf("%v after a reading %d are due, want %d", after, len(due), want)
		}
		f.inventory.viewers.readings[s.Ref()] = viewersReading{count: 7, readAt: read}
	}
}

// A sale is retired only when it is closed, has no holds and has all tickets settled.
func TestRetireNeedsASettledSale(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(5)
		d := f.wantVerdict(f.gate(f.inventory), buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		retire := func(want bool) {
			t.Helper()
			got, err := f.stock().Retire(f.ctx, s.Ref())
			f.must(err)
			if got != want {
				t.Fatalf("retired %v, want %v", got, want)
			}
		}
		retire(false) // open
		f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.sale(s.ID), "closes", 1).Err())
		retire(false) // held
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: d.Order, Hold: 1, User: 11}}, true)
		retire(false) // in the stream
		c := f.consumer("node-1", newFakeHandler())
		f.must(c.runOnce(f.ctx))
		f.must(c.runOnce(f.ctx))
		sold := newID()
		f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.open(s.ID), sold.String(), "1:1:sold").Err())
		retire(true)
		retire(true)
		left, err := f.client.Keys(f.ctx, "*:sale:*").Result()
		f.must(err)
		if len(left) != 0 {
			t.Fatalf("left %v, want none", left)
		}
	})
}

// I8: a recovery replaces the state in Redis with the rows of the database. A repeated key still returns its order
// (P4).
func TestRestoreReplacesTheStateWithRows(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(2000), f.gate(f.inventory)
		for i := range 3 {
			f.wantVerdict(g, buyOf(s, shop.ID(100+i), 1, "key-before"), shop.VerdictReserved)
		}
		f.close(testEpoch+1, true)
		f.close(testEpoch+1, false) // a repeated close keeps the loss flag
		recorded := shop.RecordedHistory{
			Server: database.Server, Generation: database.Generation, Beat: database.Beat, Replaced: []string{},
		}
		claimed := recorded
		claimed.ClaimServer, claimed.ClaimGeneration = database.Server, database.Generation
		f.wantState(shop.PartitionState{
			Exists: true, Recovering: true, Lost: true, Claim: testEpoch + 1, Epoch: testEpoch, Seq: 3, Seen: 3,
			Database: claimed,
		})
		var remaining []shop.Entry
		f.must(f.recovery().EachEntry(f.ctx, 1, func(e []shop.Entry) error {
			remaining = append(remaining, e...)
			return nil
		}))
		if len(remaining) != 3 || remaining[0].ParseErr != nil || remaining[2].Ticket != 3 {
			t.Fatalf("got remaining entries %+v, want 3 with ticket 3 as the last", remaining)
		}
		var orders []shop.Order
		add := func(user shop.ID, qty int, state shop.OrderState) shop.ID {
			o := shop.Order{
				ID: newID(), Sale: s.ID, User: user, Partition: 1, Qty: qty, State: state, Hold: 1,
				Ticket: int64(len(orders) +
					1), Key: fmt.Sprintf("key-%04d", len(orders)), ContentHash: fmt.Sprintf("%016x", qty),
			}
			orders = append(orders, o)
			return o.ID
		}
		pending, paid := add(1, 2, shop.Pending), add(2, 1, shop.Paid)
		add(3, 1, shop.Refunded)
		add(1, 1, shop.Expired)
		for i := range 1200 { // more than one call can carry
			add(shop.ID(1000+i), 1, shop.Pending)
		}
		f.must(f.recovery().Restore(f.ctx, testEpoch+1, shop.SaleState{
			Sale: s, Stock: 2000 - 1204, Held: 1202, Sold: 1, Withdrawn: 1, Tickets: 1204, Orders: orders,
		}))
		f.open(testEpoch+1, 1204, true)
		f.open(testEpoch+1, 1204, true) // repeated after a lost reply

		f.wantState(shop.PartitionState{Exists: true, Epoch: testEpoch + 1, Seq: 1204, Database: recorded})
		a := f.audit(s)
		if a.Done != 1204 || len(a.Holds) != 1202 || a.Units[1] != 2 || a.Units[2] != 1 || a.Units[3] != 1 {
			t.Fatalf("got %+v and %d holds, want done 1204 and 1202 holds", a.Counters, len(a.Holds))
		}
		if d := f.wantVerdict(g, buyOf(s, 1, 2, "key-0000"), shop.VerdictRepeated); d.Order != pending || d.Ticket != 1 {
			t.Fatalf("repeated as %+v, want order %s and ticket 1", d, pending)
		}
		if d := f.wantVerdict(g, buyOf(s, 2, 1, "key-0001"), shop.VerdictRepeated); d.Order != paid {
			t.Fatalf("repeated as %+v, want order %s", d, paid)
		}
		for _, h := range a.Holds {
			if h.Sold != (h.Order == paid) {
				t.Fatalf("restored %+v, want only the paid hold sold", h)
			}
		}
		f.wantVerdict(g, buyOf(s, 1, 1, "key-other"), shop.VerdictLimit)
		if d := f.wantVerdict(g, buyOf(s, 55, 1, "key-new-1"), shop.VerdictReserved); d.Ticket != 1205 {
			t.Fatalf("got %+v, want ticket 1205", d)
		}
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: pending, Hold: 1, User: 1}}, true)
		if err := f.recovery().Restore(f.ctx, testEpoch+1, shop.SaleState{Sale: s}); err == nil {
			t.Fatal("Restore succeeded in an open partition")
		}
		opening := shop.PartitionRecovery{Claim: testEpoch + 9, Lost: true, Database: database}
		if err := f.recovery().Open(f.ctx, 1, opening, 0, 0); err == nil {
			t.Fatal("Open succeeded in an open partition")
		}
	})
}

// state returns the State of the partition without histories and ClosedAt, which differ per run. It checks that the
// history is confirmed.
func (f *fixture) state(partition int) shop.PartitionState {
	f.t.Helper()
	s, err := f.recovery().State(f.ctx, partition)
	f.must(err)
	if s.Exists && s.History != s.Confirmed || s.Followed != "" {
		f.t.Fatalf("got history %q, confirmed %q and followed %q, want a confirmed history", s.History, s.Confirmed, s.Followed)
	}
	if s.Recovering != (s.ClosedAt != 0) {
		f.t.Fatalf("got recovering %v and closed at %d, want both or neither", s.Recovering, s.ClosedAt)
	}
	s.History, s.Confirmed, s.ClosedAt = "", "", 0
	return s
}

func (f *fixture) wantState(want shop.PartitionState) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.state(1)); diff != "" {
		f.t.Fatalf("state (-want +got):\n%s", diff)
	}
}

// A partition that is absent in Redis can be closed, so that an interrupted recovery is detected.
func TestAbsentPartitionCanBeClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.must(f.client.FlushDB(f.ctx).Err())
		f.wantState(shop.PartitionState{Database: shop.RecordedHistory{Replaced: []string{}}})
		f.close(1, true)
		if st := f.state(1); !st.Exists || !st.Recovering || !st.Lost {
			t.Fatalf("got state %+v, want a lost partition in recovery", st)
		}
	})
}
