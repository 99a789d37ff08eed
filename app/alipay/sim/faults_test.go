package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A notification is repeated until the shop replies success.
func TestNotificationsAreRepeatedUntilSuccess(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	s.failuresLeft = 2
	s.open("1")
	if err := s.Pay("1"); err != nil {
		t.Fatal(err)
	}
	if got := s.states(3); len(got) != 3 {
		t.Errorf("got deliveries %v, want 3", got)
	}
}

func TestNotificationFaultsChangeDelivery(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind][]string{
		NotifyDuplicate: {"TRADE_SUCCESS", "TRADE_SUCCESS", "TRADE_CLOSED"},
		NotifyReorder:   {"TRADE_SUCCESS", "WAIT_BUYER_PAY", "TRADE_CLOSED", "TRADE_CLOSED"},
		NotifyLose:      {"TRADE_CLOSED"},
		NotifyDelay:     {"TRADE_CLOSED"}, // the notification of the payment is delayed by an hour
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, Options{})
			s.open("1")
			fault := Fault{Kind: kind, Order: "1", Times: 1, DelayMS: maxDelay.Milliseconds()}
			if _, err := s.Inject(fault); err != nil {
				t.Fatal(err)
			}
			if err := s.Pay("1"); err != nil {
				t.Fatal(err)
			}
			if kind == NotifyDuplicate || kind == NotifyReorder {
				s.states(len(want) - 1)
			}
			// A full refund closes the trade and sends a notification, which marks the end of the earlier ones.
			if _, rejected := s.refund(request{
				content: content{OutTradeNo: "1", RefundAmount: "12.34", OutRequestNo: "r"},
			}); rejected != nil {
				t.Fatal(rejected)
			}
			if got := s.states(len(want)); !slices.Equal(got, want) {
				t.Errorf("got deliveries %v, want %v", got, want)
			}
		})
	}
}

// The admin addresses behave as documented.
func TestAdminRoutesFollowDocumentation(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	if got := s.post("/admin/trades/1/pay", "", "").StatusCode; got != http.StatusNotFound {
		t.Errorf("an order that was never opened: got %d, want 404", got)
	}
	s.open("1")
	for _, step := range []struct {
		path string
		want int
	}{
		{"/admin/trades/1/dance", http.StatusNotFound},
		{"/admin/trades/1/pay", http.StatusNoContent},
		{"/admin/trades/1/pay", http.StatusConflict},
		{"/admin/trades/1/close", http.StatusConflict},
		{"/admin/trades/1/late", http.StatusConflict},
		{"/admin/trades/1/repeat", http.StatusNoContent},
	} {
		if got := s.post(step.path, "", "").StatusCode; got != step.want {
			t.Errorf("%s: got %d, want %d", step.path, got, step.want)
		}
	}
	for _, invalid := range []string{
		`{"kind":"rain"}`, `{"kind":"slow","delay_ms":-1}`, `{"kind":"down","times":-1}`, `{"kin":"down"}`, `[]`,
	} {
		if got := s.post("/admin/faults", "application/json", invalid).StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", invalid, got)
		}
	}
	text := body(t,
		s.post("/admin/faults", "application/json",
			`{"kind":"slow","method":"alipay.trade.query","delay_ms":5,"times":2}`))
	if want := `{"id":1,"kind":"slow","method":"alipay.trade.query","times":2,"delay_ms":5}` + "\n"; text != want {
		t.Errorf("added fault: got %s, want %s", text, want)
	}
	if text := body(t, s.get("/admin/faults")); !strings.Contains(text, `"id":1`) {
		t.Errorf("got the faults %s, want the added fault", text)
	}
	request, err := http.NewRequest(http.MethodDelete, s.server.URL+"/admin/faults/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("delete: got %v, %v, want 204", response, err)
	}
	_ = response.Body.Close()
	var l Ledger
	if err := json.Unmarshal([]byte(body(t, s.get("/admin/ledger"))), &l); err != nil || l.TakenFen != 1234 ||
		len(l.Trades) != 1 {
		t.Errorf("got the ledger %+v, %v, want one trade of 1234 fen", l, err)
	}
}

// Every kind of fault can be injected.
func TestEveryFaultKindCanBeInjected(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	for _, kind := range Kinds {
		if _, err := s.Inject(Fault{Kind: kind}); err != nil {
			t.Error(err)
		}
	}
	if got := len(s.faults.all()); got != len(Kinds) {
		t.Errorf("got %d active faults, want %d", got, len(Kinds))
	}
	s.RemoveFaults()
	if got := s.faults.all(); len(got) != 0 {
		t.Errorf("got active faults %v after RemoveFaults, want none", got)
	}
}
