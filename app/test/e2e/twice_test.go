package e2e

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
	"stampede/realtime"
	"stampede/streams"
)

// I1, I4, I5: the same entries delivered again, and to two consumers at the same moment, change nothing the second
// time: rows, guard, deadlines. Their buyers hear of one state each, as often as it comes. (done moves by what XACK
// returns; package streams tests that.)
func TestSameEntriesTwiceChangeNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100, 1)
	reserver := s.start("STAMPEDE_ROLES=api") // nobody consumes
	clients := crowd(t, 60, reserver)
	accepted := rush(t, clients, sale.ID, 0)
	if len(accepted) != 60 {
		t.Fatalf("%d accepted, want 60", len(accepted))
	}

	ctx := kit.Context(t)
	inventory, err := streams.New(streams.Options{
		Client: s.redis, Partitions: 8, Frame: realtime.OrderFrame, Namespace: strconv.Itoa(s.redis.Options().DB),
	})
	s.must(err)
	epoch, _, err := s.store.PartitionEpoch(ctx, sale.Partition)
	s.must(err)
	inventory.SetEpoch(sale.Partition, epoch)
	fulfiller := &app.Fulfiller{
		Catalogue: app.NewCatalogue(s.store, nil, time.UTC), Inventory: inventory, Orders: s.store,
		Effects: &app.Effects{
			Inventory: inventory, Notifier: inventory, Orders: s.store, Told: &app.Told{Orders: s.store},
		},
		PayWindow: time.Minute,
	}
	var entries []app.Entry
	s.must(inventory.Leftover(ctx, sale.Partition, func(some []app.Entry) error {
		entries = append(entries, some...)
		return nil
	}))
	if len(entries) != 60 {
		t.Fatalf("%d entries in the stream, want 60", len(entries))
	}

	for round := range 3 {
		var both sync.WaitGroup
		for consumer := range 2 {
			both.Go(func() {
				// The second consumer has the same entries in the opposite order.
				mine := append([]app.Entry(nil), entries...)
				if consumer == 1 {
					for i, j := 0, len(mine)-1; i < j; i, j = i+1, j-1 {
						mine[i], mine[j] = mine[j], mine[i]
					}
				}
				verdicts, err := fulfiller.Fulfil(ctx, mine)
				if err != nil {
					t.Errorf("round %d, consumer %d: %v", round, consumer, err)
				}
				for i, v := range verdicts {
					if v != nil {
						t.Errorf("round %d, consumer %d, entry %d: %v", round, consumer, i, v)
					}
				}
			})
		}
		both.Wait()
		if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID); n != 60 {
			t.Errorf("round %d: %d rows, want 60", round, n)
		}
		if n := s.count("SELECT taken FROM sales WHERE id = ?", sale.ID); n != 60 {
			t.Errorf("round %d: taken %d, want 60", round, n)
		}
		if n := s.count("SELECT COUNT(DISTINCT pay_by) FROM orders WHERE sale_id = ?", sale.ID); n > 2 {
			t.Errorf("round %d: %d different deadlines, a deadline moved", round, n)
		}
	}
	if n := s.redis.ZCard(ctx, fmt.Sprintf("stampede:{%d}:deadlines", sale.Partition)).Val(); n != 60 {
		t.Errorf("%d deadlines, want 60", n)
	}

	for user, c := range clients {
		kit.Eventually(t, 10*time.Second,
			func() (bool, string) { return len(c.ordersHeard()) > 0, "a buyer heard nothing" })
		for _, e := range c.ordersHeard() {
			if e.Order.ID != c.ordersHeard()[0].Order.ID || e.Order.Rev != 1 {
				t.Errorf("user %s heard of order %s at rev %d", user, e.Order.ID, e.Order.Rev)
			}
		}
	}
	// Now the real consumer takes them, finds everything done, and acknowledges.
	s.start()
	s.drained(sale, 20*time.Second)
	if done := s.counter(sale, "done"); done != 60 {
		t.Errorf("done %d, want 60", done)
	}
	s.audit(sale)
}
