package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.uber.org/goleak"

	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit/contract"
)

// TestMain ignores goroutines of fasthttp. Its clock and its compression workers run until the process ends. The worker
// cleaner of each server stops at most ten seconds after the server.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// verify accepts tokens "user-<id>"; user 1 is an operator, user 2 an admin.
func verify(token string) (shop.Identity, error) {
	id, err := shop.ParseID(strings.TrimPrefix(token, "user-"))
	if err != nil {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token is not valid")
	}
	if id <= 2 {
		return shop.Identity{User: id, Name: "Ada", Role: []shop.Role{shop.Operator, shop.Admin}[id-1]}, nil
	}
	who := shop.Identity{User: id, Role: shop.Shopper}
	if id == 42 {
		who.Device = 7 // Ada has an account; the others are guests
	}
	return who, nil
}

// fakeCheckout replaces the checkout in tests of the route.
type fakeCheckout struct {
	got  atomic.Pointer[order.BuyRequest] // the last request
	fail error
}

func (f *fakeCheckout) buy(_ context.Context, _ shop.ID, req order.BuyRequest) (order.Receipt, error) {
	f.got.Store(&req)
	return order.Receipt{Order: 1234567890123456789, Ticket: 3, Place: 2, State: shop.Reserved}, f.fail
}

// site is a running server with the routes, and its HTTP client.
type site struct {
	t          *testing.T
	httpServer *HTTPServer
	url        string
	conns      *limitedListener
	close      chan struct{} // Options.Closing

	anyCode bool // allows error codes that openapi.yaml does not list for the route
}

// options returns the options of an open shop without services: a route that calls a service panics.
func (s *site) options() Options {
	return Options{
		Verify: verify, Now: func() shop.Millis { return shop.MillisOf(time.Now()) },
		Guest: func(string) (any, error) {
			return map[string]any{"access": "a", "user": map[string]string{"id": "42", "name": "Guest"}}, nil
		},
		Mount: func(web *fiber.App, path string, front ...fiber.Handler) {
			web.Get(path, append(front, func(c *fiber.Ctx) error { return c.SendString("socket") })...)
		},
		Page: fstest.MapFS{
			"index.html": {Data: []byte(strings.Repeat("<p>hello</p>", 100))}, "assets/a.1.js": {Data: []byte("1")},
			"console.html": {Data: []byte("<p>console</p>")}, "console/assets/b.1.js": {Data: []byte("2")},
			".vite/manifest.json": {Data: []byte("{}")},
		},
		Closing: s.close, Board: emptyBoard, Metrics: NewMetrics(), Zone: time.UTC,
		Switches: (&backoffice.Switchboard{}).Now, Texts: (&backoffice.TextBoard{}).Now, Blocked: noneBlocked,
		Admit:    func(limits.Class, shop.ID, netip.Addr) error { return nil },
		AdmitBuy: func(shop.ID, netip.Addr, shop.ID) error { return nil }, BuyRejected: func(shop.ID, error) {},
	}
}

func noneBlocked(netip.Addr) bool { return false }

func emptyBoard(context.Context) board.History {
	return board.History{Board: board.Board{
		Rates: board.Rates{RejectedPerS: map[shop.Code]float64{}}, Sales: []board.Sale{},
		Partitions: []board.PartitionFigures{},
		Nodes:      []board.NodeFigures{}, Alarms: []board.Alarm{},
	}, History: []board.Point{}}
}

// openShop is open with the services of a new world.
func openShop(t *testing.T, change func(*Options)) (*site, *world) {
	t.Helper()
	var w *world
	return open(t, func(o *Options) {
		w = openWorld(t, o)
		if change != nil {
			change(o)
		}
	}), w
}

// open starts a real server on a free port.
func open(t *testing.T, change func(*Options)) *site {
	t.Helper()
	return openWith(t, 1000, change)
}

// openWith is open with a limit of connections per address, and a hook that changes the server before it serves.
func openWith(t *testing.T, maxConns int, change func(*Options), tune ...func(f *HTTPServer)) *site {
	t.Helper()
	s := &site{t: t, close: make(chan struct{})}
	o := s.options()
	if change != nil {
		change(&o)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	s.httpServer = NewHTTPServer(headerLimit, time.Minute)
	s.httpServer.Ready, s.httpServer.Handler = func() error { return nil }, New(o)
	s.httpServer.IsOperator = func(token string) bool { return token == "user-1" || token == "user-2" }
	s.httpServer.server.WriteTimeout = 2 * time.Second // shorter than a long poll; must not interrupt it
	for _, do := range tune {
		do(s.httpServer)
	}
	done := make(chan error, 1)
	s.conns = LimitConns(l, maxConns, o.Proxies).(*limitedListener)
	go func() { done <- s.httpServer.Serve(s.conns) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(s.httpServer.Shutdown(ctx), <-done); err != nil {
			t.Error(err)
		}
	})
	return s
}

type response struct {
	code   int
	body   string
	header http.Header
}

// request sends a request on a new connection.
func (s *site) request(method, path, body string, headers ...string) response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &contract.Transport{T: s.t, AnyCode: s.anyCode}
	res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{res.StatusCode, string(text), res.Header}
}

// send sends a text on a new connection with a deadline of one minute. The reply may arrive before all of the text is
// sent.
func (s *site) send(text string) net.Conn {
	s.t.Helper()
	conn, err := s.dialFrom("127.0.0.1")
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, text)
	return conn
}

// sendAndRead sends a text and reads one reply.
func (s *site) sendAndRead(text string) (*http.Response, []byte) {
	s.t.Helper()
	conn := s.send(text)
	defer func() { _ = conn.Close() }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%.60q: %v", text, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return res, body
}

// want checks the status and a part of the body.
func (s *site) want(a response, code int, part string) {
	s.t.Helper()
	if a.code != code || !strings.Contains(a.body, part) {
		s.t.Errorf("got %d %s, want %d with %q", a.code, a.body, code, part)
	}
}
