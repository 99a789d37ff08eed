package api

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/limits"
	"stampede/app/payment"
	"stampede/app/test/kit"
)

const notifyPath = "/api/v1/payments/alipay/notify"

// The reply to the gateway is exactly success or failure, and the service receives the fields as sent.
func TestNotifyRepliesSuccessOrFailure(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[url.Values]
	s := open(t, func(o *Options) {
		o.HandleNotification = func(_ context.Context, form url.Values) error {
			got.Store(&form)
			switch form.Get("what") {
			case "forged":
				return payment.ErrForged
			case "database":
				return errors.New("the database is unreachable")
			}
			return nil
		}
	})
	for body, want := range map[string]string{
		"what=good&subject=%E6%B0%B4+%26%3D%2B": "success",
		"what=forged":                           "failure",
		"what=database":                         "failure",
		"what=%zz":                              "failure",
		"":                                      "success", // the service receives an empty form
	} {
		if a := s.request("POST", notifyPath, body, "Content-Type", "application/x-www-form-urlencoded"); a.code != 200 ||
			a.body != want {
			t.Errorf("%q: got %d %q, want %s", body, a.code, a.body, want)
		}
		// The service receives no unreadable body. The bodies are sent in random order.
		if form := got.Load(); form != nil && form.Get("what") == "good" && form.Get("subject") != "水 &=+" {
			t.Errorf("got the fields %v, want the decoded subject", form)
		}
	}
	s.want(s.request("GET", notifyPath, ""), 404, "not_found")
}

func TestNotifyWithoutGatewayIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.want(s.request("POST", notifyPath, "a=1"), 404, "not_found")
}

// newNotifications returns a handler that accepts valid notifications; verified counts the verifications.
func newNotifications(verified *atomic.Int64) *notificationHandler {
	return newNotificationHandler(func(_ context.Context, form url.Values) error {
		verified.Add(1)
		if form.Has("good") {
			return nil
		}
		return payment.ErrForged
	}, NewMetrics())
}

// Only a few notifications of an address with many forgeries are verified; other addresses are not affected.
func TestForgedNotificationsAreLimited(t *testing.T) {
	t.Parallel()
	var verified atomic.Int64
	a := newNotifications(&verified)
	began := time.Now()
	for range 10 * (forgeriesPerMinute + suspectsPerSecond) {
		a.process("192.0.2.1", "bad=1")
	}
	took := time.Since(began) // determines the maximum number of verifications
	limit := forgeriesPerMinute*(1+took.Minutes()) + suspectsPerSecond*(1+took.Seconds())
	if n := verified.Load(); n < forgeriesPerMinute || float64(n) > limit {
		t.Errorf("got %d verified forgeries within %v, want %d to %.1f", n, took, forgeriesPerMinute, limit)
	}
	if got := a.process("192.0.2.2", "good=1"); got != replySuccess {
		t.Errorf("another address: got %s, want %s", got, replySuccess)
	}
}

// Behind an untrusted proxy the gateway shares the forgers' address (P8): the notifications of the gateway are delayed,
// not lost.
func TestForgeriesDoNotBlockGateway(t *testing.T) {
	t.Parallel()
	var verified atomic.Int64
	a := newNotifications(&verified)
	// With the real rate, the address would no longer be suspect before the end of the test.
	a.forgeryLimiter = newLimiter(limits.Pace{Rate: 1, Period: 24 * time.Hour, Burst: forgeriesPerMinute})
	for range forgeriesPerMinute + suspectsPerSecond/2 {
		a.process("192.0.2.1", "bad=1")
	}
	if got := a.process("192.0.2.1", "good=1"); got != replySuccess {
		t.Errorf("after the forgeries of a minute and of half a second: got %s, want %s", got, replySuccess)
	}
	for range 10 * suspectsPerSecond {
		a.process("192.0.2.1", "bad=1")
	}
	kit.Eventually(t, time.Minute, func() (bool, string) { // rejected notifications are repeated
		got := a.process("192.0.2.1", "good=1")
		return got == replySuccess, got
	})
}

// At most maxNotifications notifications run concurrently.
func TestConcurrentNotificationsAreLimited(t *testing.T) {
	t.Parallel()
	a := newNotificationHandler(func(context.Context, url.Values) error { return nil }, NewMetrics())
	a.running = make(chan struct{}, 1)
	a.running <- struct{}{}
	if got := a.process("192.0.2.1", "a=1"); got != "rejected" {
		t.Errorf("while another notification runs: got %s, want turned_away", got)
	}
	<-a.running
	if got := a.process("192.0.2.1", "a=1"); got != replySuccess {
		t.Errorf("a single notification: got %s, want %s", got, replySuccess)
	}
}
