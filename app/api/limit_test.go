package api

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"stampede/app/limits"
)

func TestLimiterCountsNetworksOfIPv6(t *testing.T) {
	t.Parallel()
	l := newLimiter(limits.Pace{Rate: 1, Period: time.Hour, Burst: 1})
	if err := l.take("2001:db8::1"); err != nil {
		t.Error(err)
	}
	if err := l.take("2001:db8::ffff"); err == nil {
		t.Error("two addresses of one /64 have two buckets")
	}
	if err := l.take("2001:db8:0:1::1"); err != nil {
		t.Error(err)
	}
	if err := l.take("192.0.2.1"); err != nil {
		t.Error(err)
	}
	if err := l.take("::ffff:192.0.2.1"); err == nil {
		t.Error("the same address in another notation got its own bucket")
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// TestRateLimitIsAnswered: by address, and X-Real-IP is believed from a trusted proxy only.
func TestRateLimitIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.Logins = limits.Pace{Rate: 1, Period: time.Minute, Burst: 1} })
	s.want(s.ask("POST", "/api/v1/auth/guest", ""), 200, "access")
	s.want(s.ask("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.9"), 429, "rate_limited")

	behind := open(t, func(o *Options) {
		o.Logins, o.Proxies = limits.Pace{Rate: 1, Period: time.Minute, Burst: 1}, loopback
	})
	behind.want(behind.ask("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.8"), 200, "access")
	behind.want(behind.ask("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.9"), 200, "access")
	behind.want(behind.ask("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.9"), 429, "rate_limited")
}

func TestLimitConns(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := LimitConns(inner, 2, nil, nil).(*limitedListener)
	accepted := make(chan net.Conn, 4)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	third := dial()
	_ = third.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := third.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("the third connection was not closed: %v", err)
	}
	_ = first.Close()
	_ = first.Close() // counts once
	dial()
	fourth := <-accepted
	_, _ = second.Close(), fourth.Close()
	_ = inner.Close()
	if _, more := <-accepted; more || len(l.open) != 0 {
		t.Errorf("still counted: %v", l.open)
	}
}
