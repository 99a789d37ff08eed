package e2e

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// I8, P1, P4: a replica that lacks the newest reservations is promoted under load. Buyers whose orders have rows buy
// again at once, on a node that saw their orders and on a new node that did not. Their buys let the `seq` of Redis
// catch up before any node compares it with the `seq` that it has seen. No buyer gets a second order. Acknowledged
// reservations without a row are counted and reported, and selling continues.
func TestPromotedReplicaAllowsNoSecondOrder(t *testing.T) {
	t.Parallel()
	const buyerCount, unwritten = 20, 5
	master := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	replica := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	wire, link := kit.NewProxy(t, master.URL), kit.NewProxy(t, master.URL)
	s := openShop(t, wire.URL, kit.MySQL(t))
	sale := s.open(1000, 1)
	a, worker := s.start("STAMPEDE_ROLES=api,sweeper"), s.start("STAMPEDE_ROLES=worker")
	kept := s.buyers(a, sale, buyerCount)
	s.awaitDrained(sale)
	replica.FollowVia(master, link)
	link.Stall() // from here on the replica receives nothing
	lost := s.buyers(a, sale, buyerCount)
	s.awaitDrained(sale)
	if code := worker.stop(); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0", code)
	}
	s.buyers(a, sale, unwritten)
	promoted := plainRedis(t, replica.URL)
	if n, err := promoted.HGet(kit.Context(t), kit.SaleKey(&sale), "tickets").Int(); err != nil || n != buyerCount {
		t.Fatalf("the replica has %d tickets, %v; want the first %d", n, err, buyerCount)
	}

	buying := sync.WaitGroup{}
	done := make(chan struct{})
	buyAgain := func(n *node, users []shop.ID) {
		for _, user := range users {
			c := loginWithRetries(t, n, user)
			buying.Go(func() {
				for try := 0; ; try++ {
					_, err := c.Buy(sale.ID, 1, fmt.Sprintf("again-%s-%d-%s", user, try, n.addr[len("127.0.0.1:"):]))
					var e *shop.Error
					switch {
					case errors.Is(err, wsclient.ErrNoReply): // closed, because personal events were lost, too
						c = loginWithRetries(t, n, user)
					case errors.As(err, &e) &&
						(e.Code == shop.Busy || e.Code == shop.RateLimited || e.Code == shop.LimitReached):
						c.Pause(0)
					default:
						t.Errorf("I8: user %s has an order and got %v for another buy, want limit_reached", user, err)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
	}
	buyAgain(a, lost) // these buyers receive limit_reached
	replica.Promote()
	wire.Redirect(replica.URL)
	master.Kill()
	promotedAt := time.Now()
	others := s.buyers(a, sale, buyerCount)
	t.Logf("the first %d buys after the move took %v", buyerCount, time.Since(promotedAt).Round(time.Millisecond))
	b := s.start()
	buyAgain(b, lost)
	buyAgain(b, kept)
	others = append(others, s.buyers(b, sale, buyerCount)...)
	close(done)
	buying.Wait()
	s.awaitDrained(sale)
	s.audit(sale)
	s.requireOneOrderPerBuyer(sale, len(kept)+len(lost)+len(others))
	if log := a.Text() + b.Text(); !strings.Contains(log, "a replica was promoted") {
		t.Error("no node logged the promotion")
	}
	if n := a.metric("stampede_reservations_lost_total"); n != unwritten {
		t.Errorf("%v reservations are counted as lost, want %d", n, unwritten)
	}
	if !strings.Contains(a.Text(), "Redis lost accepted reservations") {
		t.Error("the node did not log the loss")
	}
}

// I8: Redis returns to an older copy of the partition while a node runs. Then the buyers whose orders the copy lacks
// send as many buys at once as were lost. The node has seen a newer state, so none of them is accepted.
func TestOlderRedisCopyAllowsNoSecondOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100, 1)
	n := s.start()
	kept := s.buyers(n, sale, 5)
	s.awaitDrained(sale)
	copied := s.dump(sale)
	lost := s.buyers(n, sale, 10)
	s.awaitDrained(sale)
	clients := make([]*client, len(lost))
	for i, user := range lost {
		clients[i], _ = login(t, n, user, "")
	}
	s.restore(copied)
	var buying sync.WaitGroup
	for i, c := range clients {
		buying.Go(func() {
			_, err := c.BuyUntilKnown(sale.ID, 1, fmt.Sprintf("pressed-again-%d", i))
			var e *shop.Error
			if !errors.As(err, &e) || e.Code != shop.LimitReached {
				t.Errorf("I8: user %s has an order and got %v for another buy, want limit_reached", lost[i], err)
			}
		})
	}
	buying.Wait()
	others := s.buyers(n, sale, 5)
	s.awaitDrained(sale)
	s.audit(sale)
	s.requireOneOrderPerBuyer(sale, len(kept)+len(lost)+len(others))
}

// A restarted Redis has all its data. Nothing is recovered, and selling continues within seconds.
func TestRestartedRedisIsNotRecovered(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	s := openShop(t, server.URL, kit.MySQL(t))
	sale := s.open(100, 1)
	n := s.start()
	s.buyers(n, sale, 5)
	server.Kill()
	server.Start()
	started := time.Now()
	s.buyers(n, sale, 5)
	t.Logf("the first 5 buys after the restart of Redis took %v", time.Since(started).Round(time.Millisecond))
	s.awaitDrained(sale)
	s.audit(sale)
	if got := strings.Count(n.Text(), "partition recovered"); got != 0 {
		t.Errorf("%d partitions were recovered at the first start or after a restart of Redis, want 0", got)
	}
}

// requireOneOrderPerBuyer checks that the sale has exactly one order per buyer.
func (s *testShop) requireOneOrderPerBuyer(sale shop.Sale, buyers int) {
	s.t.Helper()
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID); n != int64(buyers) {
		s.t.Errorf("got %d orders of %d buyers, want one per buyer", n, buyers)
	}
	if n := s.count("SELECT COUNT(DISTINCT user_id) FROM orders WHERE sale_id = ?", sale.ID); n != int64(buyers) {
		s.t.Errorf("P4: orders of %d buyers, want %d", n, buyers)
	}
}

// buyers lets the given number of new users buy one unit each on the node, and returns them.
func (s *testShop) buyers(n *node, sale shop.Sale, buyerCount int) []shop.ID {
	s.t.Helper()
	users := make([]shop.ID, buyerCount)
	var buying sync.WaitGroup
	for i := range users {
		users[i] = kit.NewID()
		buying.Go(func() {
			for {
				c := loginWithRetries(s.t, n, users[i])
				_, err := c.BuyUntilKnown(sale.ID, 1, "first-"+users[i].String())
				c.Close()
				if errors.Is(err, wsclient.ErrNoReply) {
					continue
				}
				if err != nil {
					s.t.Errorf("user %s: %v", users[i], err)
				}
				return
			}
		})
	}
	buying.Wait()
	return users
}

// loginWithRetries logs the user in. It retries for at most 30 s, because the shop may be busy.
func loginWithRetries(t *testing.T, n *node, user shop.ID) *client {
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := tryDial(t, n, true)
		if err == nil {
			if _, err = c.Hello(token(t, user), ""); err == nil {
				return c
			}
			c.Close()
		}
		if time.Now().After(deadline) {
			t.Errorf("user %s cannot log in: %v", user, err)
			return c
		}
	}
}
