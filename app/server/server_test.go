package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/test/kit/contract"
)

// TestMain ignores two goroutines of fasthttp: a clock that never stops, and the worker cleaner of each server, which
// stops at most ten seconds after its server.
func TestMain(m *testing.M) {
	kit.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// node is a running server with a client.
type node struct {
	t      *testing.T
	server *Server
	stop   context.CancelFunc
	ended  chan error
	token  string
}

// embeddedConfig returns a configuration with embedded stores in the folder and free ports.
func embeddedConfig(t *testing.T, dir string, more ...string) Config {
	t.Helper()
	c, err := Load(append([]string{
		"STAMPEDE_DATA=" + dir, "STAMPEDE_LISTEN=" + kit.FreeAddress(t), "STAMPEDE_METRICS_LISTEN=127.0.0.1:0",
		"STAMPEDE_GUEST_LOGIN=true", "STAMPEDE_PARTITIONS=2", "STAMPEDE_RETURN_WITHIN=1s",
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startNode runs a server until the end of the test or a call of node.end.
func startNode(t *testing.T, c Config, o Options) *node {
	t.Helper()
	s, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{t: t, server: s, stop: cancel, ended: make(chan error, 1)}
	go func() { n.ended <- s.Run(ctx) }()
	t.Cleanup(func() { n.end() })
	return n
}

// end shuts the server down gracefully. Further calls have no effect.
func (n *node) end() {
	n.t.Helper()
	n.stop()
	select {
	case err, running := <-n.ended:
		if running && err != nil {
			n.t.Errorf("Run: %v", err)
		}
		if running {
			close(n.ended)
		}
	case <-time.After(time.Minute):
		n.t.Fatal("the server did not end")
	}
}

func (n *node) ready() *node {
	n.t.Helper()
	kit.Eventually(n.t, time.Minute, func() (bool, string) {
		code, body := n.try("GET", "/readyz", nil)
		return code == 200, body
	})
	return n
}

// try sends a request and returns status and body of the response. It returns status 0 if the server does not respond.
func (n *node) try(method, path string, body any) (int, string) {
	n.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	req, err := http.NewRequest(method, "http://"+n.server.Addr()+path, bytes.NewReader(text))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.token)
	res, err := contract.Client(n.t, 2*time.Minute).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	response, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(response)
}

// getPrivatePage reads a page of the private listener.
func (n *node) getPrivatePage(path string) string {
	n.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	res, err := client.Get("http://" + n.server.private.listener.Addr().String() + path)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// requestOK sends a request, requires status 200, and returns the decoded body.
func requestOK[T any](n *node, method, path string, body any) T {
	n.t.Helper()
	code, text := n.try(method, path, body)
	var response T
	if err := json.Unmarshal([]byte(text), &response); code != 200 || err != nil {
		n.t.Fatalf("%s %s: got %d %s %v, want 200", method, path, code, text, err)
	}
	return response
}

// logInGuest logs in as a guest.
func (n *node) logInGuest() *node {
	n.t.Helper()
	n.token = requestOK[struct{ Access string }](n, "POST", "/api/v1/auth/guest", nil).Access
	return n
}

type salesPage struct{ Sales []shop.SaleView }

// firstOpenSale returns the first open sale.
func (n *node) firstOpenSale() shop.SaleView {
	n.t.Helper()
	sales := requestOK[salesPage](n, "GET", "/api/v1/sales?phase=open", nil).Sales
	if len(sales) == 0 {
		n.t.Fatal("no sale is open")
	}
	return sales[0]
}

func (n *node) buy(sale shop.ID, key string) order.Receipt {
	n.t.Helper()
	return requestOK[order.Receipt](n, "POST", "/api/v1/sales/"+sale.String()+"/buy", map[string]any{"qty": 1, "key": key})
}

// waitSettled waits for the row of the order and returns it.
func (n *node) waitSettled(id shop.ID) shop.Order {
	n.t.Helper()
	var o shop.Order
	kit.Eventually(n.t, time.Minute, func() (bool, string) {
		o = requestOK[shop.Order](n, "GET", "/api/v1/orders/"+id.String()+"?wait=5", nil)
		return o.State != shop.Reserved, string(o.State)
	})
	return o
}

// TestOrdersAndLoginsSurviveARestart: a guest buys, gets an order and cancels it. The unit is returned and the audit
// passes. A restart on the same folder rebuilds Redis from the database and keeps users logged in (P1, P3).
func TestOrdersAndLoginsSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := embeddedConfig(t, dir)
	n := startNode(t, c, Options{Rolling: true}).ready().logInGuest()
	sale := n.firstOpenSale()
	firstReceipt := n.buy(sale.ID, "key-repeated")
	if o := n.waitSettled(firstReceipt.Order); o.State != shop.Pending || o.PayBy == 0 ||
		o.ProductName != sale.Product.Name {
		t.Errorf("got order %+v, want it pending with a deadline and the name of the product", o)
	}
	if again := n.buy(sale.ID, "key-repeated"); again.Order != firstReceipt.Order {
		t.Errorf("the same key created another order: %v and %v", firstReceipt, again)
	}
	cancelled := n.buyFromOtherSale(sale.ID)
	if o := requestOK[struct{ State shop.OrderState }](n, "POST", "/api/v1/orders/"+cancelled.String()+"/cancel",
		nil); o.State != shop.Cancelled {
		t.Errorf("got state %s of the cancelled order, want cancelled", o.State)
	}
	n.checkAudit(c)
	n.end()

	m := startNode(t, c, Options{Rolling: true}).ready()
	m.token = n.token
	if o := requestOK[shop.Order](m, "GET", "/api/v1/orders/"+firstReceipt.Order.String(), nil); o.State != shop.Pending {
		t.Errorf("after the restart: got state %s, want pending", o.State)
	}
	if again := m.buy(sale.ID, "key-repeated"); again.Order != firstReceipt.Order {
		t.Errorf("after the restart the same key created another order: %v", again)
	}
	view := requestOK[shop.SaleView](m, "GET", "/api/v1/sales/"+sale.ID.String(), nil)
	if view.Held != 1 || view.Stock != sale.Initial-1 {
		t.Errorf("after the restart: got stock %d and %d held units of %d, want one held unit", view.Stock, view.Held, sale.Initial)
	}
	m.checkAudit(c)
}

// buyFromOtherSale buys from an open sale other than the excluded sale.
func (n *node) buyFromOtherSale(excluded shop.ID) shop.ID {
	n.t.Helper()
	for _, s := range requestOK[salesPage](n, "GET", "/api/v1/sales?phase=open", nil).Sales {
		if s.ID != excluded {
			return n.buy(s.ID, "key-"+s.ID.String()).Order
		}
	}
	n.t.Fatal("only one sale is open")
	return 0
}

// checkAudit audits every loaded sale with the tools of the command, while the server runs.
func (n *node) checkAudit(c Config) {
	n.t.Helper()
	tools, err := OpenTools(n.t.Context(), c)
	if err != nil {
		n.t.Fatal(err)
	}
	defer tools.Close()
	reports, err := tools.Audit(n.t.Context())
	for _, r := range reports {
		for _, failure := range r.Failures {
			n.t.Errorf("sale %s: %s", r.Sale, failure)
		}
	}
	if err != nil || len(reports) == 0 {
		n.t.Errorf("got %d audited sales, %v, want at least one", len(reports), err)
	}
}

func TestStartErrorsNameTheConflict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := embeddedConfig(t, dir)
	first, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	used := first.private.listener.Addr().String()
	for name, want := range map[string]struct {
		config  Config
		message string
	}{
		"folder in use":  {embeddedConfig(t, dir), "another server uses the data folder"},
		"port in use":    {embeddedConfig(t, t.TempDir(), "STAMPEDE_LISTEN="+used), "is in use: stop the program that uses it, or choose another address with STAMPEDE_LISTEN"},
		"metrics in use": {embeddedConfig(t, t.TempDir(), "STAMPEDE_METRICS_LISTEN="+used), "STAMPEDE_METRICS_LISTEN"},
	} {
		s, err := New(want.config, Options{})
		if err == nil || !strings.Contains(err.Error(), want.message) {
			t.Errorf("%s: got %v, want %q", name, err, want.message)
		}
		if err == nil {
			s.Close()
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second, err := New(c, Options{})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	second.Close()
}

// TestServerWaitsForUnreachableStores: a node with unreachable stores does not listen, so that proxies use other nodes.
// Its private listener reports the reason. It can be stopped.
func TestServerWaitsForUnreachableStores(t *testing.T) {
	t.Parallel()
	c := embeddedConfig(t, t.TempDir(), "STAMPEDE_REDIS_URL=redis://127.0.0.1:1",
		"STAMPEDE_MYSQL_DSN=u:p@tcp(127.0.0.1:1)/shop",
		"STAMPEDE_JWT_SECRET="+goodSecret)
	n := startNode(t, c, Options{})
	kit.Eventually(t, time.Minute, func() (bool, string) {
		reason := n.getPrivatePage("/readyz")
		return strings.Contains(reason, "waiting for") && strings.Contains(reason, "127.0.0.1:1") &&
			strings.Contains(reason, "refused"), reason
	})
	if got := n.getPrivatePage("/healthz"); got != "ok\n" {
		t.Errorf("/healthz: got %q", got)
	}
	if conn, err := net.Dial("tcp", n.server.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection: got %v, %v, want %v", conn, err, syscall.ECONNREFUSED)
	}
	n.end()
}

// TestRealStoresNeedSchemaAndDurability: the schema is required, weak settings are rejected, metrics are served (P2).
func TestRealStoresNeedSchemaAndDurability(t *testing.T) {
	t.Parallel()
	dsn := kit.MySQL(t)
	realConfig := func(redis string, more ...string) Config {
		return embeddedConfig(t, t.TempDir(), append([]string{
			"STAMPEDE_REDIS_URL=" + redis, "STAMPEDE_MYSQL_DSN=" + dsn, "STAMPEDE_JWT_SECRET=" + goodSecret,
		}, more...)...)
	}
	runs := func(c Config, o Options) error {
		s, err := New(c, o)
		if err != nil {
			return err
		}
		return s.Run(t.Context())
	}
	durable := kit.Redis(t)
	if err := runs(realConfig(durable), Options{}); err == nil || !strings.Contains(err.Error(), "stampede migrate up") {
		t.Errorf("without a schema: got %v, want an error with `stampede migrate up`", err)
	}
	weak := kit.StartRedis(t, kit.RedisOptions{})
	if err := runs(realConfig(weak.URL), Options{Migrate: true}); err == nil || !strings.Contains(err.Error(),
		"appendonly is no") {
		t.Errorf("Redis without AOF: got %v, want `appendonly is no`", err)
	}
	n := startNode(t, realConfig(durable), Options{Migrate: true, Rolling: true}).ready().logInGuest()
	if o := n.waitSettled(n.buy(n.firstOpenSale().ID, "key-real").Order); o.State != shop.Pending {
		t.Errorf("got order %+v, want it pending", o)
	}
	res, err := http.Get(fmt.Sprintf("http://%s/metrics", n.server.private.listener.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	http.DefaultClient.CloseIdleConnections()
	for _, name := range []string{
		"stampede_build", "stampede_stream_lag", "stampede_http_requests_total", "go_goroutines",
	} {
		if !strings.Contains(string(text), name) {
			t.Errorf("metrics lack %s", name)
		}
	}
	if err := runs(realConfig(durable, "STAMPEDE_PARTITIONS=3"), Options{}); err == nil || !strings.Contains(err.Error(),
		"STAMPEDE_PARTITIONS=2") {
		t.Errorf("another number of partitions: got %v, want STAMPEDE_PARTITIONS=2", err)
	}
}

// TestRedisOutageReturnsBusyAndRecovers: while Redis is unreachable, buys return busy. Afterwards the node accepts buys
// again without a restart (I6).
func TestRedisOutageReturnsBusyAndRecovers(t *testing.T) {
	t.Parallel()
	proxy := kit.NewProxy(t, kit.Redis(t))
	c := embeddedConfig(t, t.TempDir(), "STAMPEDE_REDIS_URL="+proxy.URL, "STAMPEDE_MYSQL_DSN="+kit.MySQL(t),
		"STAMPEDE_JWT_SECRET="+goodSecret)
	n := startNode(t, c, Options{Migrate: true, Rolling: true}).ready().logInGuest()
	sale := n.firstOpenSale()
	n.buy(sale.ID, "key-before")
	proxy.Cut()
	buy := map[string]any{"qty": 1, "key": "key-during"}
	path := "/api/v1/sales/" + sale.ID.String() + "/buy"
	code, body := n.try("POST", path, buy)
	if code != 503 || !strings.Contains(body, `"busy"`) || !strings.Contains(body, "retry_ms") {
		t.Errorf("without Redis: got %d %s, want 503 with busy and retry_ms", code, body)
	}
	proxy.Restore()
	kit.Eventually(t, time.Minute, func() (bool, string) {
		code, body = n.try("POST", path, buy)
		return code == 200 || strings.Contains(body, "limit_reached"), body
	})
	n.checkAudit(c)
}
