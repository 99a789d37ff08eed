package webhook

import (
	"compress/gzip"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/shop"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

func newReceiver(t *testing.T, status int) (*Sender, *[]*http.Request, *[][]byte) {
	t.Helper()
	var requests []*http.Request
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests, bodies = append(requests, r), append(bodies, body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	s := New(server.URL+"/hook", secret)
	t.Cleanup(s.Close)
	return s, &requests, &bodies
}

// A delivery is signed over timestamp and body, and identified by order and rev.
func TestDeliveryIsSigned(t *testing.T) {
	t.Parallel()
	s, requests, bodies := newReceiver(t, http.StatusNoContent)
	s.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	p := outbox.Message{
		Order: 7301444480512000257, Rev: 4, State: shop.Refunded, Sale: 5, User: 6, AmountFen: 9800,
	}
	if err := s.Deliver(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r, body := (*requests)[0], (*bodies)[0]
	var got outbox.Message
	if err := json.Unmarshal(body, &got); err != nil || got != p {
		t.Errorf("got the body %s, %v; want %+v", body, err, p)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Stampede-Delivery": "7301444480512000257-4",
		"Stampede-Timestamp": "1800000000",
		"Stampede-Signature": Sign(secret, "1800000000", body),
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPost || r.URL.Path != "/hook" {
		t.Errorf("got %s %s, want POST /hook", r.Method, r.URL)
	}
}

// The signature is the HMAC of RFC 2104 over timestamp, "." and body: receivers in other languages depend on it.
func TestSignatureIsStable(t *testing.T) {
	t.Parallel()
	const want = "v1=0726dedcd7fddd05eca3b4cfff0b915d4a6469b4019322ce9703ab6ea6c63959"
	got := Sign([]byte("secret"), "1800000000", []byte(`{"order":"1"}`))
	if !hmac.Equal([]byte(got), []byte(want)) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Most 4xx reject this order. 401, 403 and 429 pause the delivery. All other codes except 2xx are retried.
func TestStatusCodeDeterminesTheOutcome(t *testing.T) {
	t.Parallel()
	const rejected, pause, retry = "rejected", "pause", "retry"
	for status, want := range map[int]string{
		400: rejected, 404: rejected, 409: rejected, 410: rejected, 413: rejected, 422: rejected,
		401: pause, 403: pause, 429: pause, 408: retry, 425: retry, 301: retry, 500: retry, 502: retry, 503: retry,
	} {
		s, requests, _ := newReceiver(t, status)
		err := s.Deliver(t.Context(), outbox.Message{Order: 1, Rev: 2})
		var paused *outbox.PauseError
		got := retry
		switch {
		case errors.Is(err, outbox.ErrRejected):
			got = rejected
		case errors.As(err, &paused):
			got = pause
		}
		if err == nil || got != want {
			t.Errorf("status %d: got %q (%v), want %q", status, got, err, want)
		}
		if len(*requests) != 1 {
			t.Errorf("status %d: got %d requests, want 1", status, len(*requests))
		}
	}
	s := New("http://127.0.0.1:1/", secret)
	if err := s.Deliver(t.Context(), outbox.Message{Order: 1, Rev: 2}); err == nil ||
		errors.Is(err, outbox.ErrRejected) {
		t.Errorf("an unreachable receiver: got %v, want an error without rejection", err)
	}
}

// The sender obeys both forms of Retry-After.
func TestRetryAfterSetsThePause(t *testing.T) {
	t.Parallel()
	s := New("http://127.0.0.1:1/", secret)
	s.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	for header, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "Fri, 15 Jan 2027 08:01:30 GMT": 90 * time.Second, "Fri, 15 Jan 2027 07:00:00 GMT": 0,
	} {
		for _, status := range []int{429, 503} {
			err := s.outcome(1, &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {header}}})
			var paused *outbox.PauseError
			if !errors.As(err, &paused) || paused.After != want {
				t.Errorf("status %d, Retry-After %s: got %v, want a pause of %v", status, header, err, want)
			}
		}
	}
	for _, header := range []string{"", "soon", "-1", "99999999999999999999"} {
		if after, ok := s.retryAfter(header); ok {
			t.Errorf("Retry-After %q: got %v, want no pause", header, after)
		}
	}
}

// The limit of the response body applies to decompressed bytes. The test is not parallel, because it measures
// allocations of the whole process.
func TestResponseIsLimitedAfterDecompression(t *testing.T) {
	aborted := make(chan bool, 1)
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packer, zeros := gzip.NewWriter(w), make([]byte, 1<<20)
		for range 4096 { // 4 GB
			if _, err := packer.Write(zeros); err != nil {
				aborted <- true
				return
			}
		}
		aborted <- false
	}))
	t.Cleanup(bomb.Close)
	s := New(bomb.URL, secret)
	t.Cleanup(s.Close)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := s.Deliver(t.Context(), outbox.Message{Order: 1, Rev: 2})
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; err != nil || spent > 16<<20 || !<-aborted {
		t.Errorf("got %d bytes allocated, %v; want at most 16 MiB and an unread rest of the response", spent, err)
	}
}
