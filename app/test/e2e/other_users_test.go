package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// No op reads or changes an order of another user. Each op has an entry: a call with the order and the cursor of the
// owner, or the reason why it cannot name an order.
func TestSocketsReachOnlyTheirOwnOrders(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, g.settings...)
	sale := s.open(10, 2)
	n := s.start()
	user := kit.NewID()
	who := token(t, user)
	owner, _ := login(t, n, user, "")
	pending := n.awaitState(s.buy(owner, sale, "the-key-of-both").Order, who, shop.Pending)
	paid := n.payOrder(g, n.buyPending(sale, who, 1), who)
	c, _ := login(t, n, kit.NewID(), "")
	notFound := func(err error) error {
		if code := wsclient.CodeOf(err); code != shop.NotFound {
			return fmt.Errorf("got %q (%w), want not_found", code, err)
		}
		return nil
	}
	wantNoOrders := func(orders int, err error) error {
		if orders > 0 {
			err = fmt.Errorf("%d orders of another user", orders)
		}
		return err
	}
	for _, op := range wsclient.Ops {
		for _, placed := range []shop.Order{pending, paid} {
			var err error
			switch op {
			case wsclient.Cancel:
				err = notFound(errOf(c.Cancel(placed.ID)))
			case wsclient.Pay:
				err = errors.Join(notFound(errOf(c.Pay(placed.ID, "page"))), notFound(errOf(c.Pay(placed.ID, "qr"))))
			case wsclient.Address:
				address := shop.Address{Name: "Eve", Phone: "1", Text: "Elsewhere"}
				err = notFound(errOf(c.SetAddress(placed.ID, address)))
			case wsclient.Refund:
				err = notFound(errOf(c.Refund(placed.ID, "not mine")))
			case wsclient.Orders:
				for _, before := range []shop.ID{0, placed.ID, placed.ID + 1} {
					page, failed := c.Orders(before)
					err = errors.Join(err, wantNoOrders(len(page.Orders), failed))
				}
			case wsclient.Hello: // with the cursor of the owner
				welcome, failed := dial(t, n).Hello(token(t, kit.NewID()), owner.Cursor())
				err = wantNoOrders(len(welcome.Missed)+len(welcome.Reservations), failed)
			case wsclient.Seen:
				err = c.Seen(owner.Cursor())
			case wsclient.Renew:
				if errOf(c.Renew(who)) == nil {
					err = errors.New("a socket accepted the token of another user")
				}
			case wsclient.Buy: // below, with the key of the owner
			case wsclient.Time, wsclient.Watch, wsclient.Unwatch, wsclient.Pass, wsclient.Solve, wsclient.Board:
				continue // these name no order
			default:
				err = errors.New("the op has no entry in this test")
			}
			if err != nil {
				t.Errorf("%s for the order of another user, %s: %v", op, placed.State, err)
			}
		}
	}
	if own := s.buy(c, sale, "the-key-of-both"); own.Order == pending.ID {
		t.Error("the key of another user returned that user's order")
	}
	for _, placed := range []shop.Order{pending, paid} {
		if diff := cmp.Diff(placed, n.awaitState(placed.ID, who, placed.State)); diff != "" {
			t.Errorf("the order changed (-before +after):\n%s", diff)
		}
	}
}

func (s *testShop) buy(c *client, sale shop.Sale, key string) order.Receipt {
	s.t.Helper()
	receipt, err := c.BuyUntilKnown(sale.ID, 1, key)
	s.must(err)
	return receipt
}

// A buyer who cancels and buys again over two sockets can reserve only as often as the cap allows. Afterwards all units
// are back.
func TestCancelledBuysCountTowardsTheCap(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := time.Now()
	sale := s.add(shop.Sale{
		Initial: 2, Limit: 1, Cap: 3, Challenge: shop.ChallengeNone,
		OpensAt: shop.MillisOf(now.Add(-time.Second)), ClosesAt: shop.MillisOf(now.Add(time.Hour)),
	})
	n, user := s.start(), kit.NewID()
	one, _ := login(t, n, user, "")
	two, _ := login(t, n, user, "")
	for i := range sale.Cap {
		placed := s.buy(one, sale, fmt.Sprintf("buy-again-%d", i)).Order
		n.awaitState(placed, token(t, user), shop.Pending)
		if state := two.cancelOrder(placed); state != shop.Cancelled {
			t.Fatalf("cancelled order: %s", state)
		}
		one, two = two, one
	}
	one.requireBuyError(shop.LimitReached, sale.ID, 1, "over-the-cap-1")
	two.requireBuyError(shop.LimitReached, sale.ID, 1, "over-the-cap-2")
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		stock := s.counter(sale, "stock")
		return stock == sale.Initial, fmt.Sprintf("%d of %d units are returned", stock, sale.Initial)
	})
	s.awaitDrained(sale)
	s.audit(sale)
}
