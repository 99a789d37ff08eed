package api

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"stampede/app"
)

func TestLimiterRefills(t *testing.T) {
	t.Parallel()
	l := newLimiter(Pace{2, time.Second, 2})
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	for i, want := range []bool{true, true, false} {
		if err := l.take("192.0.2.1"); (err == nil) != want {
			t.Errorf("request %d: %v", i, err)
		}
	}
	var e *app.Error
	if err := l.take("192.0.2.1"); !errors.As(err, &e) || e.Code != app.RateLimited || e.RetryMS != 500 {
		t.Errorf("got %+v", e)
	}
	if err := l.take("192.0.2.2"); err != nil {
		t.Errorf("another address: %v", err)
	}
	now = now.Add(600 * time.Millisecond)
	if err := l.take("192.0.2.1"); err != nil {
		t.Errorf("after the refill: %v", err)
	}
	if err := l.take("::ffff:192.0.2.1"); err == nil {
		t.Error("the same address in another notation got its own bucket")
	}
}

// A burst and the rate after it are two figures.
func TestPaceAllowsABurst(t *testing.T) {
	t.Parallel()
	l := newLimiter(Pace{Rate: 60, Period: time.Minute, Burst: 300})
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	for i := range 300 {
		if err := l.take("192.0.2.1"); err != nil {
			t.Fatalf("request %d: %v", i+1, err)
		}
	}
	var e *app.Error
	if err := l.take("192.0.2.1"); !errors.As(err, &e) || e.RetryMS != 1000 {
		t.Errorf("after the burst: %+v", e)
	}
	for range 1000 { // who is refused owes nothing
		_ = l.take("192.0.2.1")
	}
	now = now.Add(time.Second)
	if err := l.take("192.0.2.1"); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestLimiterCountsNetworksOfIPv6(t *testing.T) {
	t.Parallel()
	l := newLimiter(Pace{1, time.Hour, 1})
	if err := l.take("2001:db8::1"); err != nil {
		t.Error(err)
	}
	if err := l.take("2001:db8::ffff"); err == nil {
		t.Error("two addresses of one /64 have two buckets")
	}
	if err := l.take("2001:db8:0:1::1"); err != nil {
		t.Error(err)
	}
}

func TestLimiterMemoryIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(Pace{1, time.Hour, 1})
	for i := range 3 * bucketsKept {
		_ = l.take(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
	}
	if len(l.buckets) > bucketsKept {
		t.Errorf("%d buckets", len(l.buckets))
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	l := newLimiter(Pace{})
	for range 1000 {
		if err := l.take("192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// TestRateLimitIsAnswered: by address, and X-Real-IP is believed from a trusted proxy only.
func TestRateLimitIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.Logins = Pace{1, time.Minute, 1} })
	s.want(s.ask("POST", "/api/v1/auth/guest", ""), 200, "access")
	s.want(s.ask("POST", "/api/v1/auth/guest", "", "X-Real-IP", "192.0.2.9"), 429, "rate_limited")

	behind := open(t, func(o *Options) { o.Logins, o.Proxies = Pace{1, time.Minute, 1}, loopback })
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
