package api

import (
	"context"
	"errors"
	"math"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
)

const validBuy = `{"qty":1,"key":"12345678"}`

func TestResponsesHaveExpectedShape(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	me := []string{"Authorization", "Bearer user-42"}
	for path, want := range map[string]string{
		"/api/v1/time":                   `{"now":`,
		"/api/v1/slots":                  `{"slots":[{"id":"7"`,
		"/api/v1/slots?day=2020-11-21":   `{"slots":[]}`,
		"/api/v1/slots/8/sales":          `{"sales":[],"more":false}`,
		"/api/v1/sales":                  `{"sales":[{"id":"7"`,
		"/api/v1/sales?phase=upcoming":   `{"sales":[],"more":false}`,
		"/api/v1/sales/7":                `"rules":"One lamp per person."`,
		"/api/v1/slots/7/sales":          `"texts":{"zh":{"name":"灯","category":"灯具"}}`,
		"/api/v1/products/7":             `"texts":{"zh":{"name":"灯","category":"灯具","rules":"每人一盏。"}}`,
		"/api/v1/products?size=1":        `"more":true}`,
		"/api/v1/products?page=2&size=1": `"more":false}`,
		"/api/v1/products?category=3":    `{"products":[],"more":false}`,
		"/api/v1/categories":             `{"categories":[{"id":"7","name":"Light","texts":{"zh":{"name":"灯具"}}}]}`,
		"/api/v1/orders?sale=7":          `{"orders":[{"id":"7","sale":"7"`,
		"/api/v1/orders?sale=9":          `{"orders":[],"more":false}`,
		"/api/v1/orders/7":               `"timeline":[{"state":"reserved","at":`,
		"/healthz":                       "ok",
		"/readyz":                        "ready",
	} {
		s.want(s.request("GET", path, "", me...), 200, want)
	}
	s.want(s.request("GET", "/api/v1/sales/7", ""), 200,
		`"texts":{"zh":{"name":"灯","category":"灯具","rules":"每人一盏。"}}`)
	s.want(s.request("POST", "/api/v1/sales/7/buy", validBuy, me...), 200, `"state":"reserved"}`)
	s.want(s.request("POST", "/api/v1/sales/8/pass", "", me...), 200, `{"pass":"`)
	s.want(s.request("POST", "/api/v1/sales/8/solve", `{"task":"t-1","answer":"38214"}`, me...), 403, "pass_required")
	s.want(s.request("POST", "/api/v1/orders/7/pay", `{"via":"wap"}`, me...), 200,
		`{"url":"https://pay.example/?via=wap","pay_by":`)
	s.want(s.request("POST", "/api/v1/orders/7/refund", `{}`, me...), 400, "reason is missing")
	s.want(s.request("POST", "/api/v1/orders/6/cancel", "", "Authorization", "Bearer user-43"), 200,
		`{"state":"cancelled"}`)
	s.want(s.request("POST", "/api/v1/auth/guest", ""), 200, `{"access":"a",`)
}

// TestInvalidInputIsRejectedBeforeService: each invalid input gets a clear error before a service is called. There is
// no service, so a call would panic.
func TestInvalidInputIsRejectedBeforeService(t *testing.T) {
	t.Parallel()
	var checkout fakeCheckout
	s := open(t, func(o *Options) { o.Buy = checkout.buy })
	me := []string{"Authorization", "Bearer user-42"}
	for path, want := range map[string]string{
		"/api/v1/slots?day=yesterday":        "2026-11-21",
		"/api/v1/slots/abc/sales":            "positive decimal",
		"/api/v1/sales?phase=soon":           "upcoming, open or closed",
		"/api/v1/sales?size=0":               "size must be",
		"/api/v1/sales?page=-1":              "page must be",
		"/api/v1/sales?page=501":             "page must be",
		"/api/v1/products?page=101&size=100": "page must be",
		"/api/v1/sales/0":                    "positive decimal",
		"/api/v1/products?category=x":        "category",
		"/api/v1/orders?limit=1000":          "limit must be",
		"/api/v1/orders?before=x":            "before",
		"/api/v1/orders/7?wait=31":           "wait must be",
	} {
		s.want(s.request("GET", path, "", me...), 400, want)
	}
	for body, want := range map[string]string{
		"":                        "must be a JSON object",
		"{":                       "must be a JSON object",
		validBuy + validBuy:       "nothing else",
		`{"key":"12345678"}`:      "qty",
		`{"qty":"1"}`:             "qty",
		`{"qty":1.5}`:             "qty",
		`{"qty":1e3}`:             "qty",
		`{"qty":null}`:            "qty",
		`{"qty":1,"key":5}`:       "key must be a string",
		`{"qty":1,"address":"x"}`: "address must be",
		`{"qty":-99999999999999999999,"key":"12345678"}`: "qty",
		// Bodies with the maximum nesting within the limit, and a number whose decimal form would fill the memory.
		strings.Repeat("[", bodyLimit): "must be a JSON object",
		`{"address":` + strings.Repeat(`{"name":`, 1500) + "1" + strings.Repeat("}", 1501): "address",
		strings.Repeat(`{"a":`, 3000):          "must be a JSON object",
		`{"qty":1e999999999,"key":"12345678"}`: "qty",
	} {
		s.want(s.request("POST", "/api/v1/sales/5/buy", body, me...), 400, want)
	}
	if checkout.got.Load() != nil {
		t.Error("the service was called, want no call for an invalid body")
	}
	s.want(s.request("POST", "/api/v1/sales/5/buy", `{"qty":99999999999999999999,"key":"12345678"}`, me...), 200, "order")
	if got := checkout.got.Load(); got == nil || got.Qty != math.MaxInt || got.Sale != 5 {
		t.Errorf("a quantity above the range of int: got %+v, want the maximum int", got)
	}
	s.want(s.request("POST", "/api/v1/sales/x/pass", "", me...), 400, "positive decimal")
	s.want(s.request("POST", "/api/v1/sales/5/solve", `{"task":7}`, me...), 400, "task must be a string")
	s.want(s.request("POST", "/api/v1/sales/5/solve", "", me...), 400, "must be a JSON object")
	s.want(s.request("POST", "/api/v1/orders/7/pay", `{"via":7}`, me...), 400, "via must be a string")
	s.want(s.request("POST", "/api/v1/orders/x/pay", `{"via":"page"}`, me...), 400, "positive decimal")
	s.want(s.request("POST", "/api/v1/orders/7/refund", `{"reason":1}`, me...), 400, "reason must be a string")
	s.want(s.request("GET", "/api/v1/nothing", ""), 404, "not_found")
	s.want(s.request("POST", "/api/v1/sales/5/buy", `{"key":"`+strings.Repeat("x", bodyLimit)+`"}`, me...), 413,
		"bad_request")
}

func TestOnlyTheOwnerSeesAnOrder(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	s.want(s.request("GET", "/api/v1/orders/7", "", "Authorization", "Bearer user-43"), 404, "not_found")
	for _, path := range []string{"/api/v1/orders", "/api/v1/orders/7"} {
		s.want(s.request("GET", path, ""), 401, "unauthorized")
		s.want(s.request("GET", path, "", "Authorization", "Basic user-42"), 401, "unauthorized")
	}
	s.want(s.request("POST", "/api/v1/sales/5/buy", validBuy), 401, "unauthorized")
	s.want(s.request("POST", "/api/v1/orders/7/pay", `{"via":"page"}`), 401, "unauthorized")
}

// TestEveryCodeHasAStatus: the table contains all codes, and a response carries the fields of its code.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	for code, want := range status {
		e := shop.Fail(code, "a sentence")
		e.RetryMS = 1500
		s := open(t, func(o *Options) { o.Buy = (&fakeCheckout{fail: e}).buy })
		s.anyCode = true
		got := s.request("POST", "/api/v1/sales/5/buy", validBuy, "Authorization", "Bearer user-42")
		s.want(got, want, `{"error":{"code":"`+string(code)+`","message":`)
		if code != shop.Internal && got.header.Get("Retry-After") != "2" {
			t.Errorf("%s: got Retry-After %q, want 2", code, got.header.Get("Retry-After"))
		}
	}
}

// TestInternalErrorsHideDetails: responses to unknown errors and panics do not contain the text of the error. They
// contain the request id for the log.
func TestInternalErrorsHideDetails(t *testing.T) {
	t.Parallel()
	for _, buy := range []func() error{
		func() error { return errors.New("secret detail") },
		func() error { panic("secret detail") },
	} {
		s := open(t, func(o *Options) {
			o.Buy = func(context.Context, shop.ID, order.BuyRequest) (r order.Receipt, err error) { return r, buy() }
		})
		got := s.request("POST", "/api/v1/sales/5/buy", validBuy, "Authorization", "Bearer user-42")
		s.want(got, 500, `"code":"internal"`)
		if strings.Contains(got.body, "secret") || got.header.Get("X-Request-Id") == "" {
			t.Errorf("got %s %v, want a request id and no detail of the error", got.body, got.header)
		}
	}
}

// TestLongPollReturnsOnChangeTimeoutOrClose: the response is sent at the next state change, at the end of the wait, or
// at once when the shop closes.
func TestLongPollReturnsOnChangeTimeoutOrClose(t *testing.T) {
	t.Parallel()
	var expirer *order.Expirer
	s, w := openShop(t, func(o *Options) { expirer = o.Expirer })
	me := []string{"Authorization", "Bearer user-42"}
	done := make(chan response)
	go func() { done <- s.request("GET", "/api/v1/orders/7?wait=20", "", me...) }()
	time.AfterFunc(100*time.Millisecond, func() {
		if _, err := expirer.Cancel(w.ctx, 42, 7); err != nil {
			t.Error(err)
		}
	})
	s.want(<-done, 200, `{"state":"cancelled","at":`)

	began := time.Now()
	s.want(s.request("GET", "/api/v1/orders/7?wait=3", "", me...), 200, `"state":"cancelled"`)
	if waited := time.Since(began); waited < 2900*time.Millisecond {
		t.Errorf("a poll without a change returned after %v, want 3 s", waited)
	}
	began = time.Now()
	go func() { done <- s.request("GET", "/api/v1/orders/7?wait=30", "", me...) }()
	time.AfterFunc(100*time.Millisecond, func() { close(s.close) })
	s.want(<-done, 200, `"state":"cancelled"`)
	if waited := time.Since(began); waited > 20*time.Second {
		t.Errorf("a poll took %v although the shop closed, want less than 20 s", waited)
	}
}

func TestHandshakeChecksOrigin(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Public = url.URL{Scheme: "https", Host: "public.example"}
		o.Origins = []string{"https://shop.example", "capacitor://localhost"}
	})
	upgrade := func(headers ...string) response {
		return s.request("GET", "/ws", "", append([]string{"Upgrade", "websocket", "Connection", "Upgrade"}, headers...)...)
	}
	s.want(s.request("GET", "/ws", ""), 426, "WebSocket")
	s.want(upgrade(), 200, "socket")
	s.want(upgrade("Origin", s.url), 200, "socket")
	s.want(upgrade("Origin", "https://shop.example"), 200, "socket")
	s.want(upgrade("Origin", "capacitor://localhost"), 200, "socket")
	s.want(upgrade("Origin", "https://b.example", "Host", "b.example"), 200, "socket") // a proxy terminates TLS
	for _, origin := range []string{
		"https://public.example", "https://public.example:443", "https://Shop.example:443", s.url,
	} {
		s.want(upgrade("Origin", origin), 200, "socket")
	}
	s.want(upgrade("Origin", "https://b.example", "Host", "b.example:443"), 200, "socket")
	s.want(upgrade("Origin", "http://b.example:80", "Host", "b.example"), 200, "socket")
	for _, origin := range []string{
		"https://evil.example", "http://public.example", "https://public.example:80", "https://public.example.evil",
		"https://public.example:4430", "public.example", "",
	} {
		want := map[bool]int{true: 403, false: 200}[origin != ""]
		if got := upgrade("Origin", origin); got.code != want {
			t.Errorf("Origin %q: got %d %s, want %d", origin, got.code, got.body, want)
		}
	}
	s.want(upgrade("Origin", "null"), 403, "forbidden")
	close(s.close)
	s.want(upgrade(), 503, "busy")
}

func TestGuestLoginCanBeDisabled(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.Guest = nil })
	s.want(s.request("POST", "/api/v1/auth/guest", ""), 403, "forbidden")
}

func TestPageHasSecurityAndCacheHeaders(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	got := s.request("GET", "/", "", "Accept-Encoding", "identity")
	s.want(got, 200, "<p>hello</p>")
	for header, want := range map[string]string{
		"Content-Type": "text/html", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "script-src 'self'; style-src 'self'", "X-Frame-Options": "DENY",
	} {
		if !strings.Contains(got.header.Get(header), want) {
			t.Errorf("%s: got %q, want %q", header, got.header.Get(header), want)
		}
	}
	if host := strings.TrimPrefix(s.url, "http://"); !strings.Contains(got.header.Get("Content-Security-Policy"),
		"ws://"+host) {
		t.Errorf("got the policy %q, want ws://%s in it", got.header.Get("Content-Security-Policy"), host)
	}
	if again := s.request("GET", "/", "", "If-None-Match", got.header.Get("ETag")); again.code != 304 {
		t.Errorf("a repeated request with the ETag: got %d, want 304", again.code)
	}
	if asset := s.request("GET", "/assets/a.1.js", ""); !strings.Contains(asset.header.Get("Cache-Control"), "immutable") {
		t.Errorf("asset: got %v, want an immutable Cache-Control", asset.header)
	}
	s.want(s.request("GET", "/../secret", ""), 404, "not_found")

	bare := open(t, func(o *Options) { o.Page = nil })
	bare.want(bare.request("GET", "/", ""), 200, "The page was not built")
}

// The API documentation is served with the security policy of all pages, together with its YAML descriptions.
func TestDocsAreServedWithPolicy(t *testing.T) {
	t.Parallel()
	dist := fstest.MapFS{
		"index.html": {}, "docs/index.html": {Data: []byte("docs of HTTP")}, "docs/socket.html": {Data: []byte("docs of the socket")},
		"docs/docs.css": {Data: []byte("a{}")},
	}
	s := open(t, func(o *Options) { o.Page, o.AsyncAPI = dist, []byte("asyncapi: 3.0.0\n") })
	for path, want := range map[string][2]string{
		"/docs":               {"text/html", "docs of HTTP"},
		"/docs/":              {"text/html", "docs of HTTP"},
		"/docs/socket":        {"text/html", "docs of the socket"},
		"/docs/docs.css":      {"text/css", "a{}"},
		"/docs/openapi.yaml":  {"text/yaml", "openapi: 3.0.3"},
		"/docs/asyncapi.yaml": {"text/yaml", "asyncapi: 3.0.0"},
	} {
		got := s.request("GET", path, "")
		s.want(got, 200, want[1])
		if kind := got.header.Get("Content-Type"); !strings.HasPrefix(kind, want[0]) {
			t.Errorf("%s: got the type %s, want %s", path, kind, want[0])
		}
		if csp := got.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, basePolicy) {
			t.Errorf("%s: got the policy %q, want %q", path, csp, basePolicy)
		}
	}
	s.want(s.request("GET", "/docs/spec.go", ""), 404, "not_found")

	bare := open(t, func(o *Options) { o.Page = nil })
	for _, path := range []string{"/docs", "/docs/socket"} {
		bare.want(bare.request("GET", path, ""), 200, "The page was not built")
	}
}

func TestNodeWithoutAPIServesOnlyHealth(t *testing.T) {
	t.Parallel()
	s := openWith(t, 1000, nil, func(f *HTTPServer) { f.Handler = nil })
	s.want(s.request("GET", "/api/v1/time", ""), 503, `"code":"busy"`)
	s.want(s.request("GET", "/healthz", ""), 200, "ok")
}

// The read timeout in the shipped nginx.conf exceeds the longest poll plus one slow read.
func TestNginxTimeoutExceedsMaxPoll(t *testing.T) {
	t.Parallel()
	site, err := os.ReadFile("../../deploy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)location / \{.*?proxy_read_timeout (\d+)s;`).FindSubmatch(site)
	if found == nil {
		t.Fatal("nginx.conf sets no proxy_read_timeout for /")
	}
	seconds, err := strconv.Atoi(string(found[1]))
	if minimum := maxWait*time.Second + callTimeout; err != nil || time.Duration(seconds)*time.Second <= minimum {
		t.Errorf("got proxy_read_timeout %d s, want more than %v, the longest poll", seconds, minimum)
	}
}

// Every path below /console returns the console with its own policy; the console selects its view by the path. Build
// files are served as files or are not found.
func TestConsolePathsReturnConsole(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, path := range []string{"/console", "/console/", "/console/sales/7301444403200000101", "/console/a.b"} {
		got := s.request("GET", path, "")
		s.want(got, 200, "<p>console</p>")
		for header, want := range map[string]string{
			"Content-Type": "text/html", "Cache-Control": "no-cache", "X-Robots-Tag": "noindex",
			"Content-Security-Policy": "require-trusted-types-for 'script'; trusted-types vue markup",
		} {
			if !strings.Contains(got.header.Get(header), want) {
				t.Errorf("%s: %s: got %q, want %q", path, header, got.header.Get(header), want)
			}
		}
		if again := s.request("GET", path, "", "If-None-Match", got.header.Get("ETag")); again.code != 304 {
			t.Errorf("%s: got %d, want 304", path, again.code)
		}
	}
	asset := s.request("GET", "/console/assets/b.1.js", "")
	s.want(asset, 200, "2")
	if cache := asset.header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
		t.Errorf("got Cache-Control %q, want immutable", cache)
	}
	for _, path := range []string{"/console/assets/gone.js", "/consoles", "/console.html", "/.vite/manifest.json"} {
		s.want(s.request("GET", path, ""), 404, "not_found")
	}
	if policy := s.request("GET", "/", "").header.Get("Content-Security-Policy"); strings.Contains(policy, "trusted-types") {
		t.Errorf("got the policy %s for the shop page, want no trusted-types", policy)
	}

	bare := open(t, func(o *Options) { o.Page = nil })
	bare.want(bare.request("GET", "/console", ""), 404, "not_found")
}
