package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stampede/app/archive"
	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// archiveSale sets the closing time of a sale to the distant past and moves its orders to the archive.
func (s *testShop) archiveSale(sale shop.Sale, orders int) {
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
	exec("UPDATE sales SET opens_at = 500") // the archiver pauses around openings
	archiver := &archive.Archiver{Store: s.store, PartitionFigures: kit.NoBacklog, ArchiveAfter: archive.RefundWindow}
	kit.Eventually(s.t, waitTimeout, func() (bool, string) { // a node may be archiving
		done, err := archiver.RunOnce(ctx)
		if errors.Is(err, store.ErrArchiveLocked) {
			return false, err.Error()
		}
		if err != nil || done.Moved != int64(orders) {
			s.t.Fatalf("archived %+v, %v; want %d orders", done, err, orders)
		}
		return true, ""
	})
}

// P1, P8, I1: archived orders are readable over HTTP, in searches of operators and on sockets as before. Unsupported
// operations on them return an error with a message. Orders of dropped months are not found.
func TestArchivedOrdersStayReadable(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, append(g.settings, "STAMPEDE_PAY_WINDOW=10m")...)
	sale, n := s.open(9, 3), s.start()
	buyer := kit.NewID()
	who, operator := token(t, buyer), operatorToken(t)
	placed := n.payOrder(g, n.buyPending(sale, who, 1), who)
	ended := n.buyPending(sale, who, 1)
	orderPath, service := "/api/v1/orders/"+placed.ID.String(), "/api/v1/operator"
	n.expect(http.StatusOK, nil, n.post, service+"/orders/"+placed.ID.String()+"/ship", operator,
		map[string]any{"carrier": "SF", "tracking": "SF1"})
	n.expect(http.StatusOK, nil, n.post, orderPath+"/receipt", who, nil)
	n.expect(http.StatusOK, nil, n.post, "/api/v1/orders/"+ended.ID.String()+"/cancel", who, nil)
	placed, ended = n.awaitState(placed.ID, who, shop.Finished), n.awaitState(ended.ID, who, shop.Cancelled)
	all := []shop.ID{ended.ID, placed.ID}

	// views returns all views of the two orders, as their buyer and an operator read them.
	views := func() string {
		t.Helper()
		var responses []string
		for _, view := range []struct{ path, token string }{
			{orderPath, who},
			{"/api/v1/orders/" + ended.ID.String(), who},
			{"/api/v1/orders", who},
			{"/api/v1/orders?limit=1", who},
			{"/api/v1/orders?sale=" + sale.ID.String() + "&before=" + ended.ID.String(), who},
			{service + "/orders/" + placed.ID.String(), operator},
			{service + "/orders/" + ended.ID.String(), operator},
			{service + "/orders?q=" + placed.ID.String(), operator},
			{service + "/orders?q=" + placed.TradeNo, operator},
			{service + "/orders?q=" + buyer.String(), operator},
			{service + "/orders?state=cancelled&sale=" + sale.ID.String(), operator},
			{service + "/orders?user=" + buyer.String() + "&limit=1", operator},
			{service + "/payments?q=" + placed.ID.String(), operator},
			{service + "/users/" + buyer.String(), operator},
		} {
			status, text := n.get(view.path, view.token)
			if status != http.StatusOK || !strings.Contains(string(text), placed.ID.String()) &&
				!strings.Contains(string(text), ended.ID.String()) {
				t.Errorf("%s: %d %s", view.path, status, text)
			}
			responses = append(responses, view.path+" "+string(text))
		}
		c, welcome := login(t, n, buyer, "")
		page, err := c.Orders(0)
		if err != nil || len(page.Orders) != 2 || page.Orders[0].ID != all[0] || page.Orders[1].ID != all[1] ||
			welcome.Reset {
			t.Errorf("on the socket: %+v (%v), %+v", page, err, welcome)
		}
		older, err := c.Orders(all[0])
		if err != nil || len(older.Orders) != 1 || older.Orders[0].ID != all[1] {
			t.Errorf("older on the socket: %+v (%v)", older, err)
		}
		return strings.Join(append(responses, fmt.Sprintf("%+v %+v", page, older)), "\n")
	}
	before := views()
	s.archiveSale(sale, 2)
	if now := views(); now != before {
		t.Errorf("views of archived orders: got\n%s\nwant\n%s", now, before)
	}

	stranger := token(t, kit.NewID())
	for _, rejection := range []struct {
		path, token string
		body        any
		status      int
		code        shop.Code
	}{
		{orderPath, stranger, nil, http.StatusNotFound, shop.NotFound},
		{orderPath + "/receipt", stranger, nil, http.StatusNotFound, shop.NotFound},
		{orderPath + "/refund", who, map[string]any{"reason": "too late"}, http.StatusConflict, shop.WrongState},
		{orderPath + "/cancel", who, nil, http.StatusConflict, shop.WrongState},
		{orderPath + "/pay", who, map[string]any{"via": "page"}, http.StatusConflict, shop.WrongState},
		{
			service + "/orders/" + placed.ID.String() + "/refund", operator,
			map[string]any{},
			http.StatusConflict, shop.WrongState,
		},
		{
			service + "/orders/" + placed.ID.String() + "/ship", operator,
			map[string]any{"carrier": "SF", "tracking": "SF2", "replace": true},
			http.StatusConflict, shop.WrongState,
		},
		{
			service + "/orders/" + ended.ID.String() + "/ship", operator,
			map[string]any{"carrier": "SF", "tracking": "SF2"},
			http.StatusConflict, shop.WrongState,
		},
	} {
		request := n.post
		if rejection.path == orderPath {
			request = n.read
		}
		var failure struct{ Error shop.Error }
		n.expect(rejection.status, &failure, request, rejection.path, rejection.token, rejection.body)
		if failure.Error.Code != rejection.code || failure.Error.Message == "" {
			t.Errorf("%s: got error %+v, want %s with a message", rejection.path, failure.Error, rejection.code)
		}
	}
	// A repeated receipt succeeds and changes nothing.
	var state struct{ State shop.OrderState }
	n.expect(http.StatusOK, &state, n.post, orderPath+"/receipt", who, nil)
	c, _ := login(t, n, buyer, "")
	_, err := c.Refund(placed.ID, "too late")
	requireError(t, shop.WrongState, err)
	_, err = c.Cancel(placed.ID)
	requireError(t, shop.WrongState, err)
	if state.State != shop.Finished || c.cancelOrder(ended.ID) != shop.Cancelled {
		t.Errorf("the order is %s after a repeated receipt, want finished; the other order must be cancelled", state.State)
	}
	if now := views(); now != before {
		t.Errorf("rejected requests changed the orders: got\n%s\nwant\n%s", now, before)
	}
	if n := s.count("SELECT (SELECT COUNT(*) FROM orders) + (SELECT COUNT(*) FROM orders_archive)"); n != 2 {
		t.Errorf("%d rows of two orders, want 2", n)
	}
	s.audit(sale)
	s.dropArchive(n, who, operator, sale, all)
}

// dropArchive deletes the month of archived orders and checks that they are not found anywhere.
func (s *testShop) dropArchive(n *node, who, operator string, sale shop.Sale, all []shop.ID) {
	s.t.Helper()
	ctx, now := kit.Context(s.t), shop.MillisOf(time.Now())
	last, err := s.store.DropOrders(ctx, shop.MonthOf(now).Next().Start(), 0, now, 10)
	s.must(err)
	if left := s.count("SELECT COUNT(*) FROM orders_archive"); last == 0 || left != 0 {
		s.t.Fatalf("%d orders are left, want 0; deleted up to %s", left, last)
	}
	for _, id := range all {
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
				s.t.Errorf("%s: %+v", call.path, failure.Error)
			}
		}
		var found struct{ Orders []shop.Order }
		n.expect(http.StatusOK, &found, n.read, service+"?q="+id.String(), operator, nil)
		if len(found.Orders) != 0 {
			s.t.Errorf("the search returned %+v, want no dropped order", found.Orders)
		}
	}
	var report backoffice.SaleReport
	n.expect(http.StatusOK, &report, n.read, "/api/v1/operator/sales/"+sale.ID.String()+"/report", operator, nil)
	if report.Dropped != 2 || report.Money.PaidFen != 4900 {
		s.t.Errorf("the report is %+v, want 2 dropped orders and 4900 fen paid", report)
	}
	s.audit(sale)
}
