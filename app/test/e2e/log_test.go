package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// logLine is one line of the JSON log.
type logLine struct {
	Msg, Op, Path      string
	Request, Session   any
	Order, Sale, Entry string
}

// logLines returns the log lines for which matches returns true.
func (n *node) logLines(matches func(l *logLine) bool) (found []logLine) {
	for text := range strings.Lines(n.Text()) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			n.t.Fatalf("a log line is not JSON: %s", text)
		}
		if matches(&l) {
			found = append(found, l)
		}
	}
	return found
}

// An operator finds one order in the log of a failure: a failed buy, entry, payment or refund is logged with its ids
// and its request as fields. No log line contains user input or secrets.
func TestFailuresAreLoggedWithTheirIDs(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	dsn := kit.MySQL(t)
	wire := kit.NewProxy(t, dsn)
	s := openShop(t, server.URL, dsn)
	sale := s.open(100, 10)
	g := startGateway(t)
	n := s.start(append(g.settings, "STAMPEDE_MYSQL_DSN="+wire.URL, "STAMPEDE_LOG_FORMAT=json",
		"STAMPEDE_LOG_LEVEL=debug")...)
	user := kit.NewID()
	who := token(t, user)
	c, _ := login(t, n, user, "")
	buyer := &shop.Address{Name: "Ada Zimmermann", Phone: "13955512345", Text: "7 Lamplighter Street"}
	buy := func(key string) (order.Receipt, error) {
		return wsclient.Call[order.Receipt](c.Conn, wsclient.Request{
			Op: wsclient.Buy, Sale: sale.ID, Qty: 1, Key: key, Address: buyer,
		})
	}
	receipt, err := buy("logged-key-1")
	s.must(err)
	s.awaitDrained(sale)

	wire.Cut()
	waiting, err := buy("logged-key-2")
	s.must(err) // the reservation needs no database
	if _, err := c.Pay(receipt.Order, "page"); err == nil {
		t.Error("the payment succeeded without a database")
	}
	if _, err := c.Refund(receipt.Order, "it is too bright (Ada Zimmermann)"); err == nil {
		t.Error("the refund succeeded without a database")
	}
	for _, act := range []string{"pay", "refund"} {
		status, _ := n.post("/api/v1/orders/"+receipt.Order.String()+"/"+act, who, map[string]any{
			"via": "page", "reason": "too bright",
		})
		if status < http.StatusInternalServerError {
			t.Errorf("%s without a database got %d, want at least 500", act, status)
		}
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return len(n.logLines(func(l *logLine) bool { return l.Entry != "" && l.Order == waiting.Order.String() })) > 0,
			"no log line has the entry that could not be written: " + n.Tail()
	})
	wire.Restore()
	s.awaitDrained(sale)

	server.Kill()
	if _, err := buy("logged-key-3"); err == nil {
		t.Error("the buy succeeded without Redis")
	}
	status, _ := n.post("/api/v1/sales/"+sale.ID.String()+"/buy", who, map[string]any{"qty": 1, "key": "logged-key-4"})
	if status != http.StatusServiceUnavailable {
		t.Errorf("the buy over HTTP without Redis got %d, want 503", status)
	}
	server.Start()

	for label, matches := range map[string]func(l *logLine) bool{
		"pay on a socket":    func(l *logLine) bool { return l.Op == "pay" && l.Order == receipt.Order.String() },
		"refund on a socket": func(l *logLine) bool { return l.Op == "refund" && l.Order == receipt.Order.String() },
		"buy on a socket":    func(l *logLine) bool { return l.Op == "buy" && l.Sale == sale.ID.String() && l.Order != "" },
		"pay over HTTP": func(l *logLine) bool {
			return strings.HasSuffix(l.Path, "/pay") && l.Order == receipt.Order.String()
		},
		"refund over HTTP": func(l *logLine) bool {
			return strings.HasSuffix(l.Path, "/refund") && l.Order == receipt.Order.String()
		},
		"buy over HTTP": func(l *logLine) bool {
			return strings.HasSuffix(l.Path, "/buy") && l.Sale == sale.ID.String() && l.Order != ""
		},
	} {
		found := n.logLines(matches)
		if len(found) == 0 {
			t.Errorf("no log line has the ids of %s", label)
			continue
		}
		if l := found[0]; l.Request == nil || l.Op != "" && fmt.Sprint(l.Session) == "" {
			t.Errorf("%s: no request in %+v", label, l)
		}
	}
	for _, private := range []string{
		who, strings.Split(who, ".")[2], secret, "Zimmermann", "13955512345", "Lamplighter", "too bright", "PRIVATE KEY",
	} {
		if strings.Contains(n.Text(), private) {
			t.Errorf("the log contains %q", private)
		}
	}
}
