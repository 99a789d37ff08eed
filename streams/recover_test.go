package streams

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stampede/app/shop"
)

// remainingEntries returns the entries that are still in the stream of partition 1.
func (f *fixture) remainingEntries() (entries []shop.Entry) {
	f.t.Helper()
	f.must(f.recovery().EachEntry(f.ctx, 1, func(page []shop.Entry) error {
		entries = append(entries, page...)
		return nil
	}))
	return entries
}

// ignoreAge compares StreamStats without the fields that depend on the time.
var ignoreAge = cmpopts.IgnoreFields(StreamStats{}, "Oldest", "ClosedAt")

// I8: of two concurrent recoveries only the one with the later claim changes and opens the partition. The other one has
// read older data.
func TestLaterRecoveryTakesOver(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 1)
		entry := f.remainingEntries()[0]
		state := func(stock int64) shop.SaleState {
			return shop.SaleState{Sale: s, Stock: stock, Withdrawn: 10 - stock}
		}
		wantSteps := func(claim int64, want error) {
			t.Helper()
			for i, err := range []error{
				f.recovery().Restore(f.ctx, claim, state(4)), f.recovery().SetStuck(f.ctx, claim, s.Ref(), "stuck"),
				f.recovery().SetAside(f.ctx, claim, &entry),
				f.recovery().Open(f.ctx, 1, shop.PartitionRecovery{Claim: claim, Lost: true, Database: database}, 0, 0),
			} {
				if !errors.Is(err, want) {
					t.Errorf("step %d of claim %d: got %v, want %v", i, claim, err, want)
				}
			}
		}
		f.close(testEpoch+1, true)
		f.close(testEpoch+2, true)
		f.must(f.recovery().Restore(f.ctx, testEpoch+2, state(5)))
		wantCloseRejected := func() {
			t.Helper()
			err := f.recovery().Close(f.ctx, 1, shop.PartitionRecovery{
				Claim: testEpoch + 1, Lost: true, Database: database,
			}, "")
			if !errors.Is(err, shop.ErrStaleEpoch) {
				t.Errorf("close by the earlier recovery: got %v, want ErrStaleEpoch", err)
			}
		}
		wantCloseRejected()
		wantSteps(testEpoch+1, shop.ErrStaleEpoch)
		f.open(testEpoch+2, 1, true)
		wantCloseRejected()
		wantSteps(testEpoch+1, shop.ErrPermanent) // no recovery runs now
		if a, st := f.audit(s), f.stats(); a.Stock != 5 || a.Stuck != "" || st.Dead != 0 {
			t.Errorf("got %+v, %+v; want the values that the later recovery restored", a.Counters, st)
		}
	})
}

// I8: while a partition is closed, all operations on the data that its recovery reads are rejected.
func TestClosedPartitionKeepsItsState(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10), f.gate(f.inventory)
		firstBuy := buyOf(s, 11, 1, "key-one-1")
		order := f.wantVerdict(g, firstBuy, shop.VerdictReserved).Order
		f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved)
		c, entries := f.delivered("node-1", 0)
		f.settle(entries[1])
		before, streams := f.audit(s), f.stats()
		f.close(testEpoch+1, false)
		f.wantVerdict(g, firstBuy, shop.VerdictRecovering)
		f.wantVerdict(g, buyOf(s, 13, 1, "key-new-1"), shop.VerdictRecovering)
		hold := shop.HoldRequest{Sale: s.Ref(), Order: order, User: 11, Hold: 2, Qty: 1}
		if v, err := f.stock().Hold(f.ctx, hold); v != shop.VerdictRecovering || err != nil {
			t.Errorf("hold: got verdict %d, %v, want recovering", v, err)
		}
		sold := []shop.SoldHold{{Sale: s.Ref(), Order: order, Hold: 1}}
		_, returned := f.stock().Return(f.ctx, []shop.Return{{Sale: s.Ref(), Order: order, Hold: 1, User: 11}})
		_, sell := f.stock().Sell(f.ctx, sold)
		_, withdraw := f.stock().Withdraw(f.ctx, sold)
		_, retire := f.stock().Retire(f.ctx, s.Ref())
		for name, err := range map[string]error{
			"return": returned, "sell": sell, "withdraw": withdraw, "retire": retire,
			"finish": f.queue().Finish(f.ctx, 1, 0, nil, []*shop.Entry{&entries[0]}),
			"end":    c.moveToDeadLetters(f.ctx, testEpoch, entries[0], shop.ErrPermanent, 5),
			"terms":  f.stock().SetTerms(f.ctx, &shop.Sale{ID: s.ID, Partition: 1, Version: 99}),
			"note":   f.recordDatabase(database),
		} {
			if !errors.Is(err, shop.ErrTransient) {
				t.Errorf("%s: %v, want ErrTransient", name, err)
			}
		}
		trimmer := NewTrimmer(f.inventory, always)
		trimmer.retention, trimmer.maxLength = -time.Minute, 1
		if n, err := trimmer.runOnce(f.ctx); n != 0 || err != nil {
			t.Errorf("trimmed %d, %v, want 0", n, err)
		}
		if diff := cmp.Diff(before, f.audit(s)) + cmp.Diff(streams, f.stats(), ignoreAge); diff != "" {
			t.Errorf("changed while closed (-before +after):\n%s", diff)
		}
	})
}

// P2, I4: an entry that a recovery sets aside leaves the stream. It counts as settled once, whether it was settled,
// pending or not delivered, and its hold stays. The lag stays correct (P7), though no later entry is delivered.
func TestEntrySetAsideIsSettledOnceAndKeepsItsHold(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 4)
		entries := f.remainingEntries()
		f.delivered("node-1", 2)
		f.settle(entries[0])
		f.close(testEpoch+1, false)
		setAside := []int{0, 1, 3} // settled, pending, not delivered
		for range 2 {
			for _, i := range setAside {
				f.must(f.recovery().SetAside(f.ctx, testEpoch+1, &entries[i]))
			}
		}
		if left := f.remainingEntries(); len(left) != 1 || left[0].Order != entries[2].Order {
			t.Errorf("the stream has %+v, want the entry of order %s", left, entries[2].Order)
		}
		wantSettled := func(done, waiting int64) {
			t.Helper()
			a := f.audit(s)
			n, err := f.client.HGet(f.ctx, f.inventory.parts[1].keys.meta, "waiting").Int64()
			f.must(err)
			if a.Tickets != 4 || a.Done != done || n != waiting || a.Held != 4 {
				t.Errorf("got %+v and %d waiting, want %d done, %d waiting and 4 held", a.Counters, n, done, waiting)
			}
		}
		wantSettled(3, 1)
		f.open(testEpoch+1, 4, false)
		_, rest := f.delivered("node-1", 0)
		f.settle(rest...)
		wantSettled(4, 0)
		for _, e := range entries {
			if left, err := f.queue().Waiting(f.ctx, e.User); err != nil || len(left) != 0 {
				t.Errorf("user %s: got the waiting reservations %+v, %v, want none", e.User, left, err)
			}
		}
		_, err := NewLagFixer(f.inventory).runOnce(f.ctx)
		f.must(err)
		if fixed, err := NewLagFixer(f.inventory).runOnce(f.ctx); err != nil || fixed != 0 {
			t.Errorf("got %d more corrections of the lag, %v, want none", fixed, err)
		}
		if st := f.stats(); st.Lag != 0 || st.Pending != 0 || st.Length != 1 {
			t.Errorf("got %+v, want lag 0, pending 0 and length 1", st)
		}
	})
}

// I4: without a group nothing was delivered; an entry that is set aside is still settled.
func TestEntrySetAsideWithoutGroupIsSettled(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 1)
		f.must(f.client.XGroupDestroy(f.ctx, f.inventory.parts[1].keys.orders, group).Err())
		f.close(testEpoch+1, false)
		f.must(f.recovery().SetAside(f.ctx, testEpoch+1, &f.remainingEntries()[0]))
		if c := f.counters(s); c.Done != 1 {
			t.Errorf("%d done, want 1", c.Done)
		}
	})
}

// P2: a recovery without losses in Redis keeps stream, group and pending entries. A recovery that restored the sales
// from rows starts a new stream and keeps the old one for an hour.
func TestOpenKeepsTheStreamUnlessRebuilt(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, k := f.openSale(10), &f.inventory.parts[1].keys
		f.reserveMany(s, 2)
		f.delivered("node-1", 1)
		before := f.stats()
		f.close(testEpoch+1, false)
		f.open(testEpoch+1, 2, false)
		if diff := cmp.Diff(before, f.stats(), ignoreAge); diff != "" || before.Pending != 1 || before.Length != 2 {
			t.Errorf("got another state than %+v (-before +after):\n%s", before, diff)
		}
		f.close(testEpoch+2, true)
		f.open(testEpoch+2, 2, true)
		if st := f.stats(); st.Pending != 0 || st.Length != 0 || st.Lag != 0 {
			t.Errorf("rebuilt: %+v, want pending 0, length 0 and lag 0", st)
		}
		old, err := f.client.XLen(f.ctx, k.orders+":before").Result()
		f.must(err)
		ttl, err := f.client.PTTL(f.ctx, k.orders+":before").Result()
		f.must(err)
		waiting, err := f.client.HGet(f.ctx, k.meta, "waiting").Int()
		f.must(err)
		if old != 2 || ttl <= 0 || ttl > time.Hour || waiting != 0 {
			t.Errorf("the old stream has %d entries for %v, %d entries are waiting; want 2 for at most 1h, 0 waiting", old, ttl, waiting)
		}
	})
}

// P2: a partition records the database history with which it was opened, and the replaced servers. A server that is
// used again is removed from the replaced servers.
func TestOpenRecordsTheDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i, c := range []struct{ server, replaced string }{
			{"aaaa0001", database.Server},
			{"bbbb0002", database.Server + " aaaa0001"},
			{"bbbb0002", database.Server + " aaaa0001"},
			{"aaaa0001", database.Server + " bbbb0002"},
		} {
			h := shop.DatabaseHistory{Server: c.server, Generation: int64(i) + 2, Beat: 7}
			claim := int64(testEpoch + 1 + i)
			f.close(claim, false)
			f.must(f.recovery().Open(f.ctx, 1, shop.PartitionRecovery{Claim: claim, Database: h}, 0, 0))
			f.inventory.SetEpoch(1, claim)
			f.wantDatabase(h, c.replaced)
			// Repeated after a lost reply.
			f.must(f.recovery().Open(f.ctx, 1, shop.PartitionRecovery{Claim: claim}, 0, 0))
			f.wantDatabase(h, c.replaced)
		}
		f.must(f.recovery().AcceptServer(f.ctx, 1, "bbbb0002"))
		if got := f.state(1).Database.Replaced; !slices.Equal(got, []string{database.Server}) {
			t.Errorf("replaced servers after Accept: got %v, want %s", got, database.Server)
		}
	})
}

func (f *fixture) recordDatabase(h shop.DatabaseHistory) error {
	_, _, err := f.recovery().RecordDatabase(f.ctx, 1, h)
	return err
}

// wantDatabase compares the recorded database history of partition 1. replaced has the servers separated by spaces.
func (f *fixture) wantDatabase(h shop.DatabaseHistory, replaced string) {
	f.t.Helper()
	want := shop.RecordedHistory{
		Server: h.Server, Generation: h.Generation, Beat: h.Beat, Replaced: strings.Fields(replaced),
	}
	if diff := cmp.Diff(want, f.state(1).Database); diff != "" {
		f.t.Errorf("recorded database history (-want +got):\n%s", diff)
	}
}

// P2: the recorded beat never decreases, and only a recovery records another server or generation.
func TestRecordedBeatNeverDecreases(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		h := shop.DatabaseHistory{Server: database.Server, Generation: 1, Beat: 9}
		f.must(f.recordDatabase(h))
		f.must(f.recordDatabase(database)) // a late call
		f.wantDatabase(h, "")
		for _, other := range []shop.DatabaseHistory{
			{Server: "bbbb0002", Generation: 1, Beat: 99}, {Server: h.Server, Generation: 2, Beat: 99},
		} {
			if err := f.recordDatabase(other); !errors.Is(err, shop.ErrStaleEpoch) {
				t.Errorf("note of %+v: %v, want ErrStaleEpoch", other, err)
			}
		}
		f.wantDatabase(h, "")
		// A partition that an earlier version of the program opened has no record.
		f.must(f.client.HDel(f.ctx, f.inventory.parts[1].keys.meta, "db_server", "db_generation", "db_beat").Err())
		f.must(f.recordDatabase(database))
		f.wantDatabase(database, "")
	})
}

// P2: Records rebuilds the entries of holds from the records of their buyers. The evidence of an order has its hold,
// its record and its deadline.
func TestRecordsRebuildTheEntriesOfHolds(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10, func(s *shop.Sale) { s.Limit = 9 }), f.gate(f.inventory)
		f.reserveMany(s, 3)
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		b := buyOf(s, 11, 2, "key-one-2")
		f.wantVerdict(g, b, shop.VerdictReserved)
		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{{Order: b.Order, PayBy: 5000}}))
		want := shop.Entry{
			Order: b.Order, Sale: s.ID, Partition: 1, User: 11, Hash: b.Hash, Ticket: 5, Key: b.Key, Hold: 1, Qty: 2,
		}
		orders := []shop.Order{{ID: b.Order, User: 11}, {ID: newID(), User: 11}}
		wantEvidence := func(evidence ...shop.Evidence) {
			t.Helper()
			found, loaded, err := f.recovery().Evidence(f.ctx, s.Ref(), orders)
			if diff := cmp.Diff(evidence, found); err != nil || !loaded || diff != "" {
				t.Errorf("evidence: loaded %v, %v (-want +got):\n%s", loaded, err, diff)
			}
		}
		held := &shop.OpenHold{Order: b.Order, Hold: 1, Qty: 2}
		wantEvidence(shop.Evidence{Hold: held, InRecord: true, DueAt: 5000}, shop.Evidence{})
		unknown := shop.OpenHold{Order: newID(), Hold: 3, Qty: 1}
		got, err := f.recovery().Records(f.ctx, s.Ref(), []shop.OpenHold{unknown, *held})
		wantEntries := []shop.Entry{{Order: unknown.Order, Sale: s.ID, Partition: 1, Hold: 3, Qty: 1}, want}
		if diff := cmp.Diff(wantEntries, got); err != nil || diff != "" {
			t.Errorf("records: %v (-want +got):\n%s", err, diff)
		}
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: b.Order, Hold: 1, User: 11}}, true)
		wantEvidence(shop.Evidence{InRecord: true, DueAt: 5000}, shop.Evidence{})
		absent := shop.SaleRef{ID: newID(), Partition: 1}
		if _, loaded, err := f.recovery().Evidence(f.ctx, absent, orders); loaded || err != nil {
			t.Errorf("evidence of an absent sale: got loaded %v, %v, want false", loaded, err)
		}
	})
}

// P4, I9: a sale that waits for an operator is paused for new buys, and repeated keys return their orders.
func TestStuckSalePausesOnlyNewBuys(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10), f.gate(f.inventory)
		first := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		setStuck := func(claim int64, reason string) {
			t.Helper()
			f.close(claim, false)
			f.must(f.recovery().SetStuck(f.ctx, claim, s.Ref(), reason))
			absent := shop.SaleRef{ID: newID(), Partition: 1}
			if err := f.recovery().SetStuck(f.ctx, claim, absent, reason); !errors.Is(err, shop.ErrLost) {
				t.Errorf("set an absent sale stuck: got %v, want ErrLost", err)
			}
			f.open(claim, 1, false)
			if c := f.counters(s); c.Stuck != reason || c.Paused != (reason != "") {
				t.Errorf("%+v, want stuck %q", c, reason)
			}
			d := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated)
			if d.Order != first.Order {
				t.Errorf("repeated as order %s, want %s", d.Order, first.Order)
			}
		}
		setStuck(testEpoch+1, "order 5: no hold")
		f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictPaused)
		setStuck(testEpoch+2, "")
		f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved)
	})
}
