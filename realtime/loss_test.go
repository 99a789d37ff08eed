package realtime

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// resyncs returns the number of resyncs of this node.
func (n *node) resyncs() int { return int(testutil.ToFloat64(n.hub.metrics.resyncs)) }

// shortMessageTimeout makes a node detect a missing message after 50 ms.
func shortMessageTimeout(o *Options) { o.MessageWithin = 50 * time.Millisecond }

// F5: a message contains the number of its predecessor. If the predecessor is missing, rows are read.
func TestLostMessageIsReadFromTheRows(t *testing.T) {
	t.Parallel()
	n, p := startProven(t)
	n.feed.lose(t, orderWithRev(7, 100, 1))
	n.feed.commitAndPublish(t, orderWithRev(8, 103, 1)) // same partition, another user
	p.awaitStates("100/1")
}

// F5: when a partition is silent and others continue, the latest numbers reveal the loss.
func TestLatestNumbersRevealLostLastMessage(t *testing.T) {
	t.Parallel()
	n, p := startProven(t, shortMessageTimeout)
	n.feed.lose(t, orderWithRev(7, 100, 1)) // partition 1
	for i := range 20 {
		n.feed.commitAndPublish(t, orderWithRev(8, shop.ID(3*i+200), 1)) // partition 2
	}
	p.awaitStates("100/1")
	n.awaitProven()
}

// While a message is missing, no event has a cursor after the change of this message.
func TestCursorStaysWhileAMessageIsMissing(t *testing.T) {
	t.Parallel()
	n, p := startProven(t)
	n.feed.lose(t, orderWithRev(7, 100, 1)) // undetected: MessageWithin is long
	lost, _ := n.feed.Clock(t.Context())
	for i := range 20 {
		<-time.After(n.hub.options.ProbeEvery)
		n.feed.commitAndPublish(t, orderWithRev(7, shop.ID(101+3*i), 1))
	}
	for _, e := range p.awaitOrders(20) {
		if at, err := ParseCursor(e.Cursor); err != nil || at.At > lost.At {
			t.Errorf("event of order %s has cursor %s, want at most the lost change at %d", e.Order.ID, e.Cursor, lost.At)
		}
	}
}

// An unreadable message counts as lost. The changes before the error are delivered immediately.
func TestUnreadableMessageTriggersReadOfRows(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(n *node){
		"an unreadable line": func(n *node) { n.feed.publishText(t, n.feed.namespace, 1, "7 {\"ev\":\"order\"") },
		"not a change":       func(n *node) { n.feed.publishText(t, n.feed.namespace, 1, "not a change\n") },
		"a message without a number": func(n *node) {
			n.feed.redis.Publish(t.Context(), shop.ChangesChannel(n.feed.namespace, 0), "without number")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, p := startProven(t)
			n.feed.commit(orderWithRev(7, 100, 1))
			publish(n)
			p.awaitStates("100/1")
		})
	}
}

// The subscription is open but delivers no messages.
func TestStalledSubscriptionLosesNoChange(t *testing.T) {
	t.Parallel()
	url := kit.Redis(t)
	proxy := kit.NewProxy(t, url)
	f := newFeed(t, url)
	f.url = proxy.URL
	n := startNodeOn(t, f, shortMessageTimeout)
	n.awaitProven()
	p := n.connect(t, 7)
	proxy.Stall()
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 1))
	p.awaitStates("100/1")
	n.feed.commitAndPublish(t, orderWithRev(7, 101, 1), orderWithRev(7, 102, 1))
	p.awaitOrder("the second", func(e orderEvent) bool { return e.Order.ID == 101 })
	p.awaitOrder("the third", func(e orderEvent) bool { return e.Order.ID == 102 })
	proxy.Restore()
	n.feed.commitAndPublish(t, orderWithRev(7, 103, 1))
	p.awaitOrder("the fourth", func(e orderEvent) bool { return e.Order.ID == 103 })
	n.awaitProven()
}

// Redis restarts without data: the latest numbers are absent and numbers restart.
func TestRedisRestartLosesNoChange(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{})
	n := startNodeOn(t, newFeed(t, server.URL), shortMessageTimeout)
	n.awaitProven()
	p := n.connect(t, 7)
	for i := range 5 {
		n.feed.commitAndPublish(t, orderWithRev(7, 100, i+1))
	}
	p.awaitStates("100/1", "100/2", "100/3", "100/4", "100/5")
	server.Kill()
	n.feed.commit(orderWithRev(7, 100, 6)) // cannot be published
	server.Start()
	p.awaitStates("100/1", "100/2", "100/3", "100/4", "100/5", "100/6")
	kit.Eventually(t, testTimeout, func() (bool, string) { return n.resyncs() >= 2, "waiting for the second subscription" })
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 7))
	p.awaitOrder("the next event", func(e orderEvent) bool { return e.Order.Rev == 7 })
	n.awaitProven()
}

// Redis fails over while the subscription stays open: numbers go back and are reused, and some of these messages are
// lost.
func TestReusedNumbersLoseNoChange(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(t *testing.T, n *node){
		"no message":        func(*testing.T, *node) {},
		"a repeated number": func(t *testing.T, n *node) { n.feed.commitAndPublish(t, orderWithRev(8, 106, 1)) },
		"a new number after a loss": func(t *testing.T, n *node) {
			n.feed.lose(t, orderWithRev(8, 106, 1))
			n.feed.commitAndPublish(t, orderWithRev(8, 109, 1))
		},
		"lost messages up to the next number": func(t *testing.T, n *node) {
			n.feed.lose(t, orderWithRev(8, 106, 1), orderWithRev(8, 107, 1))
			n.feed.lose(t, orderWithRev(8, 109, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, p := startProven(t, shortMessageTimeout)
			for i := range 4 {
				n.feed.commitAndPublish(t, orderWithRev(7, 100, i+1))
			}
			p.awaitStates("100/1", "100/2", "100/3", "100/4")
			n.awaitProven()
			if err := n.feed.redis.HIncrBy(t.Context(), n.feed.meta(1), "published", -3).Err(); err != nil {
				t.Fatal(err)
			}
			n.feed.lose(t, orderWithRev(7, 103, 1))
			after(t, n)
			// The recovery increments the epoch of the partition.
			if err := n.feed.redis.HIncrBy(t.Context(), n.feed.meta(1), "epoch", 1).Err(); err != nil {
				t.Fatal(err)
			}
			p.awaitOrder("the lost change", func(e orderEvent) bool { return e.Order.ID == 103 })
			n.awaitProven()
		})
	}
}

// Clocks of the database, Redis and nodes may be minutes apart. Only the database's clock is used.
func TestClockSkewOfMinutesLosesNoChange(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-7 * time.Minute, 7 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			f := newFeed(t, kit.Redis(t))
			f.ahead = ahead
			n := startNodeOn(t, f)
			n.shop.set(func(s *fakeShop) { s.ahead = -3 * ahead })
			n.awaitProven()
			p := n.dial(t)
			ok := p.hello(7, "")
			n.feed.lose(t, orderWithRev(7, 100, 1))
			n.feed.commitAndPublish(t, orderWithRev(7, 103, 1))
			p.awaitOrder("the lost change", func(e orderEvent) bool { return e.Order.ID == 100 })
			n.awaitProven()
			again := n.dial(t).hello(7, ok.Cursor)
			if again.Reset || len(again.Missed) != 2 {
				t.Errorf("hello returned %+v, want two missed orders and no reset", again)
			}
		})
	}
}

// Changes are detected after the database's clock goes back.
func TestDatabaseClockGoingBackLosesNoChange(t *testing.T) {
	t.Parallel()
	n, p := startProven(t)
	n.feed.set(func(d *database) { d.ahead = -10 * time.Minute })
	n.feed.lose(t, orderWithRev(7, 100, 1))
	n.feed.commitAndPublish(t, orderWithRev(8, 103, 1))
	p.awaitStates("100/1")
	kit.Eventually(t, testTimeout, func() (bool, string) {
		now, _ := n.feed.Clock(t.Context())
		return n.hub.proven.Load().At <= now.At, "the proven instant is in the future"
	})
}
