package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Each form in which proxies write an address is one address for limits, blocks and logs: otherwise a client could
// leave the block list by another spelling. An address that cannot be read counts for the proxy, and is reported once.
func TestClientAddressHasOneForm(t *testing.T) {
	t.Parallel()
	const peer = "0.0.0.0" // of app.Test
	var warned []string
	a := &front{
		Metrics: NewMetrics(), proxies: newProxyWarnings(),
		Proxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")},
	}
	a.proxies.warn = func(_, peer string) { warned = append(warned, peer) }
	f := fiber.New(fiber.Config{
		EnableTrustedProxyCheck: true, TrustedProxies: []string{"0.0.0.0/8"}, ProxyHeader: realIP, EnableIPValidation: true,
	})
	var got string
	f.Get("/", a.setClient, func(c *fiber.Ctx) error {
		got = c.IP()
		return nil
	})
	unreadable := 0.0
	for value, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", "::ffff:203.0.113.9": "203.0.113.9", "::FFFF:CB00:7109": "203.0.113.9",
		"203.0.113.9:54321": "203.0.113.9", "[::ffff:203.0.113.9]:443": "203.0.113.9", " 203.0.113.9 ": "203.0.113.9",
		"2001:DB8:0:0::1": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "[2001:db8::1]:443": "2001:db8::1",
		`"[2001:db8::1]:443"`: "2001:db8::1", "fe80::1%eth0": "fe80::1",
		"unknown": peer, "_hidden": peer, "203.0.113": peer, "203.0.113.009": peer, "2001:db8::1, 203.0.113.9": peer,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set(realIP, value)
		if _, err := f.Test(r); err != nil || got != want {
			t.Errorf("X-Real-IP %q: got %s, %v; want %s", value, got, err, want)
		}
		if want == peer {
			unreadable++
		}
		if want == peer || value == "2001:db8::1, 203.0.113.9" {
			continue
		}
		r = httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set(fiber.HeaderXForwardedFor, "198.51.100.1, "+value+", ::ffff:10.1.2.3")
		if _, err := f.Test(r); err != nil || got != want {
			t.Errorf("X-Forwarded-For with %q: got %s, %v; want %s", value, got, err, want)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody) // a health check of a proxy
	r.Header.Set(fiber.HeaderXForwardedFor, "10.1.2.3")
	if _, err := f.Test(r); err != nil || got != peer {
		t.Errorf("only proxies in X-Forwarded-For: got %s, %v; want %s", got, err, peer)
	}
	if n := testutil.ToFloat64(a.Metrics.unreadableClients); n != unreadable || len(warned) != 1 {
		t.Errorf("got %v unreadable addresses and %d warnings, want %v and 1", n, len(warned), unreadable)
	}
}

// Some programs on Windows write a byte order mark before JSON.
func TestByteOrderMarkBeforeJSONIsIgnored(t *testing.T) {
	t.Parallel()
	var body payBody
	if err := decode([]byte("\ufeff"+`{"via":"page"}`), &body); err != nil || body.Via != "page" {
		t.Errorf("got %+v, %v; want the body", body, err)
	}
}
