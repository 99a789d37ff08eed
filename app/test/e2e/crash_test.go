package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2, P3: a node without a worker is killed under load. The next node writes exactly one pending row for each
// acknowledged buy.
func TestKillUnderLoadLosesNoAcknowledgedBuy(t *testing.T) {
	t.Parallel()
	const people, limit, enoughBuys = 60, 20, 100
	s := newShop(t)
	sale := s.open(people*limit, limit)
	n := s.start("STAMPEDE_ROLES=api")
	var mu sync.Mutex
	accepted := make(map[shop.ID]string) // order → key
	done := make(chan struct{})
	var all sync.WaitGroup
	for user, c := range crowd(t, people, n) {
		all.Go(func() {
			for i := range limit {
				key := fmt.Sprintf("killed-%s-%d", user, i)
				r, err := c.Buy(sale.ID, 1, key)
				if err != nil {
					return // the outcome is unknown
				}
				mu.Lock()
				accepted[r.Order] = key
				if len(accepted) == enoughBuys {
					close(done)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-done:
	case <-time.After(waitTimeout):
		t.Errorf("fewer than %d buys have a reply after %v", enoughBuys, waitTimeout)
	}
	n.Kill()
	all.Wait()

	s.start()
	s.awaitDrained(sale)
	for placed, key := range accepted {
		if s.count("SELECT COUNT(*) = 1 AND MIN(id) = ? AND MIN(state) = 'pending' FROM orders WHERE idem_key = ?",
			placed, key) != 1 {
			t.Errorf("order %s with key %s was confirmed and does not have exactly one pending row", placed, key)
		}
	}
	t.Logf("%d buys were confirmed before the kill", len(accepted))
	s.audit(sale)
}

// While STAMPEDE_BACKLOG reservations wait for the database, further buys return busy.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(10, 10)
	c, _ := login(t, s.start("STAMPEDE_ROLES=api", "STAMPEDE_BACKLOG=3"), kit.NewID(), "")
	for i := range 3 {
		if r, err := c.Buy(sale.ID, 1, fmt.Sprintf("waiting-%d", i)); err != nil || r.State != shop.Reserved {
			t.Fatalf("buy %d: %+v, %v; want reserved", i+1, r, err)
		}
	}
	if e := c.requireBuyError(shop.Busy, sale.ID, 1, "waiting-3"); e.RetryMS <= 0 {
		t.Errorf("busy with retry_ms %d, want more than 0", e.RetryMS)
	}
}

// I8, I7: Redis loses all data while no node runs. The next start restores it from the database: the same orders, keys
// and stock. Restored holds can be cancelled.
func TestEmptyRedisIsRebuiltAtStart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(10, 2)
	first := s.start()
	user := kit.NewID()
	c, _ := login(t, first, user, "")
	r, err := c.BuyUntilKnown(sale.ID, 2, "before-loss")
	s.must(err)
	s.awaitDrained(sale)
	if code := first.stop(); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0", code)
	}
	s.must(s.redis.FlushDB(kit.Context(t)).Err())

	second := s.start()
	if n := s.counter(sale, "stock"); n != 8 {
		t.Fatalf("stock %d after the recovery, want 8", n)
	}
	c, _ = login(t, second, user, "")
	again, err := c.BuyUntilKnown(sale.ID, 2, "before-loss")
	if err != nil || again.Order != r.Order || again.State != shop.Pending {
		t.Fatalf("P4 after a recovery: got %+v, %v; want order %s pending", again, err, r.Order)
	}
	c.requireBuyError(shop.LimitReached, sale.ID, 1, "over-limit")
	c.cancelOrder(r.Order)
	if n := s.counter(sale, "stock"); n != 10 {
		t.Errorf("stock %d after the cancellation, want 10", n)
	}
	_, err = c.BuyUntilKnown(sale.ID, 2, "after-loss")
	s.must(err)
	s.awaitDrained(sale)
	s.audit(sale)
}

// I8: Redis restarts from an older copy. An order that the copy lacks must not be sold twice. An order that only the
// copy's stream has is written.
func TestOlderRedisCopyIsRebuiltAtStart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(10, 5)
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 1, "in-the-copy")
	s.must(err)
	s.awaitDrained(sale)
	copied := s.dump(sale)
	_, err = c.BuyUntilKnown(sale.ID, 1, "not-in-the-copy")
	s.must(err)
	s.awaitDrained(sale)
	n.stop()
	s.restore(copied)

	s.start()
	if left := s.counter(sale, "stock"); left != 8 {
		t.Fatalf("stock %d after the recovery from an older copy, want 8", left)
	}
	s.audit(sale)
}

// I7: Redis loses all data, or a single sale, while nodes run. The nodes detect it and restore the state from the
// database. No unit is sold twice.
func TestRunningNodesRestoreLostRedisData(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(10, 5)
	a, b := s.start(), s.start()
	one, other := kit.NewID(), kit.NewID()
	for name, lose := range map[string]func() error{
		"everything":    func() error { return s.redis.FlushDB(kit.Context(t)).Err() },
		"a single sale": func() error { return s.redis.Del(kit.Context(t), kit.SaleKey(&sale)).Err() },
	} {
		before := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID)
		phone, _ := login(t, a, one, "")
		r, err := phone.BuyUntilKnown(sale.ID, 1, "before-"+strings.ReplaceAll(name, " ", "-"))
		s.must(err)
		s.awaitDrained(sale)
		s.must(lose())
		phone, _ = login(t, a, one, "") // the loss of the personal logs makes earlier sockets reconnect
		laptop, _ := login(t, b, other, "")
		again, err := laptop.BuyUntilKnown(sale.ID, 1, "after-"+strings.ReplaceAll(name, " ", "-"))
		if err != nil {
			t.Fatalf("%s lost: %v", name, err)
		}
		repeated, err := phone.BuyUntilKnown(sale.ID, 1, "before-"+strings.ReplaceAll(name, " ", "-"))
		if err != nil || repeated.Order != r.Order || again.Order == r.Order {
			t.Errorf("%s lost: the same key got %+v, %v; want order %s", name, repeated, err, r.Order)
		}
		s.awaitDrained(sale)
		if free := s.counter(sale, "stock"); free != 10-before-2 {
			t.Errorf("%s lost: stock %d, want %d", name, free, 10-before-2)
		}
		s.audit(sale)
	}
}

// dump copies all keys of the sale's partition.
func (s *testShop) dump(sale shop.Sale) map[string]string {
	s.t.Helper()
	ctx := kit.Context(s.t)
	keys, err := s.redis.Keys(ctx, fmt.Sprintf("stampede:{%d}:*", sale.Partition)).Result()
	s.must(err)
	copied := make(map[string]string, len(keys))
	for _, key := range keys {
		copied[key], err = s.redis.Dump(ctx, key).Result()
		s.must(err)
	}
	return copied
}

func (s *testShop) restore(copied map[string]string) {
	s.t.Helper()
	ctx := kit.Context(s.t)
	for key, value := range copied {
		s.must(s.redis.RestoreReplace(ctx, key, 0, value).Err())
	}
}
