//go:build crashpoints

package crash

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// dieDuringShipping kills the program while a paid order is shipped, or while its buyer confirms the receipt. The next
// node publishes the event, and repeated requests succeed.
func dieDuringShipping(t *testing.T, flow, point string) {
	sim, settings := newGateway(t)
	w := newWorld(t, append(settings, "STAMPEDE_PAY_WINDOW=10s")...)
	sale := w.offer(1, 1, w.rng.IntN(partitions))
	victim := w.start(w.crashAt(point, 1))
	p := w.payer(sim)
	p.order = p.buy(victim, &sale)
	p.pay(victim, flow, nil)
	p.awaitState(victim, shop.Paid)
	operatorToken, key := w.token(kit.NewID(), shop.Operator), "act-shipped"
	parcel := operation{
		http.MethodPost, "/api/v1/operator/orders/" + p.order.String() + "/ship",
		map[string]any{"carrier": "SF", "tracking": "SF-1001"},
		nil,
	}
	receipt := operation{http.MethodPost, "/api/v1/orders/" + p.order.String() + "/receipt", map[string]any{}, nil}
	status, response, err := w.call(victim, operatorToken, key, parcel)
	last := shop.Shipped
	if flow == "receipt" {
		last = shop.Finished
		if err != nil || status != http.StatusOK {
			t.Fatalf("shipping the order got %d %s %v, want 200", status, response, err)
		}
		status, response, err = w.call(victim, p.token, "", receipt)
	}
	if err == nil {
		t.Fatalf("got a response from a node that should have died: %d: %s", status, response)
	}
	victim.waitDeath(point)
	next := w.start()
	kit.Eventually(t, settleTimeout, func() (bool, string) {
		unpublished := w.count("SELECT COUNT(*) FROM orders WHERE unpublished_since IS NOT NULL")
		state := p.row().State
		return state == last && unpublished == 0, fmt.Sprintf("the order is %s, %d events are unpublished", state, unpublished)
	})
	if flow == "receipt" {
		if status, response, err := w.call(next, p.token, "", receipt); err != nil || status != http.StatusOK {
			t.Errorf("the second confirmation of receipt got %d %s %v, want 200", status, response, err)
		}
	}
	w.repeatOperation(next, operatorToken, key, parcel)
	w.audit()
	report.line("ok  %-58s order %s, %d nodes started, %.0f s", w.name, p.row().State, w.nodesStarted, time.Since(w.began).Seconds())
}
