package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

const hookSecret = "a-secret-for-the-webhook-0123456789"

// hook is the webhook receiver of the shop's back office. It checks signatures and stores messages.
type hook struct {
	t   *testing.T
	url string

	mu         sync.Mutex
	messages   map[string]outbox.Message // delivery id → message
	rejectNext bool                      // whether the next delivery is rejected
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, messages: make(map[string]outbox.Message), rejectNext: true}
	server := httptest.NewServer(http.HandlerFunc(h.receive))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hook) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(r.Header.Get("Stampede-Timestamp") + "." + string(body)))
	var p outbox.Message
	if err != nil || r.Header.Get("Stampede-Signature") != "v1="+hex.EncodeToString(mac.Sum(nil)) ||
		json.Unmarshal(body, &p) != nil {
		h.t.Errorf("a delivery is not signed, or unreadable: %v %s", r.Header, body)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rejectNext { // reject the first delivery, which is then retried
		h.rejectNext = false
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	h.messages[r.Header.Get("Stampede-Delivery")] = p
}

func (h *hook) received() map[string]outbox.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.messages)
}

// buyPending buys over HTTP and returns the pending order.
func (n *node) buyPending(sale shop.Sale, who string, qty int) shop.Order {
	n.t.Helper()
	var receipt order.Receipt
	n.expect(http.StatusOK, &receipt, n.post, "/api/v1/sales/"+sale.ID.String()+"/buy", who, map[string]any{
		"qty": qty, "key": "bought-" + kit.NewID().String(),
	})
	return n.awaitState(receipt.Order, who, shop.Pending)
}

// nextState makes a request wait for the next state of the order. The wait is short, because the state may have changed
// between two requests.
const nextState = "?wait=1"

// awaitState waits until the order has the state.
func (n *node) awaitState(placed shop.ID, who string, state shop.OrderState) (o shop.Order) {
	n.t.Helper()
	path := "/api/v1/orders/" + placed.String()
	kit.Eventually(n.t, waitTimeout, func() (bool, string) {
		o = shop.Order{} // a field that the new state lacks must not stay
		n.expect(http.StatusOK, &o, n.read, path, who, nil)
		path = "/api/v1/orders/" + placed.String() + nextState
		return o.State == state, fmt.Sprintf("the order is %s (%s), want %s", o.State, o.Reason, state)
	})
	return o
}

// payOrder pays the order at the gateway and waits until the order is paid.
func (n *node) payOrder(g *gateway, o shop.Order, who string) shop.Order {
	n.t.Helper()
	var payment struct{ URL string }
	n.expect(http.StatusOK, &payment, n.post, "/api/v1/orders/"+o.ID.String()+"/pay", who,
		map[string]any{"via": "page"})
	g.payAtGateway(payment.URL, o.ID)
	return n.awaitState(o.ID, who, shop.Paid)
}

// P1, P8: the refund is sent once, by policy. The units are withdrawn and count towards the limit. The back office gets
// both postings over the webhook, although its receiver failed at first, and from the stream. The books agree with the
// gateway.
func TestRefundIsSentOnceAndPosted(t *testing.T) {
	t.Parallel()
	g, h := startGateway(t), newHook(t)
	s := newShop(t, append(g.settings, "STAMPEDE_WEBHOOK_URL="+h.url, "STAMPEDE_WEBHOOK_SECRET="+hookSecret)...)
	sale := s.open(5, 2)
	n := s.start()
	who := token(t, kit.NewID())
	placed := n.payOrder(g, n.buyPending(sale, who, 2), who)

	requestRefund := func() (state struct{ State shop.OrderState }) {
		n.expect(http.StatusOK, &state, n.post, "/api/v1/orders/"+placed.ID.String()+"/refund", who,
			map[string]any{"reason": "尺码不合适"})
		return state
	}
	if state := requestRefund(); state.State != shop.Refunding && state.State != shop.Refunded {
		t.Errorf("the order is %s after the refund request, want refunding or refunded", state.State)
	}
	if o := n.awaitState(placed.ID, who, shop.Refunded); o.Reason != payment.ReasonRefundBuyer ||
		o.AmountFen != placed.AmountFen {
		t.Errorf("got refunded order %+v, want the unchanged amount %d and reason %s", o, placed.AmountFen,
			payment.ReasonRefundBuyer)
	}
	if state := requestRefund(); state.State != shop.Refunded {
		t.Errorf("the order is %s after the repeated request, want refunded", state.State)
	}
	if taken, refunded := g.ledger(); taken != placed.AmountFen || refunded != placed.AmountFen {
		t.Errorf("the gateway took %d fen and refunded %d fen", taken, refunded)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		held, sold, withdrawn := s.counter(sale, "held"), s.counter(sale, "sold"), s.counter(sale, "withdrawn")
		return held == 0 && sold == 0 && withdrawn == 2, fmt.Sprintf("held %d, sold %d, withdrawn %d", held, sold,
			withdrawn)
	})
	n.expect(http.StatusConflict, nil, n.post, "/api/v1/sales/"+sale.ID.String()+"/buy", who, map[string]any{
		"qty": 1, "key": "once-more-1",
	})
	s.audit(sale)

	var got []string
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		got = nil
		for delivery, p := range h.received() {
			if p.Order == placed.ID {
				got = append(got, strings.TrimPrefix(delivery, placed.ID.String())+" "+string(p.State))
			}
		}
		slices.Sort(got)
		return len(got) == 2, fmt.Sprint(got)
	})
	if !strings.HasSuffix(got[0], " paid") || !strings.HasSuffix(got[1], " refunded") {
		t.Errorf("the webhook received %v", got)
	}
	stream, err := s.redis.XRange(kit.Context(t), "stampede:{backoffice}:paid", "-", "+").Result()
	s.must(err)
	if out := fmt.Sprint(stream); len(stream) != 2 || strings.Count(out, `"order":"`+placed.ID.String()+`"`) != 2 {
		t.Errorf("the back office's stream: %s", out)
	}
	s.requireBooksAgree(n, placed)
}

// requireBooksAgree checks that today's books agree with the gateway, and that they differ after a payment was deleted
// from the database.
func (s *testShop) requireBooksAgree(n *node, placed shop.Order) {
	s.t.Helper()
	zone, err := time.LoadLocation("Asia/Shanghai")
	s.must(err)
	day := placed.PaidAt.Time().In(zone).Format(time.DateOnly)
	if out, code := n.run("pay", "reconcile", "--from", day); code != 0 || !strings.Contains(out, "0 differences") {
		s.t.Errorf("reconcile exits %d:\n%s", code, out)
	}
	_, err = s.db.ExecContext(kit.Context(s.t), "DELETE FROM payments WHERE order_id = ?", placed.ID)
	s.must(err)
	if out, code := n.run("pay", "reconcile", "--from", day, "--json"); code != 3 ||
		!strings.Contains(out, "not_entered") {
		s.t.Errorf("reconcile of a lost payment exits %d:\n%s", code, out)
	}
}
