package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// ageSale sets the closing time of a sale to the distant past and waits until the sale has left Redis and its orders
// are settled.
func (s *testShop) ageSale(sale shop.Sale) {
	s.t.Helper()
	ctx := kit.Context(s.t)
	exec := func(statement string, args ...any) {
		s.t.Helper()
		_, err := s.db.ExecContext(ctx, statement, args...)
		s.must(err)
	}
	exec("UPDATE sales SET opens_at = 500, closes_at = 1000 WHERE id = ?", sale.ID)
	s.must(s.redis.HSet(ctx, kit.SaleKey(&sale), "closes", 1000).Err())
	for _, condition := range []string{
		"FROM sales WHERE retired_at = 0 AND epoch > 0", "FROM orders WHERE unpublished_since IS NOT NULL",
		"FROM outbox WHERE next_at IS NOT NULL",
	} {
		kit.Eventually(s.t, waitTimeout, func() (bool, string) { return s.count("SELECT COUNT(*) "+condition) == 0, condition })
	}
	exec("UPDATE orders SET changed_at = '2020-01-02'")
	exec("UPDATE trades SET check_at = NULL") // no further gateway queries
	exec("UPDATE shipments SET mail_at = NULL")
}

// I1, P8: order prune writes settled orders of an old sale to a file and deletes them while the shop runs. Buyers and
// operators no longer find them; reports and the audit still balance.
func TestPrunedOrdersAreGone(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, append(g.settings, "STAMPEDE_PAY_WINDOW=10m")...)
	sale, n := s.open(9, 3), s.start()
	buyer := kit.NewID()
	who, operator := token(t, buyer), operatorToken(t)
	placed := n.payOrder(g, n.buyPending(sale, who, 1), who)
	ended := n.buyPending(sale, who, 1)
	service := "/api/v1/operator"
	n.expect(http.StatusOK, nil, n.post, service+"/orders/"+placed.ID.String()+"/ship", operator,
		map[string]any{"carrier": "SF", "tracking": "SF1"})
	n.expect(http.StatusOK, nil, n.post, "/api/v1/orders/"+placed.ID.String()+"/receipt", who, nil)
	n.expect(http.StatusOK, nil, n.post, "/api/v1/orders/"+ended.ID.String()+"/cancel", who, nil)
	n.awaitState(placed.ID, who, shop.Finished)
	n.awaitState(ended.ID, who, shop.Cancelled)
	s.ageSale(sale)
	s.audit(sale)

	folder := filepath.Join(t.TempDir(), "orders")
	text, code := s.run("order", "prune", "--before", "2024-01-01", "--export", folder)
	if code != 0 || !strings.Contains(text, "2 orders deleted") || !strings.Contains(text, "49.00") {
		t.Errorf("order prune printed\n%s\nwant 2 deleted orders with 49.00 yuan", text)
	}
	if files, err := filepath.Glob(filepath.Join(folder, "orders-*.csv.gz")); err != nil || len(files) != 1 {
		t.Errorf("got the files %v (%v), want one", files, err)
	}
	for _, id := range []shop.ID{ended.ID, placed.ID} {
		one, service := "/api/v1/orders/"+id.String(), "/api/v1/operator/orders"
		for _, call := range []struct {
			request func(path, token string, body any) (int, []byte)
			path    string
			token   string
			body    any
		}{
			{n.read, one, who, nil},
			{n.post, one + "/receipt", who, nil},
			{n.post, one + "/cancel", who, nil},
			{n.post, one + "/refund", who, map[string]any{"reason": "too late"}},
			{n.read, service + "/" + id.String(), operator, nil},
			{n.post, service + "/" + id.String() + "/refund", operator, map[string]any{}},
			{n.post, service + "/" + id.String() + "/ship", operator, map[string]any{"carrier": "SF", "tracking": "SF1"}},
		} {
			var failure struct{ Error shop.Error }
			n.expect(http.StatusNotFound, &failure, call.request, call.path, call.token, call.body)
			if failure.Error.Code != shop.NotFound || failure.Error.Message == "" {
				t.Errorf("%s: %+v", call.path, failure.Error)
			}
		}
		var found struct{ Orders []shop.Order }
		n.expect(http.StatusOK, &found, n.read, service+"?q="+id.String(), operator, nil)
		if len(found.Orders) != 0 {
			t.Errorf("the search returned %+v, want no deleted order", found.Orders)
		}
	}
	c, _ := login(t, n, buyer, "")
	if page, err := c.Orders(0); err != nil || len(page.Orders) != 0 {
		t.Errorf("on the socket: got %s (%v), want no orders", fmt.Sprint(page), err)
	}
	var report backoffice.SaleReport
	n.expect(http.StatusOK, &report, n.read, service+"/sales/"+sale.ID.String()+"/report", operator, nil)
	if report.Pruned != 2 || report.Money.PaidFen != 4900 {
		t.Errorf("the report is %+v, want 2 deleted orders and 4900 fen paid", report)
	}
	s.audit(sale)
}
