package streams

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// copyPartition copies every key of partition 1 and returns a function that restores the copies.
func (f *fixture) copyPartition() (restore func()) {
	f.t.Helper()
	names, err := f.client.Keys(f.ctx, f.inventory.parts[1].keys.prefix+"*").Result()
	f.must(err)
	copied := make(map[string]string)
	for _, name := range names {
		copied[name], err = f.client.Dump(f.ctx, name).Result()
		f.must(err)
	}
	return func() {
		f.t.Helper()
		for name, value := range copied {
			f.must(f.client.RestoreReplace(f.ctx, name, 0, value).Err())
		}
	}
}

// I8: Redis returns to an older state. A node that has seen only older orders then buys until seq has caught up. A node
// that has seen later orders is still rejected: in this sale because its order is missing, in other sales of the
// partition while seq is behind. Rejected calls write nothing.
func TestNodeWithLaterOrdersIsRejected(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s, other := f.openSale(50), f.openSale(50)
	mine, theirs := f.gate(f.inventory), f.gate(f.node(f.client))
	buy := func(g *Gate, s *shop.Sale, user int, want shop.Verdict) {
		t.Helper()
		f.wantVerdict(g, buyOf(s, shop.ID(user), 1, fmt.Sprintf("key-%05d", user)), want)
	}
	buy(mine, s, 100, shop.VerdictReserved)
	buy(theirs, s, 101, shop.VerdictReserved)
	restore := f.copyPartition()
	buy(mine, s, 102, shop.VerdictReserved)
	buy(mine, s, 103, shop.VerdictReserved)
	restore()
	f.stale.Store(0)
	buy(mine, other, 200, shop.VerdictRecovering) // seq is behind
	buy(theirs, s, 104, shop.VerdictReserved)
	buy(theirs, s, 105, shop.VerdictReserved)
	buy(theirs, s, 106, shop.VerdictReserved)
	before := f.audit(s)
	buy(mine, s, 102, shop.VerdictRecovering) // seq has caught up
	if f.stale.Load() != 2 {
		t.Errorf("OnStale was called %d times, want 2", f.stale.Load())
	}
	if after := f.audit(s); after.Counters != before.Counters {
		t.Errorf("a rejected call changed the counters: %+v, then %+v", before.Counters, after.Counters)
	}
	if st := f.state(1); st.Seq != 5 || st.Seen != 4 {
		t.Errorf("state %+v, want seq 5 and seen 4", st)
	}
	lost, err := f.recovery().Missing(f.ctx, 1, testEpoch, nil)
	if err != nil || len(lost) != 1 || lost[0].User != 103 {
		t.Errorf("missing is %+v, %v; want the order of user 103", lost, err)
	}
	buy(mine, s, 107, shop.VerdictRecovering) // the check does not delete the seen orders
}

// stateHook calls callback after Redis has replied to state.lua, before the caller receives the reply.
type stateHook struct {
	commandLog
	callback func()
}

func (h *stateHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && args[1] == stateScript.sha {
			h.callback()
		}
		return err
	}
}

// I8: a buy happens after Redis has replied to state.lua, and the node receives the result of the buy first. Nothing is
// missing, so the healthy partition must not be recovered during its sale.
func TestBuyDuringACheckIsNotMissing(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s, g := f.openSale(50), f.gate(f.inventory)
	f.wantVerdict(g, buyOf(s, 100, 1, "key-before"), shop.VerdictReserved)
	f.must(f.client.ScriptLoad(f.ctx, stateScript.text).Err())
	f.client.AddHook(&stateHook{callback: func() {
		f.wantVerdict(g, buyOf(s, 101, 1, "key-during"), shop.VerdictReserved)
	}})
	if st := f.state(1); st.Seq != 1 || st.Seen != 1 {
		t.Errorf("Redis is at seq %d and this node has seen seq %d, want 1 and 1", st.Seq, st.Seen)
	}
	if _, seen, _ := f.inventory.parts[1].accepted.highest(); seen != 2 {
		t.Errorf("the node has seen seq %d since, want 2", seen)
	}
}

// I8: Missing also checks orders from rows. A node that has just started, or only reads, records the newest order as
// seen. Absent sales are skipped.
func TestMissingChecksLastOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(50)
		d := f.wantVerdict(f.gate(f.inventory), buyOf(s, 100, 1, "key-one-1"), shop.VerdictReserved)
		row := shop.LastOrder{Sale: s.Ref(), User: 100, Order: d.Order}
		newNode := f.node(f.client)
		missing := func(l *Inventory, want int, rows ...shop.LastOrder) {
			t.Helper()
			if lost, err := l.Recovery().Missing(f.ctx, 1, testEpoch, rows); err != nil || len(lost) != want {
				t.Fatalf("missing are %+v, %v; want %d", lost, err, want)
			}
		}
		missing(newNode, 0, row)
		missing(newNode, 1, row, shop.LastOrder{Sale: s.Ref(), User: 100, Order: newID()})
		missing(newNode, 1, shop.LastOrder{Sale: s.Ref(), User: 7, Order: d.Order})
		missing(newNode, 0, shop.LastOrder{Sale: shop.SaleRef{ID: newID(), Partition: 1}, User: 7, Order: newID()})
		f.must(f.client.HDel(f.ctx, f.inventory.parts[1].keys.buyers(s.ID), "100").Err())
		missing(newNode, 1) // its first check has recorded the order in the stream as seen
		f.wantVerdict(f.gate(newNode), buyOf(s, 101, 1, "key-two-1"), shop.VerdictRecovering)
		f.must(f.client.Unlink(f.ctx, f.inventory.parts[1].keys.sale(s.ID)).Err())
		missing(newNode, 0)
	})
}

// I8: after a restart of the server nothing is sold until a node has confirmed its history; then sales continue. A
// promoted replica reports the history that it followed, and its lag and pending are correct (P7). This needs a real
// Redis.
func TestNewHistoryNeedsConfirmation(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	proxy := kit.NewProxy(t, server.URL)
	f := newFixture(t, proxy.URL)
	s, g, other := f.openSale(50), f.gate(f.inventory), f.gate(f.node(f.client))
	f.wantVerdict(g, buyOf(s, 100, 1, "key-one-1"), shop.VerdictReserved)
	first, err := f.recovery().State(f.ctx, 1)
	f.must(err)
	if len(first.History) != 40 || first.Confirmed != first.History || first.Followed != "" {
		t.Fatalf("got state %+v, want a confirmed history", first)
	}
	server.Kill()
	server.Start()
	kit.Eventually(t, testTimeout, func() (bool, string) { return f.reachable() })
	f.wantVerdict(g, buyOf(s, 101, 1, "key-two-1"), shop.VerdictRecovering)
	f.wantVerdict(other, buyOf(s, 101, 1, "key-two-1"), shop.VerdictRecovering)
	again, err := f.recovery().State(f.ctx, 1)
	f.must(err)
	if again.History == first.History || again.Confirmed != first.History || again.Followed != "" {
		t.Fatalf("after a restart: got state %+v, want another history than %+v", again, first)
	}
	if err := f.recovery().Confirm(f.ctx, 1, first); err == nil {
		t.Fatal("Confirm accepted a check of another history")
	}
	f.must(f.recovery().Confirm(f.ctx, 1, again))
	f.wantVerdict(g, buyOf(s, 101, 1, "key-two-1"), shop.VerdictReserved)
	f.wantVerdict(other, buyOf(s, 102, 1, "key-three"), shop.VerdictReserved)

	f.delivered("node-1", 2)
	replica := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	replica.Follow(server)
	server.Kill()
	replica.Promote()
	proxy.Redirect(replica.URL)
	kit.Eventually(t, testTimeout, func() (bool, string) { return f.reachable() })
	f.wantVerdict(g, buyOf(s, 103, 1, "key-four1"), shop.VerdictRecovering)
	promoted, err := f.recovery().State(f.ctx, 1)
	f.must(err)
	if promoted.Confirmed != again.History || promoted.Followed == "" || promoted.History == again.History {
		t.Fatalf("promoted replica: got state %+v, want to follow %+v", promoted, again)
	}
	_, err = NewLagFixer(f.inventory).runOnce(f.ctx)
	f.must(err)
	f.wantGroup(1, 2)
}

// I8: data that a recovery read or restored before the server began another history may be lost. Results from the
// earlier history do not close the partition. A partition that is already closed stays closed.
func TestRecoveryRestartsOnAnotherHistory(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	f := newFixture(t, server.URL)
	before, err := f.recovery().State(f.ctx, 1)
	f.must(err)
	restart := func() {
		server.Kill()
		server.Start()
		kit.Eventually(t, testTimeout, func() (bool, string) { return f.reachable() })
	}
	restart()
	recovery := shop.PartitionRecovery{Claim: testEpoch + 1, Database: database}
	err = f.recovery().Close(f.ctx, 1, recovery, before.History)
	if !errors.Is(err, shop.ErrTransient) {
		t.Fatalf("close on a server that was restarted since the check: got %v, want ErrTransient", err)
	}
	if s, err := f.recovery().State(f.ctx, 1); err != nil || s.Recovering || s.Confirmed != before.History {
		t.Fatalf("got state %+v, %v; want the earlier confirmation", s, err)
	}
	f.close(testEpoch+1, false)
	restart()
	if err := f.recovery().Open(f.ctx, 1, recovery, 0, 0); !errors.Is(err, shop.ErrTransient) {
		t.Fatalf("open on a server that was restarted since the close: got %v, want ErrTransient", err)
	}
	f.close(testEpoch+1, true)
	f.open(testEpoch+1, 0, true)
}

// reachable reports whether a new connection succeeds.
func (f *fixture) reachable() (bool, string) {
	err := f.client.Ping(f.ctx).Err()
	return err == nil, fmt.Sprint("ping: ", err)
}

// The recorded reservations are valid within their epoch. The next epoch reports how many of them are lost.
func TestAcceptedReservationsAreValidWithinTheirEpoch(t *testing.T) {
	t.Parallel()
	var s acceptedReservations
	s.add(3, 7, reservationRef{seq: 10, user: 1, order: 11})
	s.add(3, 7, reservationRef{seq: 9, user: 2, order: 12}) // older
	s.add(3, 8, reservationRef{seq: 14})
	s.add(2, 7, reservationRef{seq: 99, user: 3, order: 13}) // of an earlier epoch
	if seq, last := s.lookup(3, 7); seq != 14 || last.order != 11 {
		t.Errorf("got seq %d and last %+v, want 14 and order 11", seq, last)
	}
	if seq, last := s.lookup(4, 7); seq != 0 || last != (reservationRef{}) {
		t.Errorf("of the next epoch: got seq %d and last %+v, want zero values", seq, last)
	}
	for _, c := range []struct{ epoch, lastSeq, lost int64 }{{3, 0, 0}, {2, 0, 0}, {4, 12, 2}, {4, 12, 0}, {5, 12, 0}} {
		if lost := s.begin(c.epoch, c.lastSeq); lost != c.lost {
			t.Errorf("epoch %d after seq %d: got %d lost reservations, want %d", c.epoch, c.lastSeq, lost, c.lost)
		}
	}
	var newNode acceptedReservations
	if lost := newNode.begin(9, 0); lost != 0 {
		t.Errorf("got %d lost reservations of a new node, want 0", lost)
	}
}
