package api

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"stampede/app/limits"
)

// A blocked address is refused every route and the handshake when it comes through a proxy; straight, its connections
// are closed before a word is said.
func TestBlockedAddressIsKeptOut(t *testing.T) {
	t.Parallel()
	blocked := netip.MustParsePrefix("192.0.2.0/24")
	through := open(t, func(o *Options) {
		o.Proxies, o.Blocked = loopback, blocked.Contains
	})
	for _, path := range []string{"/api/v1/time", "/api/v1/orders", "/", "/nowhere"} {
		through.want(through.ask("GET", path, "", "X-Real-IP", "192.0.2.9"), 403, "blocked")
	}
	through.want(through.ask("GET", "/api/v1/time", "", "X-Real-IP", "198.51.100.1"), 200, "now")
	if _, _, res := through.shake("X-Real-IP: 192.0.2.9\r\n", ""); res.StatusCode != 403 {
		t.Errorf("its handshake: %s", res.Status)
	}

	straight := open(t, func(o *Options) {
		o.Blocked = func(addr netip.Addr) bool { return addr.IsLoopback() }
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(straight.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("a connection of a blocked address was kept: %v", err)
	} else if netErr, ok := err.(net.Error); err != io.EOF && ok && netErr.Timeout() {
		t.Errorf("a connection of a blocked address was not closed: %v", err)
	}
}

// Handshakes of an address are counted, whatever comes of them, and who is refused is told when the next one counts.
func TestHandshakesAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Proxies, o.Handshakes = loopback, limits.Pace{Rate: 1, Period: time.Hour, Burst: 2}
	})
	for i, want := range []int{200, 200, 429, 429} { // the site answers a handshake as if it were none
		_, _, res := s.shake("X-Real-IP: 192.0.2.1\r\n", "")
		if res.StatusCode != want || want == 429 && res.Header.Get("Retry-After") == "" {
			t.Errorf("handshake %d: %s, %v", i+1, res.Status, res.Header)
		}
	}
	if _, _, res := s.shake("X-Real-IP: 192.0.2.2\r\n", ""); res.StatusCode != 200 {
		t.Errorf("another address: %s", res.Status)
	}
}
