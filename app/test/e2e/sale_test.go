package e2e

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// buyAtOnce lets all clients buy at the same time, each with its own key. Each client repeats its buy with the same
// key. The result maps users to their accepted orders.
func buyAtOnce(t *testing.T, clients map[shop.ID]*client, sale shop.ID, repeats int) map[shop.ID]order.Receipt {
	t.Helper()
	var mu sync.Mutex
	accepted := make(map[shop.ID]order.Receipt)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for user, c := range clients {
		wg.Go(func() {
			<-start
			key := fmt.Sprintf("press-%d", user)
			for range 1 + repeats {
				r, err := c.BuyUntilKnown(sale, 1, key)
				var e *shop.Error
				if errors.As(err, &e) && e.Code == shop.SoldOut {
					continue
				}
				if err != nil {
					t.Errorf("user %s: %v", user, err)
					return
				}
				mu.Lock()
				if first, ok := accepted[user]; ok && (first.Order != r.Order || first.Ticket != r.Ticket) {
					t.Errorf("P4: user %s got order %s, then %s under the same key", user, first.Order, r.Order)
				}
				accepted[user] = r
				mu.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return accepted
}

// crowdChecked is the size of the group of crowd sockets of which one is checked against asyncapi.yaml.
const crowdChecked = 50

// crowd logs in n new users, spread over the nodes.
func crowd(t *testing.T, n int, nodes ...*node) map[shop.ID]*client {
	t.Helper()
	var mu sync.Mutex
	clients := make(map[shop.ID]*client, n)
	var wg sync.WaitGroup
	limit := make(chan struct{}, 64) // limits concurrent handshakes
	for i := range n {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			user := kit.NewID()
			c, err := tryDial(t, nodes[i%len(nodes)], i%crowdChecked == 0)
			if err != nil {
				t.Errorf("dial: %v", err)
				return
			}
			if _, err := c.Hello(token(t, user), ""); err != nil {
				t.Errorf("hello: %v", err)
				return
			}
			mu.Lock()
			clients[user] = c
			mu.Unlock()
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return clients
}

// P1, P4: 2,000 buyers on two nodes buy 100 units, with repeated buys. There are exactly 100 orders. All units return
// after their deadline and are sold again.
func TestTwoThousandBuyersGetAHundredUnits(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=10m")
	sale := s.open(100, 1)
	clients := crowd(t, 2000, s.start(), s.start())
	accepted := buyAtOnce(t, clients, sale.ID, 2)
	if len(accepted) != 100 {
		t.Fatalf("%d buyers accepted, want 100", len(accepted))
	}
	s.awaitDrained(sale)
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID); n != 100 {
		t.Fatalf("%d rows, want 100", n)
	}
	s.audit(sale)
	for user, r := range accepted {
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			return clients[user].received(r.Order, shop.Pending), fmt.Sprintf("user %s did not receive order %s", user,
				r.Order)
		})
	}

	s.expireOrders(sale, 100)
	if n := s.count("SELECT taken FROM sales WHERE id = ?", sale.ID); n != 0 {
		t.Errorf("the guard counts %d units as taken, want 0", n)
	}
	// The same users buy again with new keys.
	again := 0
	for user, c := range clients {
		if _, ok := accepted[user]; ok && again < 20 {
			if _, err := c.BuyUntilKnown(sale.ID, 1, fmt.Sprintf("second-%d", user)); err != nil {
				t.Errorf("a returned unit cannot be sold: %v", err)
			}
			again++
		}
	}
	s.awaitDrained(sale)
	s.audit(sale)
}

// P5: units return within a second of their deadline. The test requires this for fifty orders with the same deadline.
// For ten thousand orders it requires only that all units return; `just bench` measures the time. Not t.Parallel, and
// run alone: the limit of a second needs an otherwise idle machine.
func TestUnitsOfEqualDeadlinesReturnInTime(t *testing.T) {
	const buyers, perBuyer = 500, 20
	s := newShop(t, "STAMPEDE_PAY_WINDOW=10m")
	sale := s.open(buyers*perBuyer, perBuyer)
	few := s.open(50, 1)
	a := s.start()
	s.buyers(a, few, 50)
	s.awaitDrained(few)
	if late := s.expireOrders(few, 50); late > time.Second {
		t.Errorf("P5: 50 units were returned %v after their deadline, want at most 1 s", late)
	}
	var wg sync.WaitGroup
	for user, c := range crowd(t, buyers, a) {
		wg.Go(func() {
			for i := range perBuyer {
				if _, err := c.BuyUntilKnown(sale.ID, 1, fmt.Sprintf("bulk-%d-%d", user, i)); err != nil {
					t.Errorf("buy: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.awaitDrained(sale)
	s.expireOrders(sale, buyers*perBuyer)
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ? AND state = 'expired'", sale.ID); n != buyers*perBuyer {
		t.Errorf("%d orders expired, want %d", n, buyers*perBuyer)
	}
	s.audit(sale)
}

// expireOrders moves all pending orders of the sale to the same deadline and waits until the units are back. It returns
// the time since the deadline.
func (s *testShop) expireOrders(sale shop.Sale, units int64) (late time.Duration) {
	s.t.Helper()
	deadline := s.setDeadline(sale, 3*time.Second)
	kit.Eventually(s.t, waitTimeout, func() (bool, string) {
		back := s.counter(sale, "stock")
		return back == units, fmt.Sprintf("%d of %d units are returned", back, units)
	})
	now, err := s.redis.Time(kit.Context(s.t)).Result()
	s.must(err)
	late = now.Sub(deadline.Time())
	s.t.Logf("%d units were returned %v after the deadline", units, late)
	return late
}

// setDeadline moves all pending orders of the sale to one deadline, in the rows and in the delay queue. It returns the
// deadline.
func (s *testShop) setDeadline(sale shop.Sale, in time.Duration) shop.Millis {
	s.t.Helper()
	ctx := kit.Context(s.t)
	now, err := s.redis.Time(ctx).Result()
	s.must(err)
	deadline := shop.MillisOf(now.Add(in))
	_, err = s.db.ExecContext(ctx, "UPDATE orders SET pay_by = ? WHERE sale_id = ? AND state = 'pending'", deadline,
		sale.ID)
	s.must(err)
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM orders WHERE sale_id = ? AND state = 'pending'", sale.ID)
	s.must(err)
	defer func() { _ = rows.Close() }()
	var members []redis.Z
	for rows.Next() {
		var id string
		s.must(rows.Scan(&id))
		members = append(members, redis.Z{Score: float64(deadline), Member: id})
	}
	s.must(rows.Err())
	s.must(s.redis.ZAdd(ctx, fmt.Sprintf("stampede:{%d}:deadlines", sale.Partition), members...).Err())
	return deadline
}
