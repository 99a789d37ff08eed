package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P1: if 2,000 people buy 100 units, exactly 100 are reserved. Their tickets are 1…100, and each is one stream entry.
func TestSaleIsNeverOversold(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(100), f.gate(f.inventory)
		var mu sync.Mutex
		tickets := make(map[int64]shop.ID)
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				b := buyOf(s, shop.ID(1000+i), 1, fmt.Sprintf("key-%06d", i))
				for range 2 { // each buyer buys twice with the same key, as from two devices
					b.Order = newID()
					d, err := reserveUntilKnown(f.ctx, g, b)
					if err != nil {
						t.Error(err)
						return
					}
					switch d.Verdict {
					case shop.VerdictReserved, shop.VerdictRepeated:
						mu.Lock()
						if old, taken := tickets[d.Ticket]; taken && old != d.Order {
							t.Errorf("orders %[2]d and %[3]d have the same ticket %[1]d", d.Ticket, old, d.Order)
						}
						tickets[d.Ticket] = d.Order
						mu.Unlock()
					case shop.VerdictSoldOut:
					default:
						t.Errorf("unexpected verdict %d", d.Verdict)
					}
				}
			})
		}
		wg.Wait()
		a := f.audit(s)
		n, err := f.client.XLen(f.ctx, f.inventory.parts[1].keys.orders).Result()
		f.must(err)
		if len(tickets) != 100 || a.Stock != 0 || a.Held != 100 || a.Tickets != 100 || n != 100 || len(a.Units) != 100 {
			t.Fatalf("got %d tickets, %d entries and %d buyers, %+v", len(tickets), n, len(a.Units), a.Counters)
		}
	})
}

// Every verdict of reserve.lua, in the order of their precedence.
func TestVerdictsFollowTheirPrecedence(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		g := f.gate(f.inventory)
		s := f.openSale(3)
		first := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		if first.Ticket != 1 || first.Free != 2 || first.Done != 0 {
			t.Fatalf("first decision %+v, want ticket 1 with 2 free units", first)
		}
		if d := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated); d.Order != first.Order ||
			d.Ticket != 1 {
			t.Fatalf("P4: repeated as %+v, want order %d", d, first.Order)
		}
		f.wantVerdict(g, buyOf(s, 11, 2, "key-one-1"), shop.VerdictOtherHash)
		f.wantVerdict(g, buyOf(s, 11, 2, "key-one-2"), shop.VerdictLimit)
		f.wantVerdict(g, buyOf(s, 12, 3, "key-two-1"), shop.VerdictLimit)
		f.wantVerdict(g, buyOf(s, 12, 2, "key-two-1"), shop.VerdictReserved)
		if d := f.wantVerdict(g, buyOf(s, 13, 1, "key-three"), shop.VerdictSoldOut); d.Free != 0 {
			t.Fatalf("got sold out with %d free units", d.Free)
		}
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated) // I9: sold out, and still the same result

		now, err := f.inventory.Now(f.ctx)
		f.must(err)
		early := f.openSale(1, func(s *shop.Sale) { s.OpensAt = now.Add(time.Hour) })
		f.wantVerdict(g, buyOf(early, 11, 1, "key-one-1"), shop.VerdictNotOpen)
		late := f.openSale(1, func(s *shop.Sale) { s.ClosesAt = now })
		f.wantVerdict(g, buyOf(late, 11, 1, "key-one-1"), shop.VerdictClosed)
		paused := f.openSale(1, func(s *shop.Sale) { s.Paused = true })
		f.wantVerdict(g, buyOf(paused, 11, 1, "key-one-1"), shop.VerdictPaused)

		capped := f.openSale(9, func(s *shop.Sale) { s.Cap = 1 })
		f.wantVerdict(g, buyOf(capped, 11, 1, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(capped, 11, 1, "key-one-2"), shop.VerdictCap)

		unknown := &shop.Sale{ID: newID(), Partition: 1}
		f.wantVerdict(g, buyOf(unknown, 11, 1, "key-one-1"), shop.VerdictNotLoaded)
		if n, err := f.client.Exists(f.ctx, f.inventory.parts[1].keys.sale(unknown.ID)).Result(); err != nil || n != 0 {
			t.Fatalf("I7: a buy created %d keys of an absent sale (%v), want none", n, err)
		}
		unarmed := &shop.Sale{ID: newID(), Partition: 1, Limit: 1, Cap: 1, OpensAt: 1, ClosesAt: now.Add(time.Hour)}
		f.must(f.stock().Create(f.ctx, testEpoch, shop.SaleState{Sale: unarmed, Stock: 1}))
		f.wantVerdict(g, buyOf(unarmed, 11, 1, "key-one-1"), shop.VerdictNotLoaded)
	})
}

// If two nodes generate the same order id, one buy is reserved; the other must be repeated with another id.
func TestUsedOrderIDsAreRejected(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		g, s := f.gate(f.inventory), f.openSale(5)
		first, second := buyOf(s, 11, 1, "key-one-1"), buyOf(s, 12, 1, "key-two-1")
		second.Order = first.Order
		reply, err := reserveScript.run(f.ctx, f.client, reserveKeys(f.inventory, s.Ref()), testEpoch, 1000,
			s.ID.String(), 0, 0, 0, int64(first.Order), int64(first.User), 1, first.Key, first.Hash, "",
			int64(second.Order), int64(second.User), 1, second.Key, second.Hash, "") // in one call
		f.must(err)
		if len(reply) != 8 || integer(reply[2]) != 4 || integer(reply[5]) != 2 ||
			shop.Verdict(integer(reply[6])) != shop.VerdictUsedID {
			t.Fatalf("reply %v, want the second buy rejected", reply)
		}
		f.wantVerdict(g, second, shop.VerdictUsedID) // in a later call
		a := f.audit(s)
		n := f.client.XLen(f.ctx, f.inventory.parts[1].keys.orders).Val()
		if n != 1 || a.Stock != 4 || a.Tickets != 1 ||
			len(a.Holds) != 1 || len(a.Units) != 1 {
			t.Fatalf("%d entries, %+v: a rejected buy was written", n, a)
		}
		second.Order = newID()
		f.wantVerdict(g, second, shop.VerdictReserved)
		again := buyOf(s, 12, 1, "key-two-1")
		again.Order = first.Order
		if d := f.wantVerdict(g, again, shop.VerdictRepeated); d.Order != second.Order {
			t.Fatalf("I9: repeated as order %d, want %d", d.Order, second.Order)
		}
	})
}

// P4, I9: after the window has closed, buyers with a reservation still get the same result.
func TestRepeatAfterCloseReturnsTheOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(1), f.gate(f.inventory)
		first := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.sale(s.ID), "closes", int64(s.OpensAt)+1).Err())
		other := f.gate(f.node(dial(t, f.url)))
		if d := f.wantVerdict(other, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated); d.Order != first.Order {
			t.Fatalf("order %d, want %d", d.Order, first.Order)
		}
		f.wantVerdict(other, buyOf(s, 12, 1, "key-two-1"), shop.VerdictClosed)
	})
}

// In these states of a partition nothing is decided, and OnStale is called (I7, I8).
func TestInvalidPartitionRejectsAllBuys(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(5), f.gate(f.inventory)
		b := buyOf(s, 11, 1, "key-one-1")

		f.inventory.SetEpoch(1, testEpoch-1)
		f.wantVerdict(g, b, shop.VerdictEpoch)
		f.inventory.SetEpoch(1, testEpoch)
		f.close(testEpoch+1, true)
		f.stale.Store(0)
		f.wantVerdict(g, b, shop.VerdictRecovering)
		f.must(f.client.Del(f.ctx, f.inventory.parts[1].keys.meta).Err())
		f.wantVerdict(g, b, shop.VerdictRecovering)
		if f.stale.Load() != 2 {
			t.Fatalf("OnStale called %d times, want 2", f.stale.Load())
		}
		f.must(begin(f.ctx, f.inventory, 1, testEpoch))

		open := f.inventory.parts[1].keys.open(s.ID)
		f.must(f.client.Set(f.ctx, open, "a string", 0).Err())
		if _, err := reserveOnce(f.ctx, g, b); !errors.Is(err, shop.ErrLost) {
			t.Fatalf("a key of a wrong type: got %v, want ErrLost", err)
		}
		f.must(f.client.Del(f.ctx, open).Err())
		if a := f.audit(s); a.Stock != 5 {
			t.Fatalf("a rejected buy was written: %+v", a.Counters)
		}
		if _, err := reserveOnce(f.ctx, g, shop.Buy{Sale: s.Ref(), User: 1, Qty: -1}); !errors.Is(err,
			shop.ErrPermanent) {
			t.Fatalf("negative quantity: got %v, want ErrPermanent", err)
		}
		nowhere := shop.Buy{Sale: shop.SaleRef{ID: s.ID, Partition: 99}, User: 1, Qty: 1}
		if _, err := reserveOnce(f.ctx, g, nowhere); !errors.Is(err, shop.ErrPermanent) {
			t.Fatalf("no such partition: got %v, want ErrPermanent", err)
		}
	})
}

// The backlog is bounded: at the bound no further buy is reserved until some reservations are settled.
func TestFullBacklogRejectsBuys(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.inventory.backlog = 2
		g := f.gate(f.inventory)
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(s, 13, 1, "key-three"), shop.VerdictBacklog)
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated)
	})
}

// I9: units that return to an empty stock have a cooldown. A buy waits for them; a repeated key gets its result at
// once.
func TestReturnedUnitsHaveACooldown(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(1), f.gate(f.inventory)
		first := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: first.Order, Hold: 1, User: 11}}, true)
		begin := time.Now()
		second := make(chan shop.GateResult, 1)
		go func() {
			d, _ := reserveUntilKnown(f.ctx, g, buyOf(s, 12, 1, "key-two-1"))
			second <- d
		}()
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated)
		if d := <-second; d.Verdict != shop.VerdictReserved || time.Since(begin) < shop.FlagLife {
			t.Fatalf("after %v: got %+v, want a reservation after at least %v", time.Since(begin), d, shop.FlagLife)
		}
	})
}

// I6: after a lost reply the outcome is unknown. The repeated call finds the accepted buys.
func TestRepeatAfterLostReplyFindsTheBuy(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(3)
	proxy := kit.NewProxy(t, f.url)
	g := f.gate(f.node(dial(t, proxy.URL)))
	f.must(f.client.ScriptLoad(f.ctx, reserveScript.text).Err()) // otherwise the lost reply would be NOSCRIPT
	proxy.DropReplies("evalsha", 2)
	b := buyOf(s, 11, 1, "key-one-1")
	if d := f.wantVerdict(g, b, shop.VerdictReserved); d.Order != b.Order || d.Ticket != 1 {
		t.Fatalf("got %+v, want the first ticket and order %s", d, b.Order)
	}
	if proxy.Dropped() != 2 {
		t.Fatalf("%d replies lost, want 2", proxy.Dropped())
	}
	if a := f.audit(s); a.Held != 1 || a.Tickets != 1 {
		t.Fatalf("units were taken twice: %+v", a.Counters)
	}
	proxy.Cut()
	f.wantUnknown(g, buyOf(s, 12, 1, "key-two-1"))
	proxy.Restore()
	f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved)
}

// A buy fails when its time is over, at the latest after the running call. Closing the gate completes all waiting buys.
func TestBuyEndsAtTimeoutOrClose(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(3)
	proxy := kit.NewProxy(t, f.url)
	g := NewGate(f.node(dial(t, proxy.URL)))
	f.wantVerdict(g, buyOf(s, 10, 1, "key-zero1"), shop.VerdictReserved)
	proxy.Stall()
	var waits sync.WaitGroup
	reserve := func(ctx context.Context, user shop.ID, want error) {
		waits.Go(func() {
			if _, err := reserveOnce(ctx, g, buyOf(s, user, 1, "key-one-1")); !errors.Is(err, want) {
				t.Errorf("user %s: %v, want %v", user, err, want)
			}
		})
	}
	eventually := func(why string, is func(*saleQueue) bool) {
		t.Helper()
		awaitQueue(t, g, s.Ref(), why, is)
	}
	queueUp := func(ctx context.Context, user shop.ID, want error) {
		eventually("the queue still exists", func(q *saleQueue) bool { return q == nil })
		reserve(f.ctx, user, shop.ErrTransient)
		eventually("no call is running", isSending)
		for i := range shop.ID(10) {
			reserve(ctx, user+1+i, want)
		}
	}
	hurried, cancel := context.WithTimeout(f.ctx, 10*time.Millisecond)
	defer cancel()
	queueUp(hurried, 100, errTooLate)
	waits.Wait() // Redis never replies: they end with the budget of the running call
	queueUp(f.ctx, 200, errGateClosed)
	eventually("fewer than ten buys wait", func(q *saleQueue) bool { return q != nil && len(q.waiting) == 10 })
	g.Close()
	waits.Wait()
	if _, err := reserveOnce(f.ctx, g, buyOf(s, 1, 1, "key-one-1")); !errors.Is(err, errGateClosed) {
		t.Fatalf("closed gate: %v, want errGateClosed", err)
	}
	proxy.Restore()
}

// If the sale turns out to be sold out, waiting buys get this result without a call. Buys of users with a reservation
// in the sale are still sent (I9).
func TestWaitingBuysAreSoldOutWithoutACall(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, g := f.openSale(3), f.gate(f.inventory)
		mine := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		g.Rejects = func(sale, user shop.ID) bool { return sale == s.ID && user != 11 }
		f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictSoldOut)
		if d := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictRepeated); d.Order != mine.Order {
			t.Fatalf("repeated as %+v, want order %s", d, mine.Order)
		}
		if a := f.audit(s); a.Tickets != 1 {
			t.Fatalf("%d tickets, want 1", a.Tickets)
		}
	})
}

// Scripts that Redis lost (restart, SCRIPT FLUSH) are sent again, in single calls and in pipelines.
func TestLostScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kit.StartRedis(t, kit.RedisOptions{}).URL)
	s, g := f.openSale(3), f.gate(f.inventory)
	first := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
	f.must(f.client.ScriptFlush(f.ctx).Err())
	f.wantVerdict(g, buyOf(s, 12, 1, "key-two-1"), shop.VerdictReserved)
	f.must(f.client.ScriptFlush(f.ctx).Err())
	f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: first.Order, Hold: 1, User: 11}}, true)
	f.must(f.client.ScriptFlush(f.ctx).Err())
	f.audit(s)
}

func (f *fixture) wantReturn(returns []shop.Return, want ...bool) {
	f.t.Helper()
	got, err := f.stock().Return(f.ctx, returns)
	f.must(err)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Fatalf("returned %v, want %v", got, want)
	}
}
