package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit/contract"
)

// Every request gets a response without a server error, with the security headers, and every rejection has the usual
// error body.
func FuzzRequest(f *testing.F) {
	logged := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	f.Cleanup(func() { slog.SetDefault(logged) })
	for _, request := range []string{
		"GET /api/v1/time HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /api/v1/sales?phase=open&page=2&size=3 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /api/v1/slots?day=2026-02-30 HTTP/1.1\r\nHost: a\r\nX-Request-Id: r-1\r\n\r\n",
		"GET /api/v1/orders/7?wait=0 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-42\r\n\r\n",
		"POST /api/v1/sales/5/buy HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-42\r\nContent-Length: 26\r\n\r\n" + validBuy,
		"POST /api/v1/orders/7/refund HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-42\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n10\r\n{\"reason\":\"&lt;\"}\r\n0\r\n\r\n",
		"POST /api/v1/payments/alipay/notify HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\na=%zz&b=%E6%",
		"GET /api/v1/operator/orders?state=paid HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-1\r\n\r\n",
		"GET /docs HTTP/1.1\r\nHost: a\"><script>\r\nAccept-Encoding: gzip\r\nIf-None-Match: *\r\n\r\n",
		"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /api/v1/sales/1'%20OR%201=1-- HTTP/1.1\r\nHost: a\r\nX-Real-IP: ::1%eth0\r\n\r\n",
		"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://[::1]:namedport\r\n\r\n",
		"POST /api/v1/auth/refresh HTTP/1.1\r\nHost: a\r\nX-Stampede: 1\r\nCookie: stampede_refresh=7.x; a=\"b\r\n" +
			"Sec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n\r\n",
		"POST /api/v1/auth/register HTTP/1.1\r\nHost: a\r\nContent-Length: 57\r\n\r\n" +
			`{"email":"a@b.c","password":"x","captcha":{"id":1,"a":[]}}`,
		"DELETE /api/v1/me/devices/7 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-42\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(request))
	}
	o := (&site{}).options()
	openWorld(f, &o)
	o.HandleNotification = func(context.Context, url.Values) error { return payment.ErrForged }
	server := NewHTTPServer(headerLimit, time.Minute)
	server.Ready, server.Handler = func() error { return nil }, New(o)
	sampleRequest, err := http.NewRequest(http.MethodGet, "http://a/nowhere", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("wait=")) && !bytes.Contains(text, []byte("wait=0")) {
			t.Skip("the request would wait")
		}
		var ctx fasthttp.RequestCtx
		var request fasthttp.Request
		err := request.ReadLimitBody(bufio.NewReader(bytes.NewReader(text)), bodyLimit)
		ctx.Init(&request, nil, nil)
		if err != nil {
			handleParseError(&ctx, err)
		} else {
			server.handle(&ctx)
		}
		if ctx.Hijacked() { // a handshake, which is moved to the server of sockets
			return
		}
		res := &http.Response{StatusCode: ctx.Response.StatusCode(), Header: make(http.Header)}
		for name, value := range ctx.Response.Header.All() {
			res.Header.Add(string(name), string(value))
		}
		if request.Header.IsHead() {
			return
		}
		got, err := io.ReadAll(bytes.NewReader(ctx.Response.Body()))
		if err == nil {
			err = contract.Check(contract.Exchange{Request: sampleRequest, Response: res, Got: got, AnyCode: true})
		}
		if err != nil || res.StatusCode >= 500 && res.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("%q: got %d %q %.300s: %v", text, res.StatusCode, res.Header, got, err)
		}
	})
}

// A body is either parsed or rejected as bad_request. The message contains no names of Go types.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		validBuy, `{"qty":1e400,"key":5,"address":[]}`, `{"qty":99999999999999999999,"key":"k","address":{"name":"a"}}`,
		`{"via":"page"}`, `{"reason":"\ud800"}`, `{"note":null}`, `null`, `[]`, `{"qty":1}{"qty":2}`, `{"QTY":1,"qty":2}`,
		strings.Repeat(`{"a":`, 3000), strings.Repeat("[", 10_001),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkError := func(err error) {
			var e *shop.Error
			if err != nil && (!errors.As(err, &e) || e.Code != shop.BadRequest || strings.Contains(e.Message, "api.")) {
				t.Fatalf("%q: %v", text, err)
			}
		}
		var buy buyBody
		err := decode(text, &buy)
		checkError(err)
		if err == nil {
			n, err := parseQuantity(buy.Qty)
			checkError(err)
			if whole := json.Number(buy.Qty); err == nil && n != math.MaxInt {
				if exact, err := whole.Int64(); err != nil || int(exact) != n {
					t.Fatalf("the quantity %q was parsed as %d", buy.Qty, n)
				}
			}
		}
		checkError(decode(text, &payBody{}))
		checkError(decode(text, &refundBody{}))
		checkError(decode(text, &noteBody{}))
	})
}
