package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

const (
	shippedSite = "../../../deploy/nginx.conf"
	// nginxAddress trusts a proxy at 127.0.0.1. Clients use other loopback addresses.
	nginxAddress = "STAMPEDE_TRUSTED_PROXIES=127.0.0.1"
)

// behindNginx returns the route to a node through nginx with the shipped site file.
func behindNginx(t *testing.T, n *node, changes ...string) route {
	t.Helper()
	proxy := kit.StartNginx(t, shippedSite, n.addr, changes...)
	return route{proxy.Addr, proxy.TLS}
}

// 200 people behind one address arrive at the opening of a sale. Each becomes a guest, opens a socket, watches and buys
// within ten seconds, directly and through nginx, with the shipped limits. 400 people need at most twenty seconds.
func TestBuyersBehindOneAddressBuyInTime(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", nginxAddress)
	sale := s.open(2000, 1)
	n := startShipped(t, s.settings...)
	direct, proxied := route{addr: n.addr}, behindNginx(t, n)
	direct.crowd(t, 200, "127.0.0.2", sale.ID, 10*time.Second)
	proxied.crowd(t, 200, "127.0.0.3", sale.ID, 10*time.Second)
	direct.crowd(t, 400, "127.0.0.4", sale.ID, 20*time.Second)
	proxied.crowd(t, 400, "127.0.0.5", sale.ID, 20*time.Second)
	s.awaitDrained(sale)
	s.audit(sale)
}

// Behind nginx the program applies its limits to the address of each client, and clients cannot forge their address.
func TestLimitsBehindNginxApplyPerClientAddress(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", nginxAddress,
		"STAMPEDE_AUTH_RATE=1", "STAMPEDE_AUTH_BURST=60", "STAMPEDE_MAX_CONNS_PER_IP=200")
	s.open(10, 1)
	w, ctx := behindNginx(t, s.start()), kit.Context(t)
	const guest = "/api/v1/auth/guest"
	login := func(from string, headers ...string) httpResult {
		t.Helper()
		a, err := w.newVisitor(t, from).request(ctx, http.MethodPost, guest, "", headers...)
		s.must(err)
		return a
	}

	t.Run("the program rejects the 61st guest with a retry time", func(t *testing.T) {
		for i := range 60 {
			if a := login("127.0.0.11"); a.code != http.StatusOK {
				t.Fatalf("guest %d: %d %s", i+1, a.code, a.text)
			}
		}
		for _, headers := range [][]string{
			nil,
			{"X-Real-IP", "203.0.113.9"},
			{"X-Forwarded-For", "203.0.113.9", "Forwarded", "for=203.0.113.9"},
			{"X_Real_IP", "203.0.113.9"},
			{"Connection", "close, X-Real-IP, X-Forwarded-For"},
		} {
			a := login("127.0.0.11", headers...)
			hasRetryTime := a.failed.RetryMS > 0 && a.header.Get("Retry-After") != ""
			if a.code != http.StatusTooManyRequests || a.failed.Code != shop.RateLimited || !hasRetryTime {
				t.Errorf("guest 61 with headers %v: got %d %s, %v; want rate_limited with a retry time", headers, a.code, a.text, a.header)
			}
		}
		if a := login("127.0.0.12"); a.code != http.StatusOK {
			t.Errorf("another address: got %d %s, want 200", a.code, a.text)
		}
	})
	t.Run("a page on its own port can open a socket", func(t *testing.T) {
		v := w.newVisitor(t, "127.0.0.13")
		conn, a, err := v.socket(ctx, v.page())
		if err != nil {
			t.Fatalf("%v: %d %s", err, a.code, a.text)
		}
		defer conn.Close()
		for _, origin := range []string{"https://127.0.0.1", "https://evil.example"} {
			if _, a, err := v.socket(ctx, origin); err == nil || a.code != http.StatusForbidden {
				t.Errorf("a page of %s: %v, %d %s", origin, err, a.code, a.text)
			}
		}
	})
	t.Run("the program rejects socket 201 of one address", func(t *testing.T) {
		v := w.newVisitor(t, "127.0.0.14")
		for i := range 200 {
			conn, a, err := v.socket(ctx, v.page())
			if err != nil {
				t.Fatalf("socket %d: %v: %d %s", i+1, err, a.code, a.text)
			}
			defer conn.Close()
			s.must(conn.Send(wsclient.Request{Op: wsclient.Hello}))
		}
		if _, a, err := v.socket(ctx, v.page()); err == nil || a.code != http.StatusTooManyRequests ||
			a.failed.RetryMS <= 0 {
			t.Errorf("socket 201: got %v, %d %s; want 429 with retry_ms", err, a.code, a.text)
		}
		other := w.newVisitor(t, "127.0.0.15")
		conn, a, err := other.socket(ctx, other.page())
		if err != nil {
			t.Fatalf("another address: %v: %d %s", err, a.code, a.text)
		}
		conn.Close()
	})
}

// One address opens as many incomplete requests as nginx has connections. Another address is served: at once if bodies
// are incomplete, because such requests count towards the connection limit of their address; after 10 s if headers are
// incomplete. All
// limits are those of the site file divided by 64.
func TestIncompleteRequestsDoNotBlockOtherAddresses(t *testing.T) {
	t.Parallel()
	s := newShop(t, nginxAddress)
	s.open(10, 1)
	n := s.start()
	for name, c := range map[string]struct {
		request string
		within  time.Duration
	}{
		"bodies":  {"POST /api/v1/auth/login HTTP/1.1\r\nHost: shop\r\nContent-Length: 9\r\n\r\n", 6 * time.Second},
		"headers": {"GET /api/v1/time HTTP/1.1\r\nHost: shop\r\n", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := kit.StartNginxWorkers(t, 1, shippedSite, n.addr,
				"worker_connections 32768", "worker_connections 512",
				"limit_conn stampede_connections 8000", "limit_conn stampede_connections 125")
			w, ctx := route{proxy.Addr, proxy.TLS}, kit.Context(t)
			attacker := tls.Dialer{NetDialer: dialFrom("127.0.0.50"), Config: w.tls}
			attacker.NetDialer.Timeout = 2 * time.Second
			opened := 0
			for ; opened < 512; opened++ {
				conn, err := attacker.Dial("tcp", w.addr)
				if err != nil {
					break // nginx has no connection left
				}
				defer conn.Close()
				_, err = io.WriteString(conn, c.request)
				s.must(err)
			}
			began := time.Now()
			kit.Eventually(t, c.within, func() (bool, string) {
				v := w.newVisitor(t, "127.0.0.51")
				v.client.Timeout = 2 * time.Second
				a, err := v.request(ctx, http.MethodGet, "/api/v1/time", "")
				return err == nil && a.code == http.StatusOK, fmt.Sprintf("%d %s, %v", a.code, a.text, err)
			})
			t.Logf("%d incomplete requests; another address was served after %v", opened, time.Since(began))
		})
	}
}

// nginx and the program agree on the end of each request. After an ambiguous request, other clients on the same
// connections to the program get the replies to their own requests.
func TestSmuggledRequestsThroughNginxGetNoReply(t *testing.T) {
	t.Parallel()
	s := newShop(t, nginxAddress)
	s.open(10, 1)
	w, ctx := behindNginx(t, s.start()), kit.Context(t)
	smuggled := "GET /api/v1/smuggled HTTP/1.1\r\nHost: " + w.addr + "\r\n\r\n"
	for i, request := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"Content-Length: 0\r\nContent-Length: 62\r\n\r\n",
		"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding : chunked\r\nContent-Length: 62\r\n\r\n",
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x;\n%s\r\n0\r\n\r\n", len(smuggled), smuggled),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x;a=b\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled),
	} {
		post := "POST /api/v1/auth/login HTTP/1.1\r\nHost: " + w.addr + "\r\n"
		w.newVisitor(t, "127.0.0.40").raw(post + request + smuggled)
		for j := range 10 {
			id := fmt.Sprintf("mine-%d-%d", i, j)
			a, err := w.newVisitor(t, "127.0.0.41").request(ctx, http.MethodGet, "/api/v1/time", "", "X-Request-Id", id)
			s.must(err)
			if a.code != http.StatusOK || a.header.Get("X-Request-Id") != id {
				t.Errorf("after %q another client got %d %s for %s", request, a.code, a.text, id)
			}
		}
	}
}

// Rejections by nginx itself have the error format of the program. If a retry can succeed, the response contains the
// time until the retry.
func TestNginxRejectsInTheErrorFormatOfTheProgram(t *testing.T) {
	t.Parallel()
	s := newShop(t, nginxAddress)
	s.open(10, 1)
	n := s.start()
	w := behindNginx(t, n, "rate=2000r/s", "rate=1r/m", "burst=8000 nodelay", "burst=2 nodelay",
		"limit_conn stampede_connections 8000", "limit_conn stampede_connections 1")
	ctx := kit.Context(t)
	requireRejection := func(a httpResult, code int, wantCode shop.Code) {
		t.Helper()
		retry, after := int64(2000), "2"
		if wantCode == shop.BadRequest {
			retry, after = 0, ""
		}
		if a.code != code || a.failed.Code != wantCode || a.failed.RetryMS != retry || a.header.Get("Retry-After") != after ||
			!strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			t.Errorf("got %d %s, %v; want %d, %s", a.code, a.text, a.header, code, wantCode)
		}
	}
	v := w.newVisitor(t, "127.0.0.17")
	var last httpResult
	for i := range 4 {
		var err error
		last, err = v.request(ctx, http.MethodGet, fmt.Sprintf("/api/v1/time?%d", i), "")
		s.must(err)
	}
	requireRejection(last, http.StatusTooManyRequests, shop.RateLimited)

	conn, a, err := v.socket(ctx, v.page())
	if err != nil {
		t.Fatalf("%v: %d %s", err, a.code, a.text)
	}
	defer conn.Close()
	_, a, err = v.socket(ctx, v.page())
	if err == nil {
		t.Fatal("the second socket was accepted, want 429")
	}
	requireRejection(a, http.StatusTooManyRequests, shop.RateLimited)

	long := strings.Repeat("a", 20_000)
	for i, c := range []struct {
		request string
		code    int
	}{
		{"POST /api/v1/auth/login HTTP/1.1\r\nContent-Length: 65537\r\n", http.StatusRequestEntityTooLarge},
		{"GET /api/v1/time HTTP/1.1\r\nX-Long: " + long + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		{"GET /api/v1/time?" + long[:12_000] + " HTTP/1.1\r\n", http.StatusRequestHeaderFieldsTooLarge},
		{"TRACE /api/v1/time HTTP/1.1\r\n", http.StatusMethodNotAllowed},
		{"GET /api/v1/time HTTP/1.1\r\nHost: other\r\n", http.StatusBadRequest},
		{"POST /api/v1/auth/login HTTP/1.1\r\nTransfer-Encoding: identity\r\n", http.StatusBadRequest},
	} {
		v := w.newVisitor(t, fmt.Sprintf("127.0.0.%d", 20+i))
		requireRejection(v.raw(c.request+"Host: "+w.addr+"\r\n\r\n"), c.code, shop.BadRequest)
	}
	plain := route{addr: w.addr}.newVisitor(t, "127.0.0.19")
	a, err = plain.request(ctx, http.MethodGet, "/api/v1/time", "")
	s.must(err)
	requireRejection(a, http.StatusBadRequest, shop.BadRequest)

	n.Kill()
	a, err = w.newVisitor(t, "127.0.0.18").request(ctx, http.MethodGet, "/api/v1/time", "")
	s.must(err)
	requireRejection(a, http.StatusServiceUnavailable, shop.Busy)
}

// A browser that opens a page while no node is available, or while the node starts, gets a page in both languages.
// Other paths keep the errors of the node.
func TestNginxSendsPageWhileShopIsClosed(t *testing.T) {
	t.Parallel()
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":"busy","message":"this node is starting"}}`)
	}))
	defer starting.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	const browser, page, closedText = "text/html,*/*;q=0.8", "text/html; charset=utf-8", "accepted orders are safe"
	for _, upstream := range []*httptest.Server{starting, closed} {
		proxy := kit.StartNginx(t, shippedSite, upstream.Listener.Addr().String())
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: proxy.TLS, DisableKeepAlives: true}}
		for _, c := range []struct{ path, accept, wantType, wantText string }{
			{"/", browser, page, closedText},
			{"/sale/7?from=a", browser, page, closedText},
			{"/apiary", browser, page, "已提交成功的订单不受影响"},
			{"/assets/a.js", "*/*", "application/json", `"code":"busy"`},
			{"/api/v1/time", browser, "application/json", `"code":"busy"`},
			{"/api/v1/operator/sales", browser, "application/json", `"code":"busy"`},
			{"/ws", browser, "application/json", `"code":"busy"`},
			{"/images/a.png", browser, "application/json", `"code":"busy"`},
			{"/readyz", browser, "application/json", `"code":"busy"`},
		} {
			req, err := http.NewRequestWithContext(kit.Context(t), http.MethodGet, "https://"+proxy.Addr+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept", c.accept)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			types := res.Header.Values("Content-Type")
			if err != nil || res.StatusCode != http.StatusServiceUnavailable ||
				!slices.Equal(types, []string{c.wantType}) ||
				!strings.Contains(strings.ToLower(string(text)), c.wantText) {
				t.Errorf("%s: got %d %v %s, %v; want 503 %s with %s",
					c.path, res.StatusCode, types, text, err, c.wantType, c.wantText)
			}
			isOwn := upstream == starting && c.accept == browser && c.wantType != page
			if retry := res.Header.Get("Retry-After"); isOwn && retry != "7" {
				t.Errorf("%s: got Retry-After %q, want 7, which the node sent", c.path, retry)
			}
			if c.wantType == page && res.Header.Get("Content-Security-Policy") != "default-src 'none'" {
				t.Errorf("%s: got the headers %v, want the security policy", c.path, res.Header)
			}
		}
	}
}
