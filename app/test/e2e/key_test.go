package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// P4, I9: the last unit, the reply lost on the way, the same key tried again on another node whose sold-out flag is up,
// and once more after the sale has closed: always the same order.
func TestSameKeySameOrderWhateverHappenedSince(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(1, 1)
	another := s.open(1, 1)
	proxy := kit.NewProxy(t, s.redisURL)
	lossy := s.start("STAMPEDE_REDIS_URL=" + proxy.URL)
	other := s.start()

	user := kit.NewID()
	first, _ := login(t, lossy, user, "")
	_, err := first.Buy(another.ID, 1, "of-another-sale") // Redis has the script from here on
	s.must(err)
	proxy.DropReplies("evalsha", 1_000_000) // carried out, but never heard of
	_, err = first.Buy(sale.ID, 1, "the-last-unit")
	var e *app.Error
	if !errors.As(err, &e) || e.Code != app.Busy {
		t.Fatalf("with every reply lost the outcome must be unknown (busy), got %v", err)
	}
	proxy.Restore()
	if n := s.counter(sale, "stock"); n != 0 {
		t.Fatalf("stock %d: the lost reply was to be one of an accepted buy", n)
	}

	// Raise the flag on the other node: strangers are turned away, at last without Redis.
	stranger, _ := login(t, other, kit.NewID(), "")
	kit.Eventually(t, 5*time.Second, func() (bool, string) {
		_, err := stranger.Buy(sale.ID, 1, "stranger-key")
		return errors.As(err, &e) && e.Code == app.SoldOut && s.flagged(other), fmt.Sprint("no flag yet: ", err)
	})
	second, _ := login(t, other, user, "")
	got, err := second.Buy(sale.ID, 1, "the-last-unit")
	if err != nil {
		t.Fatalf("the same key behind a sold-out flag: %v", err)
	}
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", sale.ID); n > 1 {
		t.Fatalf("%d orders for one unit", n)
	}
	second.cannotBuy(app.DuplicateKey, sale.ID, 2, "the-last-unit")

	if out, code := s.run("sale", "end", sale.ID.String(), "--yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	kit.Eventually(t, 30*time.Second, func() (bool, string) {
		_, err := stranger.Buy(sale.ID, 1, "stranger-key")
		return errors.As(err, &e) && e.Code == app.Closed, fmt.Sprint("not closed yet: ", err)
	})
	again, err := second.Buy(sale.ID, 1, "the-last-unit")
	if err != nil || again.Order != got.Order || again.Ticket != got.Ticket {
		t.Fatalf("after close: %+v, %v; want order %s", again, err, got.Order)
	}
	s.drained(sale, 10*time.Second)
	s.audit(sale)
}

// flagged tells from the metrics whether the node has turned anyone away without Redis.
func (s *shop) flagged(n *node) bool {
	s.t.Helper()
	return n.metric("stampede_soldout_turned_away_total") > 0
}

// P4: the limit holds over two devices on two nodes, and says what the buyer has.
func TestLimitHoldsOverDevicesAndNodes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(50, 2)
	a, b := s.start(), s.start()
	user := kit.NewID()
	phone, _ := login(t, a, user, "")
	laptop, _ := login(t, b, user, "")
	one, err := phone.BuyUntilKnown(sale.ID, 1, "phone-one")
	s.must(err)
	two, err := laptop.BuyUntilKnown(sale.ID, 1, "laptop-one")
	s.must(err)
	e := phone.cannotBuy(app.LimitReached, sale.ID, 1, "phone-two")
	held := map[app.ID]bool{}
	for _, o := range e.Orders {
		held[o.ID] = true
	}
	if len(e.Orders) != 2 || !held[one.Order] || !held[two.Order] {
		t.Errorf("limit_reached names %v, want %s and %s", e.Orders, one.Order, two.Order)
	}
	laptop.cannotBuy(app.LimitReached, sale.ID, 3, "laptop-three")

	// A cancelled order frees the limit, exactly once.
	phone.cancels(one.Order)
	if state := phone.cancels(one.Order); state != app.Cancelled {
		t.Errorf("cancelled twice: %s", state)
	}
	_, err = laptop.BuyUntilKnown(sale.ID, 1, "laptop-two")
	s.must(err)
	laptop.cannotBuy(app.LimitReached, sale.ID, 1, "laptop-four")
	s.drained(sale, 10*time.Second)
	s.audit(sale)
}

// The owner is checked on every access to an order: another user's does not exist.
func TestOrdersOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(5, 1)
	a := s.start()
	owner, _ := login(t, a, kit.NewID(), "")
	r, err := owner.BuyUntilKnown(sale.ID, 1, "owner-key")
	s.must(err)
	thief, _ := login(t, a, kit.NewID(), "")
	_, err = thief.Cancel(r.Order)
	refused(t, app.NotFound, err)
	s.drained(sale, 10*time.Second)
	_, err = thief.Cancel(r.Order)
	refused(t, app.NotFound, err)
	status, body := a.get("/api/v1/orders/"+r.Order.String(), token(t, kit.NewID()))
	if status != 404 {
		t.Errorf("another user's order over HTTP: %d %s", status, body)
	}
	page, err := thief.Orders(0)
	s.must(err)
	if len(page.Orders) != 0 {
		t.Errorf("a stranger sees %v", page.Orders)
	}
	if _, err := s.store.Cancel(context.Background(), r.Order, kit.NewID(),
		app.MillisOf(time.Now())); !errors.Is(err, app.ErrNoRow) {
		t.Errorf("the store lets a stranger cancel: %v", err)
	}
}
