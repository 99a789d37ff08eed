package api

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/limits"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// dialFrom opens a connection from a loopback address.
func (s *site) dialFrom(from string) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Minute, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return d.DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
}

// An address that opens thousands of connections never holds more than its limit. Memory does not grow with the
// attempts, and requests of another address succeed during the attack. The test is not parallel, because it measures
// the memory of the process.
func TestConnectionFloodStaysWithinLimit(t *testing.T) {
	const attempts, maxConns, dialers = 4_000, 50, 4
	s := openWith(t, maxConns, nil, func(f *HTTPServer) { f.server.ReadTimeout = 10 * time.Minute })
	l, attacker := s.conns, netip.MustParseAddr("127.0.0.66")
	opened := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open.Held(attacker)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	held := make([]net.Conn, maxConns)
	for i := range held {
		conn, err := s.dialFrom(attacker.String())
		if err != nil {
			t.Fatal(err)
		}
		held[i] = conn
	}
	kit.Eventually(t, time.Minute, func() (bool, string) { return opened() == maxConns, "not all connections are open" })
	var closed, failed atomic.Int64
	var flood sync.WaitGroup
	for range dialers {
		flood.Go(func() {
			for range attempts / dialers {
				conn, err := s.dialFrom(attacker.String())
				if err != nil {
					failed.Add(1)
					continue
				}
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				if n, err := conn.Read(make([]byte, 1)); n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
					closed.Add(1)
				}
				_ = conn.Close()
			}
		})
	}
	finished := make(chan struct{})
	go func() { flood.Wait(); close(finished) }()
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	requests := 0
	for flooding := true; flooding; requests++ {
		s.want(s.request("GET", "/api/v1/time", ""), 200, "now")
		select {
		case <-finished:
			flooding = false
		case <-pause.C:
		}
	}
	t.Logf("%d closed, %d dials failed, %d other requests succeeded during the flood", closed.Load(), failed.Load(),
		requests)
	if opened() != maxConns || closed.Load() < attempts*9/10 || closed.Load()+failed.Load() != attempts {
		t.Errorf("got %d open, %d of %d attempts closed, %d dials failed; want %d open", opened(), closed.Load(), attempts, failed.Load(), maxConns)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	kit.Eventually(t, time.Minute, func() (bool, string) {
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		l.mu.Lock()
		defer l.mu.Unlock()
		held := l.open.Held(attacker)
		return held == 0 && grown < 8<<20, fmt.Sprintf("%d connections are counted, the heap grew by %d bytes", held, grown)
	})
}

// Idle connections and requests that arrive byte by byte, in header or body, are closed at a deadline that received
// bytes do not extend. Other requests succeed at the same time.
func TestSlowRequestsAreClosedAtDeadline(t *testing.T) {
	t.Parallel()
	const timeout = 400 * time.Millisecond
	s := openWith(t, 1000, nil, func(f *HTTPServer) { f.server.ReadTimeout = timeout })
	for name, begin := range map[string]string{
		"no bytes":    "",
		"slow header": "GET /api/v1/time HTTP/1.1\r\nHost: shop\r\nX-Slow: ",
		"slow body":   "POST /api/v1/auth/guest HTTP/1.1\r\nHost: shop\r\nContent-Length: 10000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := s.dialFrom("127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			began := time.Now()
			_, err = io.WriteString(conn, begin)
			if begin != "" {
				go func() { // until the server closes the connection
					for err := error(nil); err == nil; _, err = io.WriteString(conn, "a") {
						time.Sleep(timeout / 20)
					}
				}()
			}
			_ = conn.SetReadDeadline(began.Add(time.Minute)) // longer than the duration of the slow requests
			reply, readErr := io.ReadAll(conn)
			if err != nil || errors.Is(readErr, os.ErrDeadlineExceeded) {
				t.Errorf("after %v: got write error %v and read error %v, want a closed connection", time.Since(began), err, readErr)
			}
			if len(reply) > 0 && !strings.HasPrefix(string(reply), "HTTP/1.1 408") {
				t.Errorf("got %.60q, want 408", reply)
			}
			s.want(s.request("GET", "/api/v1/time", ""), 200, "now")
		})
	}
}

// Clients cannot forge their address with a header. From a trusted proxy, X-Real-IP is used. Without X-Real-IP, the
// address that the proxy has appended to X-Forwarded-For is used.
func TestForgedForwardingHeadersAreIgnored(t *testing.T) {
	t.Parallel()
	newAdmit := func() func(limits.Class, shop.ID, netip.Addr) error {
		pace := limits.Pace{Rate: 1, Period: time.Hour, Burst: 1}
		return limits.NewLimiter(limits.Classes{limits.Auth: {Addr: pace}}, nil).Take
	}
	forge := func(n int) []string {
		ip := fmt.Sprintf("198.51.100.%d", n)
		return []string{
			"X-Forwarded-For", ip + ", 127.0.0.1", "Forwarded", "for=" + ip, "True-Client-IP", ip, "CF-Connecting-IP", ip,
			"X-Client-IP", ip, "X_Real_IP", ip, "X-Real_IP", ip, "X-Real-IP-", ip,
		}
	}
	direct := open(t, func(o *Options) { o.Admit = newAdmit() })
	direct.want(direct.request("POST", "/api/v1/auth/guest", ""), 200, "access")
	for n := range 5 {
		headers := append(forge(n), "X-Real-IP", fmt.Sprintf("198.51.100.%d", n))
		direct.want(direct.request("POST", "/api/v1/auth/guest", "", headers...), 429, "rate_limited")
	}
	proxied := open(t, func(o *Options) { o.Admit, o.Proxies = newAdmit(), loopback })
	proxied.want(proxied.request("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.8"), 200, "access")
	for n := range 5 {
		headers := append(forge(n), "X-Real-IP", "192.0.2.8")
		proxied.want(proxied.request("POST", "/api/v1/auth/guest", "", headers...), 429, "rate_limited")
	}
	proxied.want(proxied.request("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.9"), 200, "access")
	for client, code := range map[string]int{"192.0.2.10": 200, "192.0.2.9": 429, "2001:db8::9": 200, "unknown": 200} {
		for n := range 5 {
			header := fmt.Sprintf("198.51.100.%d, %s, 127.0.0.1", n, client)
			res := proxied.request("POST", "/api/v1/auth/guest", "", "X-Forwarded-For", header)
			if res.code != code {
				t.Errorf("X-Forwarded-For %s: got %d, want %d", header, res.code, code)
			}
			code = 429
		}
	}
}
