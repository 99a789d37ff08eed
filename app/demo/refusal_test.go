package demo

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// newConnectedShopper returns a shopper on a real connection; the channel receives the ops at its other end.
func newConnectedShopper(t *testing.T) (s *shopper, received <-chan wsclient.Request) {
	t.Helper()
	ops := make(chan wsclient.Request, 16)
	closed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(closed)
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for {
			var op wsclient.Request
			if conn.ReadJSON(&op) != nil {
				return
			}
			ops <- op
		}
	}))
	conn, err := (&wsclient.Dialer{}).Dial(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		<-closed
		server.Close()
	})
	s = newShopper()
	s.conn = conn
	return s, ops
}

// sendRejected sends an op and passes a rejection of this op to the shopper.
func (s *shopper) sendRejected(t *testing.T, r wsclient.Request, e *shop.Error) (time.Duration, error) {
	t.Helper()
	if err := s.conn.Send(r); err != nil {
		t.Fatal(err)
	}
	return s.onFrame(t.Context(), &wsclient.Frame{Request: r, Error: e})
}

// Regression: a crowd that ignored the rejection of its fifth watch stayed silent.
func TestRejectedWatchIsRepeated(t *testing.T) {
	t.Parallel()
	for _, e := range []*shop.Error{shop.Fail(shop.RateLimited, "too many slots"), shop.FailBusy("later", 2*time.Second)} {
		s, received := newConnectedShopper(t)
		s.slot = 7
		pause, err := s.sendRejected(t, wsclient.Request{Op: wsclient.Watch}, e)
		if err != nil || pause < minRetryPause || pause < time.Duration(e.RetryMS)*time.Millisecond {
			t.Fatalf("%s: got the pause %v, %v; want at least the retry time and no error", e.Code, pause, err)
		}
		if err := s.move(); err != nil {
			t.Fatal(err)
		}
		want := []wsclient.Op{wsclient.Watch, wsclient.Watch}
		if e.Code == shop.RateLimited { // everything watched is unwatched first
			want = []wsclient.Op{wsclient.Watch, wsclient.Unwatch, wsclient.Watch}
		}
		for _, op := range want {
			if r := <-received; r.Op != op {
				t.Fatalf("%s: got the request %+v, want %s", e.Code, r, op)
			}
		}
	}
}

// After busy, the result of a buy is unknown: it is repeated with its key.
func TestRejectedBuyIsRepeatedWithItsKey(t *testing.T) {
	t.Parallel()
	s, received := newConnectedShopper(t)
	buy := wsclient.Request{Op: wsclient.Buy, Sale: 5, Qty: 2, Key: "demo-key-1"}
	if pause, err := s.sendRejected(t, buy, shop.FailBusy("unknown", 500*time.Millisecond)); err != nil ||
		pause < minRetryPause {
		t.Fatalf("got the pause %v, %v; want at least %v and no error", pause, err, minRetryPause)
	}
	if err := s.move(); err != nil {
		t.Fatal(err)
	}
	first, second := <-received, <-received
	if second.ID == first.ID || second.Op != wsclient.Buy || second.Key != buy.Key || second.Sale != buy.Sale ||
		second.Qty != buy.Qty {
		t.Fatalf("got %+v after %+v, want the same buy with another id", second, first)
	}
}

// A permanently rejected request is not repeated, and a shopper with a rejected login leaves.
func TestPermanentRejectionIsNotRepeated(t *testing.T) {
	t.Parallel()
	s, received := newConnectedShopper(t)
	s.sales[5] = shop.SaleView{ID: 5, Stock: 3, Phase: shop.Open}
	s.sales[6] = shop.SaleView{ID: 6, Stock: 3, Phase: shop.Open}
	buy := func(id shop.ID) wsclient.Request {
		return wsclient.Request{Op: wsclient.Buy, Sale: id, Qty: 1, Key: "demo-key-1"}
	}
	if _, err := s.sendRejected(t, buy(5), shop.Fail(shop.SoldOut, "gone")); err != nil || s.sales[5].Stock != 0 {
		t.Fatalf("got the sales %+v, %v; want the rejected sale without stock or removed", s.sales, err)
	}
	if _, err := s.sendRejected(t, buy(6), shop.Fail(shop.LimitReached, "enough")); err != nil || len(s.sales) != 1 {
		t.Fatalf("got the sales %+v, %v; want the rejected sale without stock or removed", s.sales, err)
	}
	if _, err := s.sendRejected(t, buy(5), shop.Fail(shop.Closed, "over")); err != nil || len(s.sales) != 0 {
		t.Fatalf("got the sales %+v, %v; want the rejected sale without stock or removed", s.sales, err)
	}
	for _, op := range []wsclient.Op{wsclient.Buy, wsclient.Buy, wsclient.Buy, wsclient.Watch} {
		if r := <-received; r.Op != op {
			t.Fatalf("got the request %+v, want %s", r, op)
		}
	}
	s.token = "old"
	if _, err := s.sendRejected(t, wsclient.Request{Op: wsclient.Hello},
		shop.Fail(shop.Unauthorized, "ended")); err == nil ||
		s.token != "" {
		t.Fatalf("after a rejected token: got the token %q, %v; want no token and an error", s.token, err)
	}
	if _, err := s.sendRejected(t, wsclient.Request{Op: wsclient.Hello}, shop.FailBusy("later", time.Second)); err == nil {
		t.Fatal("a rejected hello did not end the visit")
	}
}

// A shopper unwatches the previous slot when the next one is shown.
func TestShopperWatchesOneSlot(t *testing.T) {
	t.Parallel()
	s, received := newConnectedShopper(t)
	for _, snapshot := range []string{
		`{"sales":[{"id":"51","slot":"5"}]}`, `{"sales":[{"id":"52","slot":"5"}]}`,
		`{"sales":[{"id":"61","slot":"6"}]}`,
	} {
		if err := s.watch(); err != nil {
			t.Fatal(err)
		}
		reply := &wsclient.Frame{Request: wsclient.Request{Op: wsclient.Watch}, OK: []byte(snapshot)}
		if _, err := s.onFrame(t.Context(), reply); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range []wsclient.Request{
		{Op: wsclient.Watch}, {Op: wsclient.Watch}, {Op: wsclient.Watch}, {Op: wsclient.Unwatch, Slot: 5},
	} {
		if r := <-received; r.Op != op.Op || r.Slot != op.Slot {
			t.Fatalf("got the request %+v, want %+v", r, op)
		}
	}
}
