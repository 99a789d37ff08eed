package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// states returns "order/rev" of each order event.
func states(events []*orderEvent) []string {
	var list []string
	for _, e := range events {
		list = append(list, fmt.Sprintf("%s/%d", e.Order.ID, e.Order.Rev))
	}
	return list
}

// receivedStates returns the states that a peer has received, in order.
func (p *peer) receivedStates() []string { return states(p.orders()) }

// withoutRepeats returns the received states without repeats. A repeat has a rev that is not greater than the newest
// received rev of the order.
func (p *peer) withoutRepeats() []string {
	revs := make(map[shop.ID]int)
	return states(slices.DeleteFunc(p.orders(), func(e *orderEvent) bool {
		repeat := e.Order.Rev <= revs[e.Order.ID]
		revs[e.Order.ID] = max(e.Order.Rev, revs[e.Order.ID])
		return repeat
	}))
}

// awaitStates waits until a peer has received exactly these states, without repeats.
func (p *peer) awaitStates(want ...string) {
	p.t.Helper()
	kit.Eventually(p.t, testTimeout, func() (bool, string) {
		diff := cmp.Diff(want, p.withoutRepeats())
		return diff == "", "received states (-want +got):\n" + diff
	})
}

// orderEvent is an order event.
type orderEvent = wsclient.OrderEvent

// awaitOrders waits until n order events were received.
func (p *peer) awaitOrders(n int) []*orderEvent {
	p.t.Helper()
	p.awaitEvents("order", n)
	return p.orders()
}

// awaitOrder waits for the first order event that matches.
func (p *peer) awaitOrder(what string, matches func(e orderEvent) bool) orderEvent {
	p.t.Helper()
	f := p.await(what, func(f *wsclient.Frame) bool {
		e, is := f.Event.(*wsclient.OrderEvent)
		return is && matches(*e)
	})
	return *f.Event.(*wsclient.OrderEvent)
}

// wantMissed checks that the reply to a hello has these missed states and no reset.
func wantMissed(t *testing.T, ok *wsclient.Welcome, want ...string) {
	t.Helper()
	var missed []*orderEvent
	for i := range ok.Missed {
		missed = append(missed, &ok.Missed[i])
	}
	wantSame(t, "missed", want, states(missed))
	if ok.Reset {
		t.Error("got a reset, want missed orders")
	}
}

func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// All devices of a user receive an event, on all nodes, and no other user receives it.
func TestEventReachesAllDevicesOnAllNodes(t *testing.T) {
	t.Parallel()
	one, two := startPair(t)
	mine, other := []*peer{one.connect(t, 7), one.connect(t, 7), two.connect(t, 7)}, two.connect(t, 8)
	one.feed.commitAndPublish(t, orderWithRev(7, 100, 1), orderWithRev(7, 103, 1))
	one.feed.commitAndPublish(t, orderWithRev(7, 100, 2))
	for _, p := range mine {
		p.awaitEvents("order", 3)
		wantSame(t, "received states", []string{"100/1", "103/1", "100/2"}, p.receivedStates())
	}
	other.waitHandled()
	if got := other.receivedStates(); len(got) != 0 {
		t.Errorf("another user received the states %v, want none", got)
	}
}

// Events also arrive through the embedded Redis.
func TestEventsArriveThroughEmbeddedRedis(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, newFeed(t, "redis://"+miniredis.RunT(t).Addr()))
	n.awaitProven()
	p := n.connect(t, 7)
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 1), orderWithRev(7, 101, 1))
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 2))
	p.awaitEvents("order", 3)
	n.awaitProven()
}

// P6: a client that reconnects receives the newest state of every order that changed while it was disconnected.
func TestReconnectWithCursorMissesNothing(t *testing.T) {
	t.Parallel()
	one, two := startPair(t)
	p := one.connect(t, 7)
	one.feed.commitAndPublish(t, orderWithRev(7, 100, 1))
	p.awaitEvents("order", 1)
	cursor := p.conn.Cursor()
	p.conn.Close()
	one.awaitClients(0)
	one.feed.commitAndPublish(t, orderWithRev(7, 100, 2), orderWithRev(8, 200, 1))
	one.feed.commitAndPublish(t, orderWithRev(7, 101, 1))
	one.feed.commitAndPublish(t, orderWithRev(7, 101, 2))

	again := two.dial(t)
	ok := again.hello(7, cursor)
	wantMissed(t, &ok, "100/2", "101/2")
	for _, missed := range ok.Missed {
		if missed.Ev != "order" || missed.Key != "key-of-it" || missed.Cursor != ok.Cursor {
			t.Errorf("got missed event %+v, want the cursor of the reply, %s", missed, ok.Cursor)
		}
	}
	two.feed.commitAndPublish(t, orderWithRev(7, 101, 3))
	again.awaitOrder("the new state", func(e orderEvent) bool { return e.Order.ID == 101 && e.Order.Rev == 3 })
}

// A cursor never expires, because the rows are always available.
func TestHelloWithOldCursorIsNotReset(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.feed.commitWithAge(50*24*time.Hour, orderWithRev(7, 100, 2), orderWithRev(7, 101, 1))
	n.feed.commitWithAge(29*24*time.Hour, orderWithRev(7, 102, 5))
	now, _ := n.feed.Clock(t.Context())
	ok := n.dial(t).hello(7, Cursor{now.At.Add(-30 * 24 * time.Hour), now.History}.String())
	wantMissed(t, &ok, "102/5")
}

// F5, F6: a change may be published up to PublishDeadline after its timestamp. A cursor or a proven instant between the
// timestamp and the publication covers the timestamp but not the change. Hello and resync therefore read rows from an
// earlier time: the cursor or the instant, minus Overlap.
func TestOverlapCoversChangesPublishedLate(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.awaitProven()
	n.feed.commitWithAge(shop.PublishDeadline, orderWithRev(7, 100, 1))
	p := n.dial(t)
	ok := p.hello(7, n.hub.proven.Load().text)
	wantMissed(t, &ok, "100/1")
	n.feed.commitWithAge(shop.PublishDeadline, orderWithRev(7, 101, 1))
	n.hub.recordGap("a test")
	p.awaitOrder("the change in progress", func(e orderEvent) bool { return e.Order.ID == 101 })
}

// P6: a hello that missed more than 100 orders returns reset. Only changed orders count, also for a buyer with very
// many orders.
func TestHelloWithTooManyChangedOrdersReturnsReset(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.awaitProven() // otherwise the first resync of the node would close the connection
	now, _ := n.feed.Clock(t.Context())
	cursor := Cursor{now.At.Add(-time.Hour), now.History}.String()
	for i := range 2000 {
		n.feed.commitWithAge(2*time.Hour, orderWithRev(7, shop.ID(1000+i), 1))
	}
	for i := range maxChanges {
		n.feed.commit(orderWithRev(7, shop.ID(1000+i), 2))
	}
	if ok := n.dial(t).hello(7, cursor); ok.Reset || len(ok.Missed) != maxChanges {
		t.Fatalf("got reset %v, %d missed orders; want %d", ok.Reset, len(ok.Missed), maxChanges)
	}
	n.feed.commit(orderWithRev(7, 2999, 2))
	ok := n.dial(t).hello(7, cursor)
	if !ok.Reset || len(ok.Missed) != 0 || ok.Cursor == "" || ok.Cursor == cursor {
		t.Errorf("more than %d orders: got %+v, want a reset", maxChanges, ok)
	}
}

// Hello with an unusable cursor returns reset and a new cursor. An unusable cursor is invalid, of another history, or
// later than the database's clock.
func TestUnusableCursorIsReset(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	now, _ := n.feed.Clock(t.Context())
	for _, cursor := range []string{
		"not a cursor", noCursor.String(),
		Cursor{now.At, "ffffffff"}.String(), Cursor{now.At.Add(time.Hour), now.History}.String(),
	} {
		ok := n.dial(t).hello(7, cursor)
		if next, err := ParseCursor(ok.Cursor); !ok.Reset || len(ok.Missed) != 0 || err != nil ||
			next.History != now.History {
			t.Errorf("hello with cursor %s returned %+v, want a reset", cursor, ok)
		}
		if ok := n.dial(t).hello(7, ok.Cursor); ok.Reset {
			t.Errorf("hello after a reset returned %+v, want no reset", ok)
		}
	}
}

// Events during hello follow its reply, and no event is lost.
func TestEventsDuringHelloAreNotLost(t *testing.T) {
	t.Parallel()
	n, cursor := startWithCursor(t)
	n.feed.set(func(d *database) {
		d.beforeRead = func() {
			n.feed.set(func(d *database) { d.beforeRead = nil })
			n.feed.commitAndPublish(t, orderWithRev(7, 100, 1)) // published before the rows are read
		}
	})
	n.shop.set(func(s *fakeShop) {
		s.reservations = func(user shop.ID) ([]shop.Reservation, error) {
			// published after the rows were read
			n.feed.commitAndPublish(t, orderWithRev(user, 101, 1), orderWithRev(user, 102, 1))
			return []shop.Reservation{{Order: 101, Sale: 11, State: shop.Reserved}}, nil
		}
	})
	p := n.dial(t)
	// The test does not use call, so that the reply stays in the list of frames and its position is known.
	p.send(`{"id":77,"op":"hello","token":"user:7","cursor":"` + cursor + `"}`)
	frame := p.await("the reply", func(f *wsclient.Frame) bool { return isReply(f, 77) })
	var ok wsclient.Welcome
	if err := json.Unmarshal(frame.OK, &ok); err != nil {
		t.Fatal(err)
	}
	if wantMissed(t, &ok, "100/1"); len(ok.Reservations) != 1 {
		t.Fatalf("got the reply %+v to hello, want one reservation", ok)
	}
	n.feed.commitAndPublish(t, orderWithRev(7, 103, 1))
	n.feed.commitAndPublish(t, orderWithRev(7, 106, 1)) // in the same partition, so it arrives after order 103
	p.awaitOrder("the last event", func(e orderEvent) bool { return e.Order.ID == 106 })
	kit.Eventually(t, testTimeout, func() (bool, string) {
		states := p.receivedStates()
		return len(slices.Compact(slices.Sorted(slices.Values(states)))) >= 4, fmt.Sprint(states)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isReply(p.received[0], 77) {
		t.Errorf("got the first frame %+v, want the reply to hello", p.received[0])
	}
}

// Concurrent ops `hello` share reads of rows.
func TestHellosShareReads(t *testing.T) {
	t.Parallel()
	const peers = 100
	n, cursor := startWithCursor(t, func(o *Options) { // a busy machine needs long to send all hello ops
		o.HelloWithin, o.OpWithin, o.ReadWithin = testTimeout, testTimeout, testTimeout
	})
	begun, hold := make(chan struct{}, peers), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release) // before the node stops, because it waits for its reads
	n.feed.set(func(d *database) {
		d.reads, d.beforeRead = 0, func() {
			begun <- struct{}{}
			<-hold
		}
	})
	welcomes := make(chan wsclient.Welcome, peers)
	var hellos sync.WaitGroup
	for i := range peers {
		n.feed.commit(orderWithRev(shop.ID(i+1), shop.ID(100+i), 1))
		p := n.dial(t)
		hellos.Go(func() { welcomes <- p.hello(shop.ID(i+1), cursor) })
	}
	for range readersAtOnce {
		<-begun
	}
	kit.Eventually(t, testTimeout, func() (bool, string) {
		n.hub.helloQueue.mu.Lock()
		defer n.hub.helloQueue.mu.Unlock()
		return len(n.hub.helloQueue.waiting) >= peers-readersAtOnce*groupUsers && n.runningHellos() == peers, "waiting for all hello ops"
	})
	release()
	hellos.Wait()
	close(welcomes)
	for ok := range welcomes {
		if ok.Reset || len(ok.Missed) != 1 {
			t.Errorf("hello returned %+v, want one missed order", ok)
		}
	}
	if n.feed.reads > 10 {
		t.Errorf("got %d reads for %d hello ops, want at most 10", n.feed.reads, peers)
	}
}

// runningHellos returns the number of connections with a running hello.
func (n *node) runningHellos() (count int) {
	for _, c := range n.hub.allClients() {
		c.mu.Lock()
		if c.state != nil && c.state.helloRunning {
			count++
		}
		c.mu.Unlock()
	}
	return count
}

func TestHelloIsBusyWhileReservationsCannotBeRead(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.shop.set(func(s *fakeShop) {
		s.reservations = func(shop.ID) ([]shop.Reservation, error) { return nil, shop.FailBusy("later", time.Millisecond) }
	})
	p := n.dial(t)
	if e := p.wantError(`"op":"hello","token":"user:7"`, shop.Busy); e.RetryMS == 0 {
		t.Fatalf("got the error %+v, want it with retry_ms", e)
	}
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 1)) // no recipient
	n.shop.set(func(s *fakeShop) { s.reservations = nil })
	p.hello(7, "")
}

// Server processing time of a hello does not count against HelloWithin, and after Busy the client has the full time
// again.
func TestServerTimeDoesNotCountAgainstHelloDeadline(t *testing.T) {
	t.Parallel()
	const within = 3 * time.Second
	for name, fault := range map[string]error{
		"busy": shop.FailBusy("later", time.Millisecond), "internal": errors.New("broken"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, func(o *Options) { o.HelloWithin = within })
			n.shop.set(func(s *fakeShop) {
				s.reservations = func(shop.ID) ([]shop.Reservation, error) {
					<-time.After(within + within/10)
					return nil, fault
				}
			})
			p := n.dial(t)
			if r := p.call(`"op":"hello","token":"user:7"`); r.Error == nil {
				t.Fatalf("got %+v, want %v", r, fault)
			}
			n.shop.set(func(s *fakeShop) { s.reservations = nil })
			p.hello(7, "")
		})
	}
}

func TestExpiredTokenIsRejectedAndClosedAfterGrace(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.CheckEvery, o.TokenGrace = 5*time.Millisecond, 30*time.Second })
	p, renewing := n.dial(t), n.dial(t)
	until := n.shop.Now().Add(time.Hour)
	hello := fmt.Sprintf(`"op":"hello","token":"until:%d:7"`, until)
	p.mustCall(hello, nil)
	renewing.mustCall(hello, nil)

	n.shop.set(func(s *fakeShop) { s.ahead = time.Hour + time.Second })
	p.wantError(buyFields(`1`), shop.Unauthorized)
	p.waitHandled() // the socket stays open during TokenGrace
	var ok renewReply
	renewing.mustCall(`"op":"renew","token":"user:7"`, &ok)
	if ok.Expires <= until {
		t.Errorf("got a session until %d after renew, want later than %d", ok.Expires, until)
	}
	renewing.mustCall(buyFields(`1`), nil)

	n.shop.set(func(s *fakeShop) { s.ahead += time.Minute })
	p.awaitClose(CloseToken)
	renewing.mustCall(buyFields(`1`), nil)
}
