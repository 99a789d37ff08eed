//go:build crashpoints

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"stampede/app/account"
	"stampede/app/alipay/sim"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// payer is the buyer of one order who uses the HTTP API and pays at the simulated gateway.
type payer struct {
	w       *world
	gateway *sim.Simulator
	token   string
	order   shop.ID
}

// dieDuringPayment kills the program at a point of a payment flow. The next node completes the flow, and the gateway
// keeps exactly the right amount (P8).
func dieDuringPayment(t *testing.T, flow, point string) {
	window := 10 * time.Second // long enough to pay on a slow machine, short enough for orders that must expire
	gateway, settings := newGateway(t)
	w := newWorld(t, append(settings, "STAMPEDE_PAY_WINDOW="+window.String())...)
	sale := w.offer(1, 1, w.rng.IntN(partitions))
	victim := w.start(w.crashAt(point, 1))
	p := w.payer(gateway)
	p.buy(victim, &sale)
	p.pay(victim, flow, func() {
		if point == "late.after-refunding" { // another buyer gets the unit before the late payment
			w.payer(gateway).buy(victim, &sale)
		}
	})
	victim.waitDeath(point)
	next := w.start()
	kit.Eventually(t, settleTimeout, func() (bool, string) {
		if next.Exited() {
			t.Fatalf("the program exited unexpectedly:\n%s", next.Tail())
		}
		problem := w.moneyProblem(gateway)
		return problem == "", problem
	})
	w.audit()
	report.line("ok  %-58s order %s, %d nodes started, %.0f s", w.name, p.row().State, w.nodesStarted, time.Since(w.began).Seconds())
}

// newGateway returns a simulated gateway that outlives the nodes, and the settings of a node for it.
func newGateway(t *testing.T) (*sim.Simulator, []string) {
	t.Helper()
	gateway, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Close)
	server := httptest.NewServer(gateway)
	t.Cleanup(server.Close)
	environ, err := gateway.Keys().Environ(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return gateway, environ
}

func (w *world) payer(gateway *sim.Simulator) *payer {
	w.t.Helper()
	issuer, err := account.NewIssuer([]byte(secret), nil)
	w.must(err)
	token, err := issuer.Issue(kit.NewID(), "Tester", shop.Shopper, time.Hour)
	w.must(err)
	return &payer{w: w, gateway: gateway, token: token}
}

// buy buys one unit and waits until the order is pending.
func (p *payer) buy(n *node, sale *shop.Sale) shop.ID {
	p.w.t.Helper()
	var receipt order.Receipt
	kit.Eventually(p.w.t, settleTimeout, func() (bool, string) { // a returned unit has a short cooldown
		err := p.post(n, "/api/v1/sales/"+sale.ID.String()+"/buy", map[string]any{
			"qty": 1, "key": "paying-" + p.token[len(p.token)-8:],
		}, &receipt)
		return err == nil, fmt.Sprint(err)
	})
	p.order = receipt.Order
	p.awaitState(n, shop.Pending)
	return receipt.Order
}

// pay performs the steps of a flow until the node dies: `pay`, `refund` (pay, then request a refund), `late` (pay after
// the expiry) or `close` (open the page and do not pay). The next node completes requests that got no response.
func (p *payer) pay(n *node, flow string, beforeLate func()) {
	p.w.t.Helper()
	orderText := p.order.String()
	var payment struct{ URL string }
	if p.post(n, "/api/v1/orders/"+orderText+"/pay", map[string]any{"via": "page"}, &payment) != nil {
		return
	}
	_, err := p.gateway.Open(payment.URL)
	p.w.must(err)
	switch flow {
	case "close": // the buyer loads the payment page and does not pay
	case "late":
		p.awaitState(n, shop.Expired)
		beforeLate()
		p.w.must(p.gateway.PayLate(orderText))
	default:
		p.w.must(p.gateway.Pay(orderText))
		if flow == "refund" {
			p.awaitState(n, shop.Paid)
			_ = p.post(n, "/api/v1/orders/"+orderText+"/refund", map[string]any{"reason": "too large"}, nil)
		}
	}
}

// awaitState waits until the order is in the state or the node has died.
func (p *payer) awaitState(n *node, state shop.OrderState) {
	p.w.t.Helper()
	kit.Eventually(p.w.t, settleTimeout, func() (bool, string) {
		var row shop.Order
		rows, err := p.w.store.Orders().OrdersByID(kit.Context(p.w.t), []shop.ID{p.order})
		if err == nil && len(rows) == 1 {
			row = rows[0]
		}
		return n.Exited() || row.State == state, fmt.Sprintf("order %s is %s, want %s", p.order, row.State, state)
	})
}

func (p *payer) row() shop.Order {
	p.w.t.Helper()
	row, err := p.w.store.Orders().Order(kit.Context(p.w.t), p.order)
	p.w.must(err)
	return row
}

// moneyProblem returns an order for which the gateway keeps the wrong amount, or remaining work; otherwise "".
func (w *world) moneyProblem(gateway *sim.Simulator) string {
	w.t.Helper()
	kept := make(map[shop.ID]int64)
	for _, trade := range gateway.Ledger().Trades {
		kept[shop.ID(number(trade.Order))] = trade.TakenFen - trade.RefundedFen
	}
	ids := slices.Collect(maps.Keys(kit.IDs(w.t, w.db, "SELECT id FROM orders")))
	rows, err := w.store.Orders().OrdersByID(kit.Context(w.t), ids)
	w.must(err)
	for i := range rows {
		row, want := &rows[i], int64(0)
		if row.State.Sold() {
			want = row.AmountFen
		}
		if kept[row.ID] != want {
			return fmt.Sprintf("order %s is %s, and the gateway keeps %d fen for it, want %d", row.ID, row.State,
				kept[row.ID], want)
		}
		delete(kept, row.ID)
	}
	for order, fen := range kept {
		if fen != 0 {
			return fmt.Sprintf("order %s has no row, and the gateway keeps %d fen for it", order, fen)
		}
	}
	return w.remainingMoneyWork()
}

// remainingMoneyWork returns work that pendingWork finds, or unpublished events, unsettled payments, unfinished refunds
// or unsent postings; otherwise "".
func (w *world) remainingMoneyWork() string {
	w.t.Helper()
	if pending := w.pendingWork(); pending != "" {
		return pending
	}
	for label, query := range map[string]string{
		"events are unpublished":      "SELECT COUNT(*) FROM orders WHERE unpublished_since IS NOT NULL",
		"late payments are unsettled": "SELECT COUNT(*) FROM payments WHERE unsettled_since IS NOT NULL",
		"refunds are not finished":    "SELECT COUNT(*) FROM refunds WHERE next_at IS NOT NULL",
		"postings are not sent":       "SELECT COUNT(*) FROM outbox WHERE next_at IS NOT NULL",
	} {
		if n := w.count(query); n > 0 {
			return fmt.Sprintf("%d %s", n, label)
		}
	}
	return ""
}

func (p *payer) post(n *node, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(kit.Context(p.w.t), 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.addr+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	response, err := kit.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}
