package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// P1, P6: an operator ships a paid order, its buyer confirms the receipt, and the order stays finished. Buyer and
// operator see each state, the search finds the order, and the report of the sale balances.
func TestOrderIsShippedAndReceived(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, g.settings...)
	sale := s.open(5, 2)
	n := s.start()
	who, operator := token(t, kit.NewID()), operatorToken(t)
	placed := n.payOrder(g, n.buyPending(sale, who, 2), who)
	orderPath, service := "/api/v1/orders/"+placed.ID.String(), "/api/v1/operator"

	n.expect(http.StatusConflict, nil, n.post, orderPath+"/receipt", who, nil)
	file := map[string]any{
		"csv": fmt.Sprintf("order,carrier,tracking\n%s,顺丰速运,SF1234567890\n%s,SF,SF2\n", placed.ID, kit.NewID()),
	}
	for _, want := range []string{"1 0 1", "0 1 1"} { // the second import of the file changes nothing
		var r backoffice.ShipReport
		n.expect(http.StatusOK, &r, n.post, service+"/ship", operator, file)
		if got := fmt.Sprint(
			r.Shipped, r.Unchanged, r.Failed,
		); got != want || r.Lines[1].Result != store.ShipNoOrder {
			t.Errorf("the result of the file is %+v, want %s", r, want)
		}
	}
	if o := n.awaitState(placed.ID, who, shop.Shipped); o.Tracking != "顺丰速运 SF1234567890" {
		t.Errorf("the buyer reads the tracking %q, want the carrier and the number", o.Tracking)
	}
	n.expect(http.StatusNotFound, nil, n.post, orderPath+"/receipt", token(t, kit.NewID()), nil)
	for range 2 {
		var state struct{ State shop.OrderState }
		n.expect(http.StatusOK, &state, n.post, orderPath+"/receipt", who, nil)
		if state.State != shop.Finished {
			t.Errorf("the order is %s after the confirmed receipt, want finished", state.State)
		}
	}
	n.expect(http.StatusConflict, nil, n.post, orderPath+"/refund", who, map[string]any{"reason": "too late"})
	n.expect(http.StatusConflict, nil, n.post, service+"/orders/"+placed.ID.String()+"/ship", operator,
		map[string]any{"carrier": "SF", "tracking": "SF3", "replace": true})

	var found struct{ Orders []shop.Order }
	n.expect(http.StatusOK, &found, n.read, service+"/orders?state=finished&q="+placed.TradeNo, operator, nil)
	if len(found.Orders) != 1 || found.Orders[0].ID != placed.ID {
		t.Errorf("the search found %+v, want order %s", found.Orders, placed.ID)
	}
	var report backoffice.SaleReport
	n.expect(http.StatusOK, &report, n.read, service+"/sales/"+sale.ID.String()+"/report", operator, nil)
	if b := report.Balance; report.Money.NetFen != placed.AmountFen || b.Redis.Sold != 2 || b.Database.Sold != 2 ||
		len(b.Failures) != 0 || len(report.Speed.Minutes) != 1 {
		t.Errorf("got report %+v, want a balance of 2 sold units without failures", report)
	}
	// Nodes publish their counters within a second.
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		n.expect(http.StatusOK, &report, n.read, service+"/sales/"+sale.ID.String()+"/report", operator, nil)
		p := report.Buys
		return p != nil && p.Attempts > 0 && p.Reserved > 0, "the buy attempts are not counted"
	})
	for _, command := range []string{"report " + sale.ID.String(), "order list --state finished", "pay list"} {
		if out, code := n.run(strings.Fields(command)...); code != 0 || !strings.Contains(out, "finished") &&
			!strings.Contains(out, placed.TradeNo) {
			t.Errorf("%s exits %d:\n%s", command, code, out)
		}
	}
	s.audit(sale)
}
