package api

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"stampede/app/limits"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

func TestLimiterCountsNetworksOfIPv6(t *testing.T) {
	t.Parallel()
	l := newLimiter(limits.Pace{Rate: 1, Period: time.Hour, Burst: 1})
	if err := l.take("2001:db8::1"); err != nil {
		t.Error(err)
	}
	if err := l.take("2001:db8::ffff"); err == nil {
		t.Error("two addresses of one /64 have two buckets, want one bucket")
	}
	if err := l.take("2001:db8:0:1::1"); err != nil {
		t.Error(err)
	}
	if err := l.take("192.0.2.1"); err != nil {
		t.Error(err)
	}
	if err := l.take("::ffff:192.0.2.1"); err == nil {
		t.Error("an address in another notation has a second bucket, want the same bucket")
	}
	admitted := 0
	for n := range 1000 {
		if l.take(fmt.Sprintf("2001:db8:1:%x::1", n)) == nil {
			admitted++
		}
	}
	if admitted != shop.WideFactor {
		t.Errorf("got %d of 1000 networks of one /48 admitted, want %d", admitted, shop.WideFactor)
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func TestLimitConnsClosesExcessConnections(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := LimitConns(inner, 2, nil).(*limitedListener)
	accepted := make(chan net.Conn, 4)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	third := dial()
	_ = third.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := third.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("the third connection: got %v, want it closed", err)
	}
	_ = first.Close()
	_ = first.Close() // a second Close changes nothing
	dial()
	fourth := <-accepted
	_, _ = second.Close(), fourth.Close()
	_ = inner.Close()
	if _, more := <-accepted; more || l.open.Held(netip.MustParseAddr("127.0.0.1")) != 0 {
		t.Errorf("after all connections closed: got the counts %v, want none", l.open)
	}
}

// An untrusted proxy is reported once, regardless of the number of clients behind it; a trusted proxy is not reported.
func TestUntrustedProxyIsReportedOnce(t *testing.T) {
	t.Parallel()
	// Requests of app.Test come from 0.0.0.0.
	for trusted, want := range map[string]int{"192.0.2.0/24": 1, "0.0.0.0/8": 0} {
		var warned []string
		a := &front{Metrics: NewMetrics(), proxies: newProxyWarnings()}
		a.proxies.warn = func(_, peer string) { warned = append(warned, peer) }
		f := fiber.New(fiber.Config{EnableTrustedProxyCheck: true, TrustedProxies: []string{trusted}})
		f.Get("/", a.setClient, func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
		for _, header := range []string{"", "X-Real-IP", "X-Forwarded-For", "Forwarded", "X-Forwarded-For"} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if header != "" {
				r.Header.Set(header, "198.51.100.7")
			}
			res, err := f.Test(r)
			if err != nil || res.StatusCode != fiber.StatusNoContent {
				t.Fatalf("got %v, %v; want 204", res, err)
			}
		}
		if len(warned) != want || want > 0 && warned[0] != "0.0.0.0" {
			t.Errorf("with trusted proxies %s: got warnings about the peers %v, want %d warnings", trusted, warned, want)
		}
		if n := testutil.ToFloat64(a.Metrics.untrustedForwards); n != float64(4*want) {
			t.Errorf("with trusted proxies %s: got %v counted requests, want %d", trusted, n, 4*want)
		}
	}
}

// Sockets through a proxy count for the client's address, from the handshake to the end of the socket. A handshake that
// fails is not counted.
func TestProxiedSocketsCountForClient(t *testing.T) {
	t.Parallel()
	s := openWith(t, 2, func(o *Options) {
		o.Proxies = loopback
		o.Mount = func(web *fiber.App, path string, front ...fiber.Handler) {
			web.Get(path, append(front, func(c *fiber.Ctx) error {
				if c.Get(fiber.HeaderSecWebSocketProtocol) == "refuse" {
					return fiber.ErrServiceUnavailable
				}
				c.Status(fiber.StatusSwitchingProtocols)
				c.Context().Hijack(func(conn net.Conn) {
					defer func() { _ = conn.Close() }()
					_, _ = io.Copy(io.Discard, conn)
				})
				return nil
			})...)
		}
	})
	openSocket := func(ip, more string, want int) (net.Conn, *http.Response) {
		t.Helper()
		conn, _, res := s.handshake("X-Real-IP: "+ip+"\r\n"+more, "")
		if res.StatusCode != want {
			t.Errorf("a socket of %s: got %s, want %d", ip, res.Status, want)
		}
		return conn, res
	}
	for range 5 {
		openSocket("192.0.2.1", "Sec-WebSocket-Protocol: refuse\r\n", 503)
		openSocket("192.0.2.1", "Origin: https://evil.example\r\n", 403)
	}
	first, _ := openSocket("192.0.2.1", "", 101)
	openSocket("192.0.2.1", "", 101)
	if _, res := openSocket("192.0.2.1", "", 429); res.Header.Get("Retry-After") == "" {
		t.Error("got no Retry-After, want one in the rejection")
	}
	openSocket("192.0.2.2", "", 101)
	for last, want := range map[string]int{"192.0.2.1": 429, "192.0.2.3": 101} {
		headers := "X-Forwarded-For: 192.0.2.2, " + last + "\r\nX-Forwarded-For: 127.0.0.1\r\n"
		if _, _, res := s.handshake(headers, ""); res.StatusCode != want {
			t.Errorf("a socket forwarded for %s: got %s, want %d", last, res.Status, want)
		}
	}
	openSocket("2001:db8::1", "", 101)
	openSocket("2001:db8::2", "", 101)
	openSocket("2001:db8::3", "", 429)
	for n := range 2*shop.WideFactor - 2 {
		openSocket(fmt.Sprintf("2001:db8:0:%x::1", n+1), "", 101)
	}
	openSocket("2001:db8:0:ffff::1", "", 429) // the /48 is full
	openSocket("2001:db8:1::1", "", 101)
	_ = first.Close()
	kit.Eventually(t, time.Minute, func() (bool, string) {
		_, _, res := s.handshake("X-Real-IP: 192.0.2.1\r\n", "")
		return res.StatusCode == 101, res.Status
	})
}

// A blocked address is rejected on every route and at the handshake, with a message that names the reason. Health
// checks are never blocked.
func TestBlockedAddressIsRejected(t *testing.T) {
	t.Parallel()
	blocked := netip.MustParsePrefix("192.0.2.0/24")
	proxied := open(t, func(o *Options) {
		o.Proxies, o.Blocked = loopback, blocked.Contains
	})
	for _, path := range []string{"/api/v1/time", "/api/v1/orders", "/", "/nowhere"} {
		proxied.want(proxied.request("GET", path, "", "X-Real-IP", "192.0.2.9"), 403, shop.AddressBlocked)
	}
	proxied.want(proxied.request("GET", "/api/v1/time", "", "X-Real-IP", "198.51.100.1"), 200, "now")
	if _, _, res := proxied.handshake("X-Real-IP: 192.0.2.9\r\n", ""); res.StatusCode != 403 {
		t.Errorf("the handshake of a blocked address: got %s, want 403", res.Status)
	}

	direct := open(t, func(o *Options) {
		o.Blocked = func(addr netip.Addr) bool { return addr.IsLoopback() }
	})
	res, body := direct.sendAndRead("GET /api/v1/time HTTP/1.1\r\nHost: shop.example\r\n\r\n")
	if res.StatusCode != 403 || !strings.Contains(string(body), shop.AddressBlocked) || !res.Close {
		t.Errorf("a blocked address: got %s, %s, close: %v; want 403 and close", res.Status, body, res.Close)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		direct.want(direct.request("GET", path, ""), 200, "")
		proxied.want(proxied.request("GET", path, "", "X-Real-IP", "192.0.2.9"), 200, "")
	}
}

// All handshakes of an address are counted, regardless of their result. A rejection contains the time until the next
// admission.
func TestHandshakesPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Proxies, o.Handshakes = loopback, limits.Pace{Rate: 1, Period: time.Hour, Burst: 2}
	})
	for i, want := range []int{200, 200, 429, 429} { // the test server treats a handshake as a normal request
		_, _, res := s.handshake("X-Real-IP: 192.0.2.1\r\n", "")
		if res.StatusCode != want || want == 429 && res.Header.Get("Retry-After") == "" {
			t.Errorf("handshake %d: got %s, %v; want %d", i+1, res.Status, res.Header, want)
		}
	}
	if _, _, res := s.handshake("X-Real-IP: 192.0.2.2\r\n", ""); res.StatusCode != 200 {
		t.Errorf("another address: got %s, want 200", res.Status)
	}
}

// Each route counts in a limit class before its handler runs. Routes without a class are listed in exempt with the
// reason.
func TestRoutesHaveALimitClass(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"GET /ws":                             "handshakes of the address",
		"GET /*":                              "files in memory",
		"GET /api/v1/time":                    "the clock in memory",
		"POST /api/v1/sales/:id/buy":          "AdmitBuy counts it in the class buy, by its sale",
		"POST /api/v1/payments/alipay/notify": "forgeries of the address, concurrent notifications",
	}
	var class limits.Class
	s := &site{t: t}
	o := s.options()
	o.Admit = func(requestClass limits.Class, user shop.ID, _ netip.Addr) error {
		if class = requestClass; user != 42 {
			t.Errorf("class %s: got user %v, want 42", requestClass, user)
		}
		return limits.RateLimitError("too many requests", time.Second)
	}
	f := newApp(o)
	for _, r := range f.GetRoutes(true) {
		if r.Method == fiber.MethodHead {
			continue
		}
		route := r.Method + " " + r.Path
		class = ""
		path := strings.NewReplacer(":id", "7", ":file", "a.jpg", "*", "").Replace(r.Path)
		request := httptest.NewRequest(r.Method, path, nil)
		request.Header.Set(fiber.HeaderAuthorization, "Bearer user-42")
		res, err := f.Test(request)
		if err != nil {
			t.Fatal(err)
		}
		operator := strings.HasPrefix(r.Path, "/api/v1/operator/") && res.StatusCode == 403 // the role is checked before the limit
		counted := class != ""
		if counted == (operator || exempt[route] != "") || counted != (res.StatusCode == 429) {
			t.Errorf("%s: got class %q, reason %q and %s; want a class and 429, or a reason", route, class, exempt[route], res.Status)
		}
	}
}

// Each route has one spelling. Another spelling would bypass rules by path, in this server or in a proxy.
func TestRoutesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, path := range []string{
		"/API/v1/sales", "/api/v1/Sales", "/api/v1/sales/", "/api/v1/sales/7/", "/WS", "/Images/a.png",
	} {
		s.want(s.request("GET", path, ""), 404, "")
	}
}

func TestLongPollsAreLimitedPerUserAndAddress(t *testing.T) {
	t.Parallel()
	p, user := newPollers(), shop.ID(0)
	addr := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 1, byte(n)}) }
	enter := func(from netip.Addr, tries int) (n int) {
		for range tries {
			if user++; p.enter(user, from) {
				n++
			}
		}
		return n
	}
	for i, want := range []bool{true, true, true, false} {
		if got := p.enter(1<<40, addr(0)); got != want {
			t.Errorf("poll %d of a user: got %v, want %v", i+1, got, want)
		}
	}
	if n := enter(addr(0), 100) + 3; n != pollersPerAddr {
		t.Errorf("places of an address: got %d, want %d", n, pollersPerAddr)
	}
	p.leave(1<<40, addr(0))
	if !p.enter(1<<40, addr(0)) {
		t.Error("a poll after a release: got no place, want the released place")
	}
	n := pollersPerAddr
	for i := 1; i < 20; i++ {
		n += enter(addr(i), pollersPerAddr)
	}
	if n != maxPollers {
		t.Errorf("places of a node: got %d, want %d", n, maxPollers)
	}
}

func TestListCacheLimitsTotalAndUserBytes(t *testing.T) {
	t.Parallel()
	l, now := newListCache(), time.Now()
	body := make([]byte, 8<<10)
	fill := func(owner any, at time.Time) (n int) {
		for i := range 100 {
			key := fmt.Sprint(owner, i)
			l.keep(key, owner, body, at)
			if l.find(key, at) != nil {
				n++
			}
		}
		return n
	}
	userLists := fill(shop.ID(1), now)
	if bytes := userLists * len(body); userLists == 0 || bytes > listBytesPerUser {
		t.Errorf("bytes of a user: got %d, want 1 to %d", bytes, listBytesPerUser)
	}
	for user := shop.ID(2); user < 40; user++ {
		fill(user, now)
	}
	if l.bytes[nil] > listBytes || l.bytes[nil] < listBytes*9/10 {
		t.Errorf("bytes of all lists: got %d, want 90%% to 100%% of %d", l.bytes[nil], listBytes)
	}
	if n := fill(shop.ID(50), now.Add(listMaxAge)); n != userLists || len(l.lists) != n {
		t.Errorf("after all other lists expired: got %d new of %d lists, want only %d new lists", n, len(l.lists), userLists)
	}
}

// The page and the console recognize blocked clients by the message.
func TestPageKnowsMessagesForBlockedClients(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../frontend/src/protocol/blocked.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{shop.AccountBlocked, shop.AddressBlocked} {
		if !strings.Contains(string(source), "'"+message+"'") {
			t.Errorf("blocked.ts does not contain the message %q", message)
		}
	}
}
