package streams

import (
	"errors"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2: with one required replica, a buy is confirmed once the replica has it. While the replica is disconnected the
// outcome is unknown, even for a repeat that finds its order. Afterwards the same key returns the same order.
func TestBuyIsConfirmedAfterReplication(t *testing.T) {
	t.Parallel()
	primary := kit.StartRedis(t, kit.RedisOptions{})
	replica := kit.StartRedis(t, kit.RedisOptions{})
	link := kit.NewProxy(t, primary.URL)
	replica.FollowVia(primary, link)
	f := newFixture(t, primary.URL)
	f.inventory.replicas = 1
	g, s := f.gate(f.inventory), f.openSale(10)
	first := f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
	tickets := func(url string) string {
		t.Helper()
		n, err := dial(t, url).HGet(f.ctx, f.inventory.parts[s.Partition].keys.sale(s.ID), "tickets").Result()
		f.must(err)
		return n
	}
	if n := tickets(replica.URL); n != "1" {
		t.Fatalf("the replica has %[2]s tickets after order %[1]s was confirmed, want 1", first.Order, n)
	}
	link.Stall()
	b := buyOf(s, 12, 1, "key-two-1")
	for range 2 {
		if d, err := reserveOnce(f.ctx, g, b); !errors.Is(err, shop.ErrTransient) {
			t.Fatalf("a buy without a replica: got %+v, %v, want ErrTransient", d, err)
		}
	}
	if n := tickets(primary.URL); n != "2" {
		t.Fatalf("the primary has %s tickets, want 2: the unconfirmed buy counts once", n)
	}
	link.Restore()
	f.wantVerdict(g, b, shop.VerdictReserved)
	if n := tickets(replica.URL); n != "2" {
		t.Errorf("the replica has %s tickets after both were confirmed, want 2", n)
	}
}
