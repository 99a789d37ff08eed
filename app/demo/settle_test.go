package demo

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/fasthttp/websocket"

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
