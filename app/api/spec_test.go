package api

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/test/kit/contract"
)

// outsideTheRouter are answered by the front. What is below /* is the page and its files.
var outsideTheRouter = []string{"GET /healthz", "GET /readyz"}

// TestRoutesAreDescribed: the routes of the router and those of openapi.yaml are the same set, so nobody can add one
// without describing it, or describe one that is not there.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	s := &site{t: t, shop: &fakeShop{}}
	there := slices.Clone(outsideTheRouter)
	for _, r := range newApp(s.options()).GetRoutes(true) {
		if r.Method != http.MethodHead && r.Path != "/*" { // whatever can be read can be asked for its headers
			there = append(there, r.Method+" "+inBraces(r.Path))
		}
	}
	slices.Sort(described)
	slices.Sort(there)
	if diff := cmp.Diff(described, slices.Compact(there)); diff != "" {
		t.Errorf("app/api/spec/openapi.yaml and the router differ (-described +there):\n%s", diff)
	}
}

// notShown are operations whose success is not one of JSON for a sample of it: a socket, a form of the gateway, and
// files.
var notShown = []string{
	"openSocket", "notifyOfPayment", "uploadImage", "showImage",
	"exportProducts", "exportSales", "importProducts", "importSales",
}

// TestEveryOperationAnswers: each is asked as its description shows, and answers a success in the form that it shows.
func TestEveryOperationAnswers(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, nil)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(notShown, op.OperationID) {
				continue
			}
			body, err := contract.Sample(op)
			if err != nil {
				t.Fatal(err)
			}
			token := "Bearer user-42"
			if slices.Contains(op.Tags, "Operators") {
				token = "Bearer user-2" // an admin
			}
			address := strings.ReplaceAll(path, "{id}", "7")
			if strings.HasSuffix(path, "/operator/orders") {
				address += "?state=paid"
			}
			if method == http.MethodGet && strings.HasSuffix(path, "/operator/slots") {
				address += "?from=2026-11-21"
			}
			if strings.HasSuffix(path, "/reconciliation") {
				address += "?day=2026-11-20"
			}
			got := s.ask(method, address, body, "Authorization", token, actKey, "act-0001")
			if got.code >= 300 {
				t.Errorf("%s %s with %s: %d %s", method, address, body, got.code, got.body)
			}
		}
	}
}

// inBraces writes the parameters of a path as openapi.yaml does.
func inBraces(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// TestCodesAreDescribed: the table of codes in openapi.yaml is the one that answers are made with.
func TestCodesAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	described := make(map[shop.Code]int)
	for _, code := range doc.Components.Schemas["Code"].Value.Enum {
		code := shop.Code(code.(string))
		described[code] = contract.StatusOf(doc, code)
	}
	if diff := cmp.Diff(status, described); diff != "" {
		t.Errorf("the table of codes (-in errors.go +described):\n%s", diff)
	}
	known := slices.Collect(maps.Keys(described))
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			listed, _ := op.Extensions["x-errors"].([]any)
			for _, code := range listed {
				if !slices.Contains(known, shop.Code(code.(string))) {
					t.Errorf("%s %s: x-errors has %v, which is no code", method, path, code)
				}
			}
		}
	}
}

// Pages have words for each code of a check, by this list.
func TestCheckCodesAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	var described []backoffice.CheckCode
	for _, code := range doc.Components.Schemas["Check"].Value.Properties["code"].Value.Enum {
		described = append(described, backoffice.CheckCode(code.(string)))
	}
	if diff := cmp.Diff(backoffice.CheckCodes(), described); diff != "" {
		t.Errorf("the codes of checks (-in app +described):\n%s", diff)
	}
}

// A request keeps the id that it brings, if that is short and clean, and gets one of its own otherwise; its failure
// names it.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const header = "X-Request-Id"
	for _, path := range []string{"/api/v1/time", "/healthz", "/readyz", "/", "/api/v1/nothing", "/ws"} {
		for id, kept := range map[string]bool{
			"7f3a.b_c-D9": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
			`a"b`: false, "a b": false, "<b>": false, "": false, "é": false, "{id}": false,
		} {
			got := s.ask("GET", path, "", header, id)
			if given := got.header.Get(header); (given == id) != kept || !cleanRequestID(given) {
				t.Errorf("%s with %q: given %q", path, id, given)
			}
		}
	}
	first, second := s.ask("GET", "/healthz", ""), s.ask("GET", "/healthz", "")
	if first.header.Get(header) == second.header.Get(header) {
		t.Error("two requests have one id")
	}
	s.want(s.ask("GET", "/api/v1/orders", "", header, "mine-1"), 401, `"request":"mine-1"`)
	conn, r, res := s.shake("X-Request-Id: mine-2\r\nOrigin: https://evil.example\r\n", "")
	defer conn.Close()
	text, err := io.ReadAll(io.LimitReader(r, res.ContentLength))
	if err != nil || res.StatusCode != http.StatusForbidden || !strings.Contains(string(text), `"request":"mine-2"`) {
		t.Errorf("a handshake that was handed over: %d %s, %v", res.StatusCode, text, err)
	}
}

// What never becomes a request is answered in the form of every failure, too, with the headers of every answer.
func TestUnreadableRequestsAreAnsweredLikeOthers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", headerLimit) + "\r\n\r\n":     431,
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-A: b\r\n", headerLimit/8) + "\r\n": 431,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n":                       413,
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 2*bodyLimit, strings.Repeat("a", 2*bodyLimit)): 413,
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n":                                       400,
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 somebody speaks TLS \r\n\r\n":                    400,
		"GET /api/v1/time HTTP/1.1\r\n\r\n":                                                            400,
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Encoding: br\r\n\r\n":                                    415,
		"DELETE /api/v1/time HTTP/1.1\r\nHost: a\r\nX-Request-Id: <script>\r\n\r\n":                    404,
		"GET /api/v1/%ff%fe/../../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n":                           404,
		"GET /api/v1/sales/1'%20OR%20'1'='1 HTTP/1.1\r\nHost: \"><script>alert(1)</script>\r\n\r\n":    400,
		"POST /api/v1/sales/5/buy HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n": 400,
	} {
		res, text := s.raw(request)
		asked, err := http.NewRequest("GET", s.url+"/nowhere", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = contract.Check(contract.Exchange{Request: asked, Response: res, Got: text})
		if res.StatusCode != want || err != nil {
			t.Errorf("%.60q: %d %s, want %d; %v", request, res.StatusCode, text, want, err)
		}
	}
}
