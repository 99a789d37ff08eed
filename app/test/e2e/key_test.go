package e2e

import (
	"errors"
	"fmt"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P4, I9: the last unit is sold, but the reply is lost. The same key returns the same order on another node whose
// sold-out flag is set, and again after the sale has closed. For another user the order does not exist.
func TestSameKeyAlwaysReturnsSameOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(1, 1)
	another := s.open(1, 1)
	proxy := kit.NewProxy(t, s.redisURL)
	lossyNode := s.start("STAMPEDE_REDIS_URL=" + proxy.URL)
	other := s.start()

	user := kit.NewID()
	first, _ := login(t, lossyNode, user, "")
	_, err := first.Buy(another.ID, 1, "of-another-sale") // from here on Redis has the script
	s.must(err)
	proxy.DropReplies("evalsha", 1_000_000) // executed, but all replies are lost
	_, err = first.Buy(sale.ID, 1, "the-last-unit")
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != shop.Busy {
		t.Fatalf("got %v, want busy: every reply was lost, so the outcome is unknown", err)
	}
	proxy.Restore()
	if n := s.counter(sale, "stock"); n != 0 {
		t.Fatalf("stock is %d, want 0: the lost reply belongs to an accepted buy", n)
	}

	// Set the flag on the other node: it rejects other users, finally without Redis.
	stranger, _ := login(t, other, kit.NewID(), "")
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		_, err := stranger.Buy(sale.ID, 1, "stranger-key")
		return errors.As(err, &e) && e.Code == shop.SoldOut && s.soldOutFlagSet(other), fmt.Sprint("the sold-out flag is not set: ", err)
	})
	second, _ := login(t, other, user, "")
	got, err := second.Buy(sale.ID, 1, "the-last-unit")
	if err != nil {
		t.Fatalf("the same key after the sold-out flag was set: %v", err)
	}
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID); n > 1 {
		t.Fatalf("got %d orders for one unit, want at most 1", n)
	}
	second.requireBuyError(shop.DuplicateKey, sale.ID, 2, "the-last-unit")

	if out, code := other.run("sale", "end", sale.ID.String(), "--yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		_, err := stranger.Buy(sale.ID, 1, "stranger-key")
		return errors.As(err, &e) && e.Code == shop.Closed, fmt.Sprint("not closed yet: ", err)
	})
	_, err = stranger.Cancel(got.Order)
	requireError(t, shop.NotFound, err)
	again, err := second.Buy(sale.ID, 1, "the-last-unit")
	if err != nil || again.Order != got.Order || again.Ticket != got.Ticket {
		t.Fatalf("after close: %+v, %v; want order %s", again, err, got.Order)
	}
	s.awaitDrained(sale)
	s.audit(sale)
}

// soldOutFlagSet reports whether the node's metrics count a buy that was rejected without Redis.
func (s *testShop) soldOutFlagSet(n *node) bool {
	s.t.Helper()
	return n.metric("stampede_buys_rejected_locally_total") > 0
}
