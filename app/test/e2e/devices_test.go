package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// P6: two devices of one user on two nodes hear everything; one that was away hears what it missed, once.
func TestTwoDevicesOnTwoNodesHearEverything(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(50, 20)
	a, b := s.start(), s.start()
	user := kit.NewID()
	phone, _ := login(t, a, user, "")
	laptop, _ := login(t, b, user, "")
	first, err := phone.BuyUntilKnown(sale.ID, 1, "first-buy")
	s.must(err)
	for name, c := range map[string]*client{"phone": phone, "laptop": laptop} {
		kit.Eventually(t, 10*time.Second, func() (bool, string) {
			return c.heard(first.Order, app.Pending), name + " did not hear of the order"
		})
	}

	// The laptop goes away; things happen; it comes back with its cursor.
	cursor := laptop.Cursor()
	s.must(laptop.Seen(cursor))
	laptop.Close()
	phone.cancels(first.Order)
	second, err := phone.BuyUntilKnown(sale.ID, 1, "second-buy")
	s.must(err)
	kit.Eventually(t, 10*time.Second, func() (bool, string) {
		return phone.heard(second.Order, app.Pending) && phone.heard(first.Order, app.Cancelled), "phone is behind"
	})
	laptop, h := login(t, b, user, cursor)
	if h.Reset {
		t.Fatal("reset, though it was away for a moment")
	}
	missed := map[string]int{}
	for _, e := range h.Missed {
		missed[fmt.Sprintf("%s %s", e.Order.ID, e.Order.State)]++
	}
	for _, want := range []string{first.Order.String() + " cancelled", second.Order.String() + " pending"} {
		if missed[want] != 1 {
			t.Errorf("missed[] has %q %d times, want once: %v", want, missed[want], missed)
		}
	}
	if len(h.Missed) != 2 {
		t.Errorf("missed[] has %d events, want 2: %v", len(h.Missed), missed)
	}

	// A cursor of the version before, or of another history of the database, is told so, and gets everything by
	// `orders`.
	for _, foreign := range []string{"1795222790123-42", strings.Split(cursor, ".")[0] + ".00000000"} {
		laptop.Close()
		if laptop, h = login(t, b, user, foreign); !h.Reset || h.Cursor == foreign {
			t.Errorf("cursor %s: reset %v, new cursor %s", foreign, h.Reset, h.Cursor)
		}
	}
	page, err := laptop.Orders(0)
	s.must(err)
	if len(page.Orders) != 2 {
		t.Errorf("orders answers %d orders, want 2", len(page.Orders))
	}
}

// Live: watchers on both nodes see the stock move by ticks, and the place of a waiting buyer ends with the order event.
func TestWatchersSeeTheStockMove(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(30, 30)
	a, b := s.start(), s.start()
	watcher, view := viewer(t, b)
	if len(view.Slots) != 1 || len(view.Sales) != 1 || view.Sales[0].Stock != 30 || view.Sales[0].Phase != app.Open {
		t.Fatalf("watch answered %+v", view)
	}
	buyer, _ := login(t, a, kit.NewID(), "")
	_, err := buyer.BuyUntilKnown(sale.ID, 7, "seven-units")
	s.must(err)
	kit.Eventually(t, 5*time.Second, func() (bool, string) {
		stock, held := watcher.lastTick(sale.ID)
		return stock == 23 && held == 7, fmt.Sprintf("the last tick said stock %d, held %d", stock, held)
	})
	watcher.cannotBuy(app.Unauthorized, sale.ID, 1, "anonymous-1")
}
