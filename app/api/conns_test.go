package api

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/test/kit"
)

// Sockets that come through a proxy count for the address behind it, from the handshake to the end of the socket, and
// only if there was a handshake.
func TestSocketsThroughAProxyCountForTheirClients(t *testing.T) {
	t.Parallel()
	s := openFor(t, 2, func(o *Options) {
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
	as := func(ip, more string, want int) (net.Conn, *http.Response) {
		t.Helper()
		conn, _, res := s.shake("X-Real-IP: "+ip+"\r\n"+more, "")
		if res.StatusCode != want {
			t.Errorf("a socket of %s: %s, want %d", ip, res.Status, want)
		}
		return conn, res
	}
	for range 5 {
		as("192.0.2.1", "Sec-WebSocket-Protocol: refuse\r\n", 503)
		as("192.0.2.1", "Origin: https://evil.example\r\n", 403)
	}
	first, _ := as("192.0.2.1", "", 101)
	as("192.0.2.1", "", 101)
	if _, res := as("192.0.2.1", "", 429); res.Header.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to come back")
	}
	as("192.0.2.2", "", 101)
	as("2001:db8::1", "", 101)
	as("2001:db8::2", "", 101)
	as("2001:db8::3", "", 429)
	_ = first.Close()
	kit.Eventually(t, 10*time.Second, func() (bool, string) {
		_, _, res := s.shake("X-Real-IP: 192.0.2.1\r\n", "")
		return res.StatusCode == 101, res.Status
	})
}
