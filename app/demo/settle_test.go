package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// TestShopperPaysOnlyAtTheSimulator: a shop with a real gateway returns addresses that simulated shoppers must not
// open.
func TestShopperPaysOnlyAtTheSimulator(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	cashier := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		http.Redirect(w, r, "/cashier/1", http.StatusSeeOther)
	}))
	defer cashier.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		var op wsclient.Request
		for conn.ReadJSON(&op) == nil {
			_ = conn.WriteJSON(map[string]any{"id": op.ID, "ok": map[string]string{"url": cashier.URL + "/gateway.do?x"}})
		}
	}))
	defer server.Close()
	s := newShopper()
	var err error
	if s.conn, err = (&wsclient.Dialer{}).Dial(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	defer s.conn.Close()
	for _, c := range []struct {
		sim    string
		fails  bool
		visits int64
	}{
		{sim: ""},
		{sim: server.URL, fails: true},
		{sim: cashier.URL[:len(cashier.URL)-1], fails: true}, // the prefix of another port
		{sim: cashier.URL, visits: 2},
	} {
		s.sim = c.sim
		visits.Store(0)
		if err := s.pay(t.Context(), 7); (err != nil) != c.fails || visits.Load() != c.visits {
			t.Errorf("simulator %q: got error %v and %d requests, want error %t and %d requests", c.sim, err, visits.Load(),
				c.fails, c.visits)
		}
	}
}

// TestShopperSettlesEachOrderOnce: a shopper pays or cancels most of its orders, each at most once, although the shop
// repeats the event of an order.
func TestShopperSettlesEachOrderOnce(t *testing.T) {
	t.Parallel()
	s, requests := connectedShopper(t)
	const orders = 400
	for id := range shop.ID(orders) {
		for range 3 {
			s.settle(t.Context(), &shop.Order{ID: id + 1, CreatedAt: 1, PayBy: 1})
		}
	}
	s.settling.Wait()
	counts := make(map[wsclient.Op]int)
	seen := make(map[shop.ID]bool)
	for _, r := range requests() {
		if seen[r.Order] {
			t.Errorf("got two requests for order %s", r.Order)
		}
		seen[r.Order] = true
		counts[r.Op]++
	}
	paid, cancelled := counts[wsclient.Pay], counts[wsclient.Cancel]
	if paid < orders*payShare*0.9 || paid > orders*payShare*1.1 || cancelled == 0 || paid+cancelled > orders*0.9 {
		t.Errorf("got %d paid and %d cancelled orders of %d, want about 75 %% and 8 %%", paid, cancelled, orders)
	}
}

func TestEndOfVisitStopsSettling(t *testing.T) {
	t.Parallel()
	s, requests := connectedShopper(t)
	ctx, leave := context.WithCancel(t.Context())
	for id := range shop.ID(20) {
		s.settle(ctx, &shop.Order{ID: id + 1, CreatedAt: 1, PayBy: shop.Millis(1).Add(time.Hour)})
	}
	leave()
	s.settling.Wait()
	if got := requests(); len(got) > 0 {
		t.Errorf("got the requests %+v, want none", got)
	}
}

// connectedShopper returns a shopper at a shop that accepts everything, and a function that returns the requests.
func connectedShopper(t *testing.T) (*shopper, func() []wsclient.Request) {
	t.Helper()
	var mu sync.Mutex
	var received []wsclient.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		var op wsclient.Request
		for conn.ReadJSON(&op) == nil {
			mu.Lock()
			received = append(received, op)
			mu.Unlock()
			_ = conn.WriteJSON(map[string]any{"id": op.ID, "ok": map[string]string{}})
			op = wsclient.Request{}
		}
	}))
	t.Cleanup(server.Close)
	s := newShopper()
	s.sim = server.URL
	var err error
	if s.conn, err = (&wsclient.Dialer{}).Dial(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.conn.Close)
	return s, func() []wsclient.Request {
		mu.Lock()
		defer mu.Unlock()
		return received
	}
}
