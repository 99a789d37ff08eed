package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A proxy that nobody has named is warned of once, however many people are behind it; one that is named is no stranger.
func TestUnnamedProxyIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	// a request of Test comes from 0.0.0.0
	for trusted, want := range map[string]int{"192.0.2.0/24": 1, "0.0.0.0/8": 0} {
		var warned []string
		a := &api{Options: Options{Metrics: NewMetrics()}, stranger: newStranger()}
		a.stranger.warn = func(peer string) { warned = append(warned, peer) }
		f := fiber.New(fiber.Config{EnableTrustedProxyCheck: true, TrustedProxies: []string{trusted}})
		f.Get("/", a.forwarded, func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
		for _, header := range []string{"", "X-Real-IP", "X-Forwarded-For", "Forwarded", "X-Forwarded-For"} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if header != "" {
				r.Header.Set(header, "198.51.100.7")
			}
			res, err := f.Test(r)
			if err != nil || res.StatusCode != fiber.StatusNoContent {
				t.Fatalf("%v, %v", res, err)
			}
		}
		if len(warned) != want || want > 0 && warned[0] != "0.0.0.0" {
			t.Errorf("trusting %s: warned of %v", trusted, warned)
		}
		if n := testutil.ToFloat64(a.Metrics.strangers); n != float64(4*want) {
			t.Errorf("trusting %s: %v requests were counted", trusted, n)
		}
	}
}
