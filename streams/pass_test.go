package streams

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
)

// passed returns the buy with a pass issued at the given instant, for a sale that requires passes.
func passed(b shop.Buy, issued shop.Millis) shop.Buy {
	b.NeedsPass, b.Passed = true, issued
	return b
}

// A pass counts once: the accepted buy spends it and all passes issued before it. A rejected buy spends no pass. A
// repeated key needs no pass (I9, P4).
func TestPassCountsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10, func(s *shop.Sale) { s.Limit, s.Cap = 3, 10 }), f.gate(f.inventory)
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-no-pass"), 0), shop.VerdictPass)
		first := f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-one-1"), 1000), shop.VerdictReserved)
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-again"), 1000), shop.VerdictPass)
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-older"), 999), shop.VerdictPass)
		for _, issued := range []shop.Millis{0, 1000, 5000} {
			again := f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-one-1"), issued), shop.VerdictRepeated)
			if again.Order != first.Order {
				t.Errorf("P4: order %s instead of %s", again.Order, first.Order)
			}
		}
		f.wantVerdict(g, passed(buyOf(s, 11, 2, "key-one-1"), 5000), shop.VerdictOtherHash)
		f.wantVerdict(g, passed(buyOf(s, 11, 3, "key-many"), 2000), shop.VerdictLimit)
		// The rejected buy has not spent its pass. Passes of different buyers are independent.
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-one-2"), 2000), shop.VerdictReserved)
		f.wantVerdict(g, passed(buyOf(s, 12, 1, "key-two-1"), 1000), shop.VerdictReserved)
		f.wantVerdict(g, passed(buyOf(s, 12, 20, "key-two-2"), 1001), shop.VerdictLimit)
		if a := f.audit(s); a.Stock != 7 || a.Held != 3 || a.Units[11] != 2 || a.Units[12] != 1 {
			t.Fatalf("%+v units %v, want stock 7, held 3, units[11] 2 and units[12] 1", a.Counters, a.Units)
		}
	})
}

// A pass in a buyer's record changes neither units nor waiting entries. A record from before the sale required passes
// gets one. A record keeps its pass when the sale stops requiring passes.
func TestPassLeavesUnitsAndEntriesUnchanged(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(10, func(s *shop.Sale) { s.Limit, s.Cap = 9, 9 }), f.gate(f.inventory)
		record := func() string {
			text, err := f.client.HGet(f.ctx, f.inventory.parts[1].keys.buyers(s.ID), "11").Result()
			f.must(err)
			return text
		}
		one := f.wantVerdict(g, buyOf(s, 11, 1, "key-before"), shop.VerdictReserved).Order
		if strings.Count(record(), "|") != 3 {
			t.Errorf("the record of a sale without passes has passes: %q", record())
		}
		two := f.wantVerdict(g, passed(buyOf(s, 11, 2, "key-with-pass"), 1000), shop.VerdictReserved).Order
		three := f.wantVerdict(g, buyOf(s, 11, 1, "key-behind"), shop.VerdictReserved).Order
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-spent"), 1000), shop.VerdictPass)
		waiting, err := f.queue().Waiting(f.ctx, 11)
		f.must(err)
		if len(waiting) != 3 || waiting[0].Order != one || waiting[1].Order != two || waiting[2].Order != three {
			t.Errorf("got waiting %+v, want the three orders", waiting)
		}
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: two, User: 11, Hold: 1}}, true)
		again := shop.HoldRequest{Sale: s.Ref(), Order: two, User: 11, Hold: 2, Qty: 2}
		if v, err := f.stock().Hold(f.ctx, again); err != nil || v != shop.VerdictReserved {
			t.Fatalf("hold: got verdict %d, %v, want reserved", v, err)
		}
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-spent"), 1000), shop.VerdictPass)
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-fresh"), 1001), shop.VerdictReserved)
		if a := f.audit(s); a.Units[11] != 5 || a.Held != 5 {
			t.Fatalf("%+v units %v, want units[11] 5 and held 5", a.Counters, a.Units)
		}
		if !strings.HasSuffix(record(), "|1001") {
			t.Errorf("got record %q, want the suffix |1001", record())
		}
	})
}

// Of many concurrent buys with one pass, from two nodes, one is accepted.
func TestConcurrentBuysSpendAPassOnce(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(100, func(s *shop.Sale) { s.Limit, s.Cap = 100, 100 })
	gates := []*Gate{f.gate(f.inventory), f.gate(f.inventory)}
	var mu sync.Mutex
	verdicts := make(map[shop.Verdict]int)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			d, err := reserveUntilKnown(f.ctx, gates[i%2], passed(buyOf(s, 11, 1, fmt.Sprintf("key-%04d", i)), 1000))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			verdicts[d.Verdict]++
		})
	}
	all.Wait()
	if verdicts[shop.VerdictReserved] != 1 || verdicts[shop.VerdictPass] != 99 {
		t.Errorf("verdicts %v, want one reserved", verdicts)
	}
}

// A recovery cannot restore which pass was spent last. After it, passes issued before the buyer's last reservation are
// invalid, so none counts twice. A newer pass is valid, and old keys need none (P4).
func TestSpentPassStaysSpentAfterARecovery(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10, func(s *shop.Sale) { s.Limit, s.Cap, s.Challenge = 5, 5, shop.ChallengeWork })
		g := f.gate(f.inventory)
		issued := f.now().Add(-time.Second)
		b := passed(buyOf(s, 11, 1, "key-one-1"), issued)
		first := f.wantVerdict(g, b, shop.VerdictReserved)
		entries, err := f.client.XRange(f.ctx, f.inventory.parts[1].keys.orders, "-", "+").Result()
		f.must(err)
		var row shop.Order
		for _, m := range entries {
			if e := parseEntry(1, m); e.Order == first.Order {
				row = shop.Order{
					ID: e.Order, Sale: s.ID, User: e.User, Qty: e.Qty, Ticket: e.Ticket, Hold: e.Hold, Key: e.Key,
					ContentHash: e.Hash, State: shop.Pending, CreatedAt: e.ReservedAt,
				}
			}
		}
		f.close(testEpoch+1, true)
		f.must(f.recovery().Restore(f.ctx, testEpoch+1, shop.SaleState{
			Sale: s, Stock: 9, Held: 1, Tickets: 1, Orders: []shop.Order{row},
		}))
		f.open(testEpoch+1, 1, true)
		// Restored units have a cooldown until every sold-out flag has ended; that has its own test.
		f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.sale(s.ID), "rest_until", 0).Err())
		f.wantVerdict(g, b, shop.VerdictReserved) // the repeated call is the accepted one
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-one-2"), issued), shop.VerdictPass)
		f.wantVerdict(g, passed(buyOf(s, 11, 1, "key-one-3"), f.now().Add(time.Second)), shop.VerdictReserved)
		f.wantVerdict(g, passed(buyOf(s, 12, 1, "key-two-1"), issued), shop.VerdictReserved)
	})
}

// A call whose passes are not one per buy is rejected before any write.
func TestPassesMustBeOnePerBuy(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(5)
		keys := reserveKeys(f.inventory, s.Ref())
		for _, passes := range []string{"", "1 2", "x", "-1", "1.5", "1e9", "--"} {
			reply, err := reserveScript.run(f.ctx, f.client, keys, f.inventory.Epoch(1), 1<<40, int64(s.ID), 0, 0, 0,
				int64(newID()), 11, 1, "key-one-1", "h", "", passes)
			if err != nil || integer(reply[0]) != codeRejected {
				t.Errorf("passes %q: got %v, %v, want a rejection", passes, reply, err)
			}
			if passes == "" {
				continue // with a traced buy, an empty argument means that no passes are required
			}
			reply, err = reserveScript.run(f.ctx, f.client, keys, f.inventory.Epoch(1), 1<<40, int64(s.ID), 0, 0, 0,
				int64(newID()), 11, 1, "key-one-1", "h", "", passes, "1="+strings.Repeat("1", 32)+"-"+strings.Repeat("1", 16))
			if err != nil || integer(reply[0]) != codeRejected {
				t.Errorf("passes %q with a trace: got %v, %v, want a rejection", passes, reply, err)
			}
		}
		if a := f.audit(s); a.Stock != 5 || a.Held != 0 {
			t.Errorf("%+v, want stock 5 and held 0", a.Counters)
		}
	})
}
