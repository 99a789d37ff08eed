package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v2"

	"stampede/app/shop"
)

// publicRoutes lists the routes for callers without a token, and the cost of a request before the caller is identified.
// All routes first check the limits of the address in memory. A route with "service" calls a service; the first steps
// of the service follow the colon.
var publicRoutes = map[string]string{
	"GET /ws": "memory: counters of the address", "GET /api/v1/auth/captcha": "service: the budget for drawing, in memory",
	"POST /api/v1/auth/guest":             "memory: a signature",
	"POST /api/v1/auth/register":          "service: a captcha, then a hash",
	"POST /api/v1/auth/activate":          "service: one indexed read of the token, then a hash",
	"POST /api/v1/auth/unregister":        "service: one indexed read of the token",
	"POST /api/v1/auth/login":             "service: counters of failures, a captcha, a place in the queue, an indexed read, then a hash",
	"POST /api/v1/auth/forgot":            "service: a captcha, then an indexed read",
	"POST /api/v1/auth/reset":             "service: one indexed read of the token, then a hash",
	"POST /api/v1/payments/alipay/notify": "memory: a signature, within the limit of suspect addresses",
	"GET /api/v1/shop":                    "memory: the names of the texts of the page",
	"GET /api/v1/shop/texts/:name":        "memory: a text of the page",
	"GET /api/v1/time":                    "memory: a clock", "GET /api/v1/slots": "service: memory",
	"GET /api/v1/slots/:id/sales": "service: memory", "GET /api/v1/sales": "service: memory",
	"GET /api/v1/sales/:id": "service: memory", "GET /api/v1/products": "service: memory",
	"GET /api/v1/products/:id": "service: memory", "GET /api/v1/categories": "service: memory",
	"GET /api/v1/sales/:id/calendar": "service: memory", "GET /sale/:id": "service: memory",
	"GET /images/:file": "service: one indexed read", "GET /*": "memory: files of the page",
}

// wellFormed is a body that no service rejects before its first read.
const wellFormed = `{"email":"ada@shop.example","password":"` + testPassword + `","token":"` + sampleToken +
	`","captcha":` + captchaJSON + `}`

// Every route rejects a caller without a token before it calls a service, unless its cost is in publicRoutes.
func TestPublicRoutesAreListedWithCost(t *testing.T) {
	t.Parallel()
	var routes []string
	s := open(t, func(o *Options) {
		o.Board, o.Readiness = nil, nil
		for _, r := range newApp(*o).GetRoutes(true) {
			if r.Method != http.MethodHead {
				routes = append(routes, r.Method+" "+r.Path)
			}
		}
	})
	s.anyCode = true
	slices.Sort(routes)
	var public []string
	for _, route := range slices.Compact(routes) {
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer(":id", "7", ":file", strings.Repeat("7", 64)+".png", "*", "").Replace(path)
		got := s.request(method, path, wellFormed)
		if got.code == http.StatusUnauthorized {
			continue
		}
		public = append(public, route)
		want, callsService := strings.HasPrefix(publicRoutes[route], "service: "), got.code == http.StatusInternalServerError
		if callsService != want {
			t.Errorf("%s: got status %d and a service call: %t, want a service call: %t", route, got.code, callsService, want)
		}
	}
	if want := slices.Sorted(maps.Keys(publicRoutes)); !slices.Equal(public, want) {
		t.Errorf("routes that do not require a token: got\n%q, want\n%q", public, want)
	}
}

// The limit class and the handler share one verification of the token.
func TestTokensAreVerifiedOncePerRequest(t *testing.T) {
	t.Parallel()
	var verified atomic.Int64
	s, _ := openShop(t, func(o *Options) {
		verify := o.Verify
		o.Verify = func(token string) (shop.Identity, error) {
			verified.Add(1)
			return verify(token)
		}
	})
	for token, code := range map[string]int{"user-7": http.StatusOK, "invalid": http.StatusUnauthorized} {
		s.want(s.request("GET", "/api/v1/orders", "", fiber.HeaderAuthorization, "Bearer "+token), code, "")
		if n := verified.Swap(0); n != 1 {
			t.Errorf("%s: got %d verifications, want 1", token, n)
		}
	}
}
