package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// hiddenSale offers a hidden sale that is open now, and returns tokens of guests that are bound to it.
func (s *testShop) hiddenSale(n *node, units int64, guests int) (store.SaleRecord, []string) {
	s.t.Helper()
	template, operator := s.open(units, 1), operatorToken(s.t)
	var slot shop.Slot
	now := shop.MillisOf(time.Now().Truncate(time.Second))
	n.expect(http.StatusOK, &slot, n.post, "/api/v1/operator/slots", operator, backoffice.SlotDraft{
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(time.Hour), Hidden: true,
	})
	var sale store.SaleRecord
	n.expect(http.StatusOK, &sale, n.post, "/api/v1/operator/sales", operator, backoffice.SaleDraft{
		Slot: slot.ID, Product: template.Product.ID, PriceFen: 4900, Stock: units, Limit: 2,
	})
	var added struct{ Tokens []string }
	n.expect(http.StatusOK, &added, n.post, "/api/v1/operator/sales/"+sale.ID.String()+"/guests", operator,
		map[string]int{"guests": guests})
	return sale, added.Tokens
}

// watchSale opens a socket with the token and waits until the node shows the sale.
func watchSale(t *testing.T, n *node, token string, sale shop.ID) *client {
	t.Helper()
	c := dial(t, n)
	if _, err := c.Hello(token, ""); err != nil {
		t.Fatal(err)
	}
	err := c.RetryOnCodes(func() error {
		_, err := c.Watch(0, sale)
		return err
	}, shop.NotFound, shop.Busy)
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	return c
}

// A hidden sale does not exist for callers without a token that is bound to it, over every route and op. Bound guests
// watch it, buy in it, and find no other sale. Its orders cannot be paid. Reports, the board and the export exclude it.
func TestHiddenSaleDoesNotExistForOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	n := s.start(startGateway(t).settings...)
	public := s.open(10, 2)
	sale, tokens := s.hiddenSale(n, 10, 2)
	id, slot, operator := sale.ID.String(), sale.Slot.ID.String(), operatorToken(t)

	guest := watchSale(t, n, tokens[0], sale.ID)
	receipt, err := guest.BuyUntilKnown(sale.ID, 1, "hidden-buy-1")
	s.must(err)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return guest.received(receipt.Order, shop.Pending), "no order event"
	})
	n.expect(http.StatusOK, nil, n.postRetrying, "/api/v1/sales/"+id+"/buy", tokens[1],
		map[string]any{"qty": 1, "key": "hidden-buy-2"})
	for name, err := range map[string]error{
		"watch": errOf(guest.Watch(0, public.ID)), "buy": errOf(guest.Buy(public.ID, 1, "other-sale-1")),
		"pass": errOf(guest.RequestPass(public.ID)), "watch of a slot": errOf(guest.Watch(public.Slot)),
	} {
		requireError(t, shop.NotFound, fmt.Errorf("%s of another sale: %w", name, err))
	}

	other, _ := login(t, n, kit.NewID(), "")
	for name, err := range map[string]error{
		"watch": errOf(other.Watch(0, sale.ID)), "watch of the slot": errOf(other.Watch(sale.Slot.ID)),
		"buy": errOf(other.Buy(sale.ID, 1, "not-for-you-1")), "pass": errOf(other.RequestPass(sale.ID)),
		"solve": errOf(other.SolvePass(sale.ID, "task", "answer")),
	} {
		if code := wsclient.CodeOf(err); code != shop.NotFound {
			t.Errorf("%s: %q, %v; want not_found", name, code, err)
		}
	}
	for _, route := range []struct {
		method, path, token string
		body                any
	}{
		{"GET", "/api/v1/sales/" + id, token(t, kit.NewID()), nil},
		{"GET", "/api/v1/slots/" + slot + "/sales", "", nil},
		{"POST", "/api/v1/sales/" + id + "/buy", token(t, kit.NewID()), map[string]any{"qty": 1, "key": "not-for-you-2"}},
		{"POST", "/api/v1/sales/" + id + "/pass", token(t, kit.NewID()), nil},
		{"POST", "/api/v1/sales/" + id + "/solve", token(t, kit.NewID()), map[string]any{"task": "t", "answer": "a"}},
		{"POST", "/api/v1/sales/" + public.ID.String() + "/buy", tokens[1], map[string]any{"qty": 1, "key": "other-sale-2"}},
		{"GET", "/api/v1/operator/sales/" + id + "/report", operator, nil},
		{"GET", "/api/v1/operator/sales/" + id + "/report.csv", operator, nil},
	} {
		status, response := n.send(route.method, route.path, route.token, route.body)
		if status != http.StatusNotFound {
			t.Errorf("%s %s: %d %s; want not_found", route.method, route.path, status, response)
		}
	}
	for _, list := range []struct{ path, token string }{
		{"/api/v1/slots", ""},
		{"/api/v1/slots?day=" + time.Now().UTC().Format(time.DateOnly), ""},
		{"/api/v1/sales?phase=open", ""},
		{"/api/v1/sales?phase=upcoming", ""},
		{"/api/v1/sales?phase=closed", ""},
		{"/api/v1/operator/board", operator},
		{"/api/v1/operator/orders", operator},
		{"/api/v1/operator/export/sales.csv", operator},
	} {
		status, response := n.get(list.path, list.token)
		text := string(response)
		if status != http.StatusOK || strings.Contains(text, id) || strings.Contains(text, slot) {
			t.Errorf("%s: got status %d, want 200 without the hidden sale: %s", list.path, status, text)
		}
	}
	if status, response := n.post("/api/v1/auth/guest", tokens[1], nil); status != http.StatusForbidden {
		t.Errorf("renewing a bound token got %d %s, want 403", status, response)
	}
	if got := n.metric("stampede_buys_reserved_total"); got != 0 {
		t.Errorf("%v reservations counted, want 0", got)
	}
	_, err = guest.Pay(receipt.Order, "page")
	requireError(t, shop.WrongState, err)
	guest.cancelOrder(receipt.Order)
	s.audit(shop.Sale{ID: sale.ID, Partition: sale.Partition})
}

func errOf[T any](_ T, err error) error { return err }

// A rehearsal reports GO for a healthy deployment and NO-GO beyond a limit. It ends its orders and archives its sale
// and slot; their rows stay.
func TestRehearsalReportsGoOrNoGo(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(15, 1)
	n := s.start()
	for _, c := range []struct {
		limit string
		code  int
		want  string
	}{{"10s", 0, "GO"}, {"1ns", 1, "NO-GO"}} {
		out, code := n.run("rehearse", "--sale", sale.ID.String(), "--shoppers", "20", "--for", "6s",
			"--limit-connect", "30s", "--limit-order", "30s", "--limit-retried", "0", "--limit-answer", c.limit)
		if lines := strings.Fields(out); code != c.code || !slices.Contains(lines, c.want) {
			t.Errorf("exit code %d, want %d and %s:\n%s", code, c.code, c.want, out)
		}
	}
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM sales WHERE hidden = 1 AND archived_at > 0":                              2,
		"SELECT COUNT(*) FROM slots WHERE hidden = 1":                                                  0,
		"SELECT COUNT(*) FROM orders WHERE state = 'pending'":                                          0,
		"SELECT COUNT(*) FROM sales WHERE hidden = 1 AND taken > 0":                                    0,
		"SELECT MIN(n) >= 15 FROM (SELECT COUNT(*) AS n FROM orders GROUP BY sale_id) AS of_each_sale": 1,
	} {
		if got := s.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// A rehearsal that is interrupted while its shoppers connect or buy gives no verdict. It ends and archives its sale and
// slot.
func TestInterruptedRehearsalArchivesItsSale(t *testing.T) {
	t.Parallel()
	for name, started := range map[string]string{
		// the node has loaded the sale for the first shopper
		"connecting": "SELECT COUNT(*) > 0 FROM sales WHERE hidden = 1 AND epoch > 0",
		"buying":     "SELECT COUNT(*) > 0 FROM orders",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			sale := s.open(15, 1)
			n := s.start()
			p := kit.StartProgram(t, binary, filepath.Join(t.TempDir(), "log"), []string{
				"STAMPEDE_URL=http://" + n.addr, "STAMPEDE_TOKEN=" + issue(t, kit.NewID(), "Admin", shop.Admin),
			}, "rehearse", "--sale", sale.ID.String(), "--shoppers", "20", "--for", "30s")
			kit.Eventually(t, waitTimeout, func() (bool, string) { return s.count(started) == 1, p.Text() })
			s.must(p.Cmd.Process.Signal(os.Interrupt))
			if <-p.Ended; p.Cmd.ProcessState.ExitCode() != 4 {
				t.Errorf("exit code %d, want 4:\n%s", p.Cmd.ProcessState.ExitCode(), p.Text())
			}
			if n := s.count("SELECT COUNT(*) FROM sales WHERE hidden = 1 AND archived_at > 0"); n != 1 {
				t.Errorf("%d archived hidden sales, want 1:\n%s", n, p.Text())
			}
			if n := s.count("SELECT COUNT(*) FROM slots WHERE hidden = 1"); n != 0 {
				t.Errorf("%d hidden slots are left:\n%s", n, p.Text())
			}
		})
	}
}
