package realtime

import (
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

func (f *feed) setUnreachable(unreachable bool) {
	f.set(func(d *database) { d.unreachable = unreachable })
}

// When the database is unreachable, hello succeeds. Events continue with the old cursor. When the database returns, the
// missed changes follow as events, and then the cursor advances.
func TestHelloSucceedsWhileDatabaseIsUnreachable(t *testing.T) {
	t.Parallel()
	n, cursor := startWithCursor(t)
	n.feed.commit(orderWithRev(7, 100, 2)) // the user has no connection yet
	n.feed.setUnreachable(true)
	p := n.dial(t)
	if ok := p.hello(7, cursor); ok.Reset || len(ok.Missed) != 0 || ok.Cursor != cursor {
		t.Fatalf("hello returned %+v, want no missed orders and cursor %s", ok, cursor)
	}
	n.feed.commitAndPublish(t, orderWithRev(7, 101, 1))
	if e := p.awaitOrders(1)[0]; e.Cursor != cursor {
		t.Errorf("got event cursor %s, want %s while rows are still to be read", e.Cursor, cursor)
	}
	n.feed.setUnreachable(false)
	missed := p.awaitOrder("the missed order", func(e orderEvent) bool { return e.Order.ID == 100 })
	if missed.Cursor != cursor || missed.Order.Rev != 2 {
		t.Errorf("got %+v, want rev 2 with cursor %s", missed, cursor)
	}
	n.awaitProven()
	n.feed.commitAndPublish(t, orderWithRev(7, 101, 2))
	e := p.awaitOrder("the next event", func(e orderEvent) bool { return e.Order.ID == 101 && e.Order.Rev == 2 })
	if e.Cursor == cursor {
		t.Error("got the old cursor again, want a later one")
	}
}

// If the missed rows cannot be sent as events, the connection is closed and the next hello returns reset.
func TestUnsendableMissedRowsCloseForResync(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(d *database){
		"too many changes": func(d *database) {
			for i := range maxChanges + 1 {
				d.rows[shop.ID(i+1)] = row{orderWithRev(7, shop.ID(i+1), 1), d.nowLocked()}
			}
		},
		"a new history": func(d *database) { d.history = "0badcafe" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, cursor := startWithCursor(t)
			n.feed.setUnreachable(true)
			p := n.dial(t)
			p.hello(7, cursor)
			n.feed.set(fault)
			n.feed.setUnreachable(false)
			p.awaitClose(CloseResync)
			if ok := n.dial(t).hello(7, cursor); !ok.Reset {
				t.Errorf("hello returned %+v, want a reset", ok)
			}
		})
	}
}

// A node that starts while the database is unreachable has no proven instant. It delivers events. When the database
// returns, it closes the connections, and the next hello returns reset.
func TestNodeStartsWhileDatabaseIsUnreachable(t *testing.T) {
	t.Parallel()
	f := newFeed(t, kit.Redis(t))
	f.setUnreachable(true)
	n := startNodeOn(t, f)
	kit.Eventually(t, testTimeout, func() (bool, string) { return n.hub.gapReason() != "", "waiting for the subscription" })
	p := n.dial(t)
	ok := p.hello(7, "")
	if ok.Cursor != noCursor.String() || ok.Reset {
		t.Fatalf("hello returned %+v, want noCursor and no reset", ok)
	}
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 1))
	p.awaitStates("100/1")
	n.feed.setUnreachable(false)
	p.awaitClose(CloseResync)
	if ok := n.dial(t).hello(7, p.orders()[0].Cursor); !ok.Reset || ok.Cursor == noCursor.String() {
		t.Errorf("hello returned %+v, want a reset", ok)
	}
}

// While the database is unreachable and rows of all users are to be read, events continue but the proven instant does
// not advance.
func TestInstantDoesNotAdvanceWhileRowsAreUnreadable(t *testing.T) {
	t.Parallel()
	n, p := startProven(t)
	var before shop.Millis // last time of the database's clock
	n.feed.set(func(d *database) { d.unreachable, before = true, d.nowLocked() })
	n.feed.lose(t, orderWithRev(7, 100, 1))
	n.feed.commitAndPublish(t, orderWithRev(7, 103, 1)) // reveals the loss
	n.feed.commitAndPublish(t, orderWithRev(7, 106, 1))
	for _, e := range p.awaitOrders(2) {
		if at, err := ParseCursor(e.Cursor); err != nil || at.At > before {
			t.Errorf("got event cursor %s, want at most %d", e.Cursor, before)
		}
	}
	n.feed.setUnreachable(false)
	p.awaitOrder("the lost change", func(e orderEvent) bool { return e.Order.ID == 100 })
	n.awaitProven()
	n.feed.commitAndPublish(t, orderWithRev(7, 109, 1))
	p.awaitOrder("the next event", func(e orderEvent) bool { return e.Order.ID == 109 })
}

// After a failover the database may lack commits and reuse a rev. A client with orders from before the failover is
// closed, and its next hello returns reset. A client that has read its orders from the new database is not reset.
func TestDatabaseFailoverResetsClients(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.ProbeEvery = 50 * time.Millisecond })
	n.awaitProven()
	p, anonymous := n.connect(t, 7), n.connect(t, 0)
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 3))
	cursor := p.awaitOrders(1)[0].Cursor
	n.feed.set(func(d *database) {
		d.history = "0badcafe"
		d.rows[100] = row{orderWithRev(7, 100, 2), d.nowLocked()}
	})
	p.awaitClose(CloseResync)
	again := n.dial(t)
	ok := again.hello(7, cursor)
	if at, err := ParseCursor(ok.Cursor); !ok.Reset || err != nil || at.History != "0badcafe" {
		t.Fatalf("hello returned %+v, want a reset to the new history", ok)
	}
	n.awaitProven()
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 3))
	e := again.awaitOrder("a repeated rev", func(e orderEvent) bool { return e.Order.Rev == 3 })
	if ok := n.dial(t).hello(7, e.Cursor); ok.Reset {
		t.Errorf("hello returned %+v, want no reset", ok)
	}
	anonymous.waitHandled() // a client without orders stays
	again.waitHandled()
}

// A resync closes the connections of a user with more than maxChanges changes for a new hello.
func TestResyncClosesUserWithTooManyChanges(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.awaitProven()
	p, other := n.dial(t), n.connect(t, 8)
	cursor := p.hello(7, "").Cursor
	for i := range maxChanges + 1 {
		n.feed.commit(orderWithRev(7, shop.ID(1000+i), 1))
	}
	n.feed.lose(t, orderWithRev(8, 100, 1))
	n.feed.commitAndPublish(t, orderWithRev(8, 103, 1))
	p.awaitClose(CloseResync)
	if ok := n.dial(t).hello(7, cursor); !ok.Reset {
		t.Errorf("hello returned %+v, want a reset", ok)
	}
	other.awaitOrder("the lost change", func(e orderEvent) bool { return e.Order.ID == 100 })
}

// If the rows of a user cannot be read, hello waits at most ReadWithin, and events do not wait.
func TestHelloWaitsForRowsAtMostReadWithin(t *testing.T) {
	t.Parallel()
	n, cursor := startWithCursor(t, func(o *Options) { o.ReadWithin = 50 * time.Millisecond })
	n.feed.commit(orderWithRev(7, 100, 1))
	hold := make(chan struct{})
	n.feed.set(func(d *database) { d.beforeRead = func() { <-hold } })
	p := n.dial(t)
	if ok := p.hello(7, cursor); ok.Reset || len(ok.Missed) != 0 || ok.Cursor != cursor {
		t.Errorf("hello returned %+v, want no missed orders and cursor %s", ok, cursor)
	}
	n.feed.commitAndPublish(t, orderWithRev(7, 101, 1))
	p.awaitStates("101/1")
	n.feed.set(func(d *database) { d.beforeRead = nil })
	close(hold)
	p.awaitOrder("the missed order", func(e orderEvent) bool { return e.Order.ID == 100 })
	wantSame(t, "received states", []string{"101/1", "100/1"}, p.withoutRepeats())
}
