package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// gatewayFaults lists the faults of the simulated gateway and how often each occurs.
var gatewayFaults = []map[string]any{
	{"kind": "notify_duplicate", "times": 1},
	{"kind": "notify_delay", "times": 1, "delay_ms": 1500},
	{"kind": "notify_reorder", "times": 1},
	{"kind": "notify_lose", "times": 1},
	{"kind": "notify_amount", "times": 1},
	{"kind": "notify_app", "times": 1},
	{"kind": "notify_signature", "times": 1},
	{"kind": "notify_cert", "times": 1},
	{"kind": "notify_gbk", "times": 1},
	{"kind": "paid_after_close", "times": 1},
	{"kind": "paid_before_close", "times": 1},
	{"kind": "error_though_done", "times": 2},
	{"kind": "lost", "times": 2},
	{"kind": "garbage", "times": 2},
	{"kind": "answer_signature", "times": 2},
	{"kind": "down", "times": 2},
	{"kind": "slow", "times": 2, "delay_ms": 1500},
}

// payer is one buyer with one order and the fault of this order. The shop and the node of a payer report
// failures to the subtest of this payer.
type payer struct {
	*testShop
	*node
	g     *gateway
	t     *testing.T
	who   string
	order shop.Order
	fault map[string]any
}

// P1, P8: each fault of the gateway occurs for one order in each of four states: pending, shipped, cancelled and
// refunding. No fen is lost, none is taken without goods, and the stock equation holds.
// TestRandomStepsAndDeathsLoseNoMoney in app/test/money covers faults in all states, in any order and together with
// process deaths.
func TestGatewayFaultsLoseNoMoney(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, append(g.settings, "STAMPEDE_BUY_RATE=0")...)
	states := []struct {
		name       string
		applyFault func(p *payer)
		finalState shop.OrderState
	}{
		{"pending", (*payer).faultWhilePending, shop.Paid},
		{"shipped", (*payer).faultWhileShipped, shop.Shipped},
		{"cancelled", (*payer).faultWhileCancelled, shop.Paid},
		{"refunding", (*payer).faultWhileRefunding, shop.Refunded},
	}
	sale := s.open(int64(2*len(states)*len(gatewayFaults)), 1)
	n := s.start()
	var payers sync.Map    // payer → final state
	var all sync.WaitGroup // not t.Parallel: all subtests wait most of the time, some for a minute
	for _, state := range states {
		for _, fault := range gatewayFaults {
			all.Go(func() {
				t.Run(fmt.Sprintf("%s/%s", state.name, fault["kind"]), func(t *testing.T) {
					p := &payer{
						testShop: s.withTest(t), node: n.withTest(t), g: g, t: t,
						who: token(t, kit.NewID()), fault: fault,
					}
					p.openPayment(sale)
					state.applyFault(p)
					p.requireLedgerMatch(p.awaitFinalState(state.finalState))
					payers.Store(p, state.finalState)
				})
			})
		}
	}
	all.Wait()
	payers.Range(func(p, finalState any) bool { // later faults and retries have changed nothing
		payer := p.(*payer)
		payer.testShop.t, payer.node.t, payer.t = t, t, t
		payer.requireLedgerMatch(payer.awaitFinalState(finalState.(shop.OrderState)))
		return !t.Failed()
	})
	s.awaitDrained(sale)
	s.audit(sale)
}

// openPayment buys, opens the payment and loads the payment page of the gateway.
func (p *payer) openPayment(sale shop.Sale) {
	p.t.Helper()
	p.order = p.buyPending(sale, p.who, 1)
	var payment struct{ URL string }
	p.expect(http.StatusOK, &payment, p.post, "/api/v1/orders/"+p.order.ID.String()+"/pay", p.who,
		map[string]any{"via": "page"})
	if code, _ := p.request(http.MethodGet, payment.URL, "", nil); code != http.StatusOK {
		p.t.Fatalf("the payment page returned %d, want 200", code)
	}
}

// inject enables the fault for this order.
func (p *payer) inject() {
	p.t.Helper()
	fault := map[string]any{"order": p.order.ID.String()}
	for k, v := range p.fault {
		fault[k] = v
	}
	text, err := json.Marshal(fault)
	if err != nil {
		p.t.Fatal(err)
	}
	if code, response := p.request(http.MethodPost, p.g.base+"/admin/faults", "", text); code != http.StatusOK {
		p.t.Fatalf("inject %s: %d %s", text, code, response)
	}
}

// clickButton presses a button of the gateway: pay, late or repeat. If the state of the trade does not allow it,
// nothing changes.
func (p *payer) clickButton(button string) {
	p.t.Helper()
	code, response := p.request(http.MethodPost, p.g.base+"/admin/trades/"+p.order.ID.String()+"/"+button, "", nil)
	if code != http.StatusNoContent && code != http.StatusConflict {
		p.t.Fatalf("press %s: %d %s", button, code, response)
	}
}

func (p *payer) faultWhilePending() {
	p.inject()
	p.clickButton("pay")
}

func (p *payer) faultWhileShipped() {
	p.clickButton("pay")
	p.order = p.awaitState(p.order.ID, p.who, shop.Paid)
	_, err := p.db.ExecContext(kit.Context(p.t), "UPDATE orders SET state = 'shipped', rev = rev + 1 WHERE id = ?",
		p.order.ID)
	p.must(err)
	p.inject()
	p.clickButton("repeat")
	p.clickButton("repeat")
}

// faultWhileCancelled cancels the order. The fault occurs while the shop closes the trade, or when a late payment
// arrives.
func (p *payer) faultWhileCancelled() {
	p.inject()
	kit.Eventually(p.t, waitTimeout, func() (bool, string) {
		code, text := p.post("/api/v1/orders/"+p.order.ID.String()+"/cancel", p.who, nil)
		return code != http.StatusServiceUnavailable, string(text) // outcome unknown: retry
	})
	p.clickButton("late")
}

// faultWhileRefunding requests a refund. The default policy grants it at once.
func (p *payer) faultWhileRefunding() {
	p.clickButton("pay")
	p.order = p.awaitState(p.order.ID, p.who, shop.Paid)
	p.inject()
	p.expect(http.StatusOK, nil, p.post, "/api/v1/orders/"+p.order.ID.String()+"/refund", p.who,
		map[string]any{"reason": "wrong size"})
	p.clickButton("repeat")
}

// awaitFinalState waits until the order has its final state. The faults of all orders together suspend the shop's
// gateway queries for a while, and retries have pauses.
func (p *payer) awaitFinalState(state shop.OrderState) (o shop.Order) {
	p.t.Helper()
	path := "/api/v1/orders/" + p.order.ID.String()
	kit.Eventually(p.t, 4*time.Minute, func() (bool, string) {
		p.expect(http.StatusOK, &o, p.read, path, p.who, nil)
		path = "/api/v1/orders/" + p.order.ID.String() + nextState
		p.shortenPause()
		return o.State == state, fmt.Sprintf("the order is %s (%s), want %s", o.State, o.Reason, state)
	})
	return o
}

// shortenPause shortens the pause before the next refund attempt to the pause after the first attempt.
func (p *payer) shortenPause() {
	next := shop.MillisOf(time.Now().Add(payment.RefundPause(1)))
	// Errors are ignored: if the program holds the row now, the next check repeats this update about a second later.
	_, _ = p.db.ExecContext(kit.Context(p.t), "UPDATE refunds SET next_at = ? WHERE order_id = ? AND next_at > ?", next,
		p.order.ID, next)
}

// requireLedgerMatch checks that the gateway holds the amount of the order, or nothing after a refund.
func (p *payer) requireLedgerMatch(o shop.Order) {
	p.t.Helper()
	want := o.AmountFen
	if o.State == shop.Refunded {
		want = 0
	}
	_, text := p.request(http.MethodGet, p.g.base+"/admin/ledger", "", nil)
	var ledger struct {
		Trades []struct {
			Order       shop.ID `json:"order"`
			TakenFen    int64   `json:"taken_fen"`
			RefundedFen int64   `json:"refunded_fen"`
		} `json:"trades"`
	}
	if err := json.Unmarshal(text, &ledger); err != nil {
		p.t.Fatal(err)
	}
	found := 0
	for _, trade := range ledger.Trades {
		if trade.Order != o.ID {
			continue
		}
		found++
		if held := trade.TakenFen - trade.RefundedFen; trade.TakenFen != o.AmountFen || held != want {
			p.t.Errorf("order %s is %s: the gateway took %d fen and holds %d, want %d", o.ID, o.State, trade.TakenFen,
				held, want)
		}
	}
	if found != 1 {
		p.t.Errorf("got %d trades of order %s, want 1", found, o.ID)
	}
}
