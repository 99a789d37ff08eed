package contract

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// exchange returns a valid exchange that a test can change.
func exchange(method, path string, status int, body string) Exchange {
	header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r1"}}
	for name, value := range securityHeaders {
		header.Set(name, value)
	}
	return Exchange{
		Request:  httptest.NewRequest(method, path, nil),
		Response: &http.Response{StatusCode: status, Header: header}, Got: []byte(body),
	}
}

func failure(code string) string {
	return `{"error":{"code":"` + code + `","message":"m","retry_ms":0,"request":"r1"}}`
}

func withToken(x Exchange) Exchange {
	x.Request.Header.Set("Authorization", "Bearer t")
	return x
}

func modified(x Exchange, change func(x *Exchange)) Exchange {
	change(&x)
	return x
}

// Exchanges that match the description pass. Each kind of difference has its own error.
func TestCheck(t *testing.T) {
	t.Parallel()
	const buy = "/api/v1/sales/5/buy"
	const time, receipt = `{"now":1}`, `{"order":"7","ticket":1,"place":0,"state":"reserved"}`
	withBody := func(body string) func(x *Exchange) { return func(x *Exchange) { x.Sent = []byte(body) } }
	asHTML := func(accept string) func(x *Exchange) {
		return func(x *Exchange) {
			x.Request.Header.Set("Accept", accept)
			x.Response.Header.Set("Content-Type", "text/html")
		}
	}
	for name, c := range map[string]struct {
		x       Exchange
		wantErr string // part of the error; "": no error
	}{
		"a response":           {exchange("GET", "/api/v1/time", 200, time), ""},
		"a failure":            {exchange("GET", "/api/v1/time", 503, failure("busy")), ""},
		"an asset of the page": {exchange("GET", "/assets/a.js", 200, "let a"), ""},
		"an unknown path":      {exchange("GET", "/api/v1/nothing", 404, failure("not_found")), ""},
		"a missing page":       {modified(exchange("GET", "/nothing", 404, "<p>"), asHTML("text/html")), ""},
		"a page to a program":  {modified(exchange("GET", "/nothing", 404, "<p>"), asHTML("*/*")), "must be JSON"},
		"a buy":                {modified(withToken(exchange("POST", buy, 200, receipt)), withBody(`{"qty":1,"key":"k-123456"}`)), ""},
		"an undeclared field":  {exchange("GET", "/api/v1/time", 200, `{"now":1,"then":2}`), "then"},
		"a missing field":      {exchange("GET", "/api/v1/time", 200, `{}`), "now"},
		"a number as text":     {exchange("GET", "/api/v1/time", 200, `{"now":"1"}`), "integer"},
		"an id as a number": {modified(withToken(exchange("POST", buy, 200,
			strings.Replace(receipt, `"7"`, `7`, 1))), withBody(`{"qty":1,"key":"k-123456"}`)), "order"},
		"an unknown state": {modified(withToken(exchange("POST", buy, 200,
			strings.Replace(receipt, `reserved`, `lost`, 1))), withBody(`{"qty":1,"key":"k-123456"}`)), "state"},
		"a bad buy accepted":             {modified(withToken(exchange("POST", buy, 200, receipt)), withBody(`{"qty":0,"key":"k-123456"}`)), "should have been rejected"},
		"without a token":                {modified(exchange("POST", buy, 200, receipt), withBody(`{"qty":1,"key":"k-123456"}`)), "should have been rejected"},
		"a bad id accepted":              {exchange("GET", "/api/v1/slots/x/sales", 200, `{"sales":[],"more":false}`), "should have been rejected"},
		"an unknown route":               {exchange("GET", "/api/v1/new", 200, `{}`), "no such operation"},
		"an unknown method":              {exchange("PUT", "/api/v1/time", 200, time), "no such operation"},
		"an unknown code":                {exchange("GET", "/api/v1/time", 409, failure("tired")), "code"},
		"a code of other operations":     {exchange("GET", "/api/v1/time", 409, failure("sold_out")), "does not declare the code"},
		"the status of another code":     {exchange("GET", "/api/v1/time", 500, failure("busy")), "status 503"},
		"another request id in the body": {exchange("GET", "/api/v1/time", 503, strings.Replace(failure("busy"), "r1", "r2", 1)), "names request"},
		"no request id in the body":      {exchange("GET", "/api/v1/time", 503, strings.Replace(failure("busy"), `,"request":"r1"`, "", 1)), "request"},
		"an error in plain text":         {exchange("GET", "/assets/a.js", 404, "not here"), "JSON"},
		"no X-Request-Id": {
			modified(exchange("GET", "/", 200, ""), func(x *Exchange) { x.Response.Header.Del("X-Request-Id") }), "X-Request-Id",
		},
		"no Content-Security-Policy": {
			modified(exchange("GET", "/", 200, ""), func(x *Exchange) { x.Response.Header.Del("Content-Security-Policy") }),
			"Content-Security-Policy",
		},
	} {
		err := Check(c.x)
		kit.WantError(t, name, err, c.wantErr)
	}
}

// Read rejects invalid documents.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "openapi: 3.0.3", "openapi: 3.0.3\ninfo: {title: a, version: b}\npaths: {/a: {get: {}}}"} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
