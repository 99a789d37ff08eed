package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// newTestFlood returns a flood of forged notifications. The flood and the server end with the test.
func newTestFlood(t *testing.T, server *httptest.Server, rate float64, length time.Duration) *flood {
	t.Helper()
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	to, err := newTarget(address, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	request := forgedNotification(address, "1", "2")
	f, err := newFlood(to, func(int) []byte { return request }, rate, length)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

func sendAndReceive(t *testing.T, f *flood, n int) {
	t.Helper()
	for range n {
		if err := f.send(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFloodFailsOnlyOnWrongResponses: only a wrong response of the server fails the run. The flood is complete and uses
// enough source addresses to stay below the rate limit.
func TestFloodFailsOnlyOnWrongResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		fails  string
	}{
		"rejected":   {http.StatusOK, "failure", ""},
		"accepted":   {http.StatusOK, "success", "were accepted"},
		"no gateway": {http.StatusNotFound, "Not Found", "has no gateway"},
		"bad status": {http.StatusBadGateway, "oh", `got "502 oh"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const enough = 200 // notifications until the flood ends
			var mu sync.Mutex
			from, received, stop := make(map[string]int), 0, make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				form, err := url.ParseQuery(string(body))
				if err != nil || form.Get("app_id") != "1" || form.Get("seller_id") != "2" ||
					form.Has("alipay_cert_sn") {
					t.Errorf("got the notification %s, error %v; want app_id 1 and seller_id 2", body, err)
				}
				host, _, _ := strings.Cut(req.RemoteAddr, ":")
				mu.Lock()
				from[host]++
				if received++; received == enough {
					close(stop)
				}
				mu.Unlock()
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			f := newTestFlood(t, server, forgedRate, enough*time.Second/forgedRate)
			if _, err := f.run(t.Context(), stop); err != nil {
				t.Fatal(err)
			}
			// The real duration depends on the load of this machine. The flood is checked with the planned duration,
			// and then with twice that duration, which must fail.
			var r, slow Result
			planned := time.Duration(float64(f.sent) / forgedRate * float64(time.Second))
			r.checkFlood(f, forgedRate, planned)
			r.recordForged(f, planned.Seconds())
			if slow.checkFlood(f, forgedRate, 2*planned); !slices.ContainsFunc(slow.Failures,
				func(s string) bool { return strings.Contains(s, "the flood was too small") }) {
				t.Errorf("half of the requests: got failures %q, want that the flood was too small", slow.Failures)
			}
			matched := slices.ContainsFunc(r.Failures, func(s string) bool { return strings.Contains(s, c.fails) })
			if matched != (c.fails != "") || len(r.Failures) > 1 {
				t.Errorf("got failures %q, want at most one, with %q", r.Failures, c.fails)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := enough / perAddress; len(from) != want {
				t.Errorf("got %d notifications from the addresses %v, want %d addresses", f.sent, from, want)
			}
		})
	}
}

// TestIncompleteFloodFailsTheRun: a flood with too few requests, missing responses or lost connections fails the run.
func TestIncompleteFloodFailsTheRun(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*flood{
		"89 % of the requests": {sent: 1780, responses: map[string]int{rejectedResponse: 1780}},
		"a missing response":   {sent: 2000, waiting: 1, responses: map[string]int{rejectedResponse: 1999}},
		"a lost connection":    {sent: 2000, responses: map[string]int{rejectedResponse: 2000}, losses: map[string]int{"read: reset": 1}},
	} {
		var r Result
		if r.checkFlood(f, 1000, 2*time.Second); len(r.Failures) != 1 {
			t.Errorf("%s: got failures %q, want one", name, r.Failures)
		}
	}
	var r Result
	enough := &flood{sent: 1800, responses: map[string]int{rejectedResponse: 1800}}
	if r.checkFlood(enough, 1000, 2*time.Second); len(r.Failures) != 0 {
		t.Errorf("nine tenths of the requests: got failures %q, want none", r.Failures)
	}
}

// TestFloodWaitsForSlowResponses: run waits for slow sequential responses without a total limit, and stops when the
// server falls silent.
func TestFloodWaitsForSlowResponses(t *testing.T) {
	t.Parallel()
	const (
		many   = 30
		pause  = 250 * time.Millisecond // far shorter than silent: a response may be late on a busy machine
		silent = 5 * time.Second        // shorter than the time of all responses together
	)
	for name, c := range map[string]struct{ responses, waiting int }{
		"slow":   {many, 0},
		"silent": {many / 2, many / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopped := make(chan struct{})
			responseCount := make(chan int,
				1) // responses so far; the handler that has received it sends the next response
			responseCount <- 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				select {
				case n := <-responseCount:
					if n == c.responses {
						<-stopped
						return
					}
					time.Sleep(pause)
					responseCount <- n + 1
				case <-stopped:
				}
				_, _ = io.WriteString(w, "failure")
			}))
			defer close(stopped)
			f := newTestFlood(t, server, 1000, many*time.Millisecond)
			f.silenceLimit = silent
			sendAndReceive(t, f, many)
			if f.waiting != c.waiting || f.responses[rejectedResponse] != c.responses {
				t.Errorf("of %d requests, %v got a response and %d did not, want %d and %d", f.sent, f.responses, f.waiting, c.responses, c.waiting)
			}
		})
	}
}

// TestOnlyConnectionsClosedBeforeResponseAreLost: a server that closes idle connections causes no loss while the flood
// waits for the last responses. A connection closed before its response is a loss.
func TestOnlyConnectionsClosedBeforeResponseAreLost(t *testing.T) {
	t.Parallel()
	const idle = 50 * time.Millisecond
	for name, c := range map[string]struct {
		last   http.HandlerFunc // handles the last request
		losses int
	}{
		"an idle connection": {func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(20 * idle)
			_, _ = io.WriteString(w, "failure")
		}, 0},
		"closed without a response": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var received atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if received.Add(1) == 2 {
					c.last(w, req)
					return
				}
				_, _ = io.WriteString(w, "failure")
			}))
			server.Config.IdleTimeout = idle
			server.Start()
			f := newTestFlood(t, server, 2*perConnection, time.Second)
			sendAndReceive(t, f, len(f.open))
			if len(f.losses) != c.losses || f.responses[rejectedResponse] != f.sent-c.losses {
				t.Errorf("of %d requests, %v got a response; got losses %v, want %d", f.sent, f.responses, f.losses, c.losses)
			}
		})
	}
}

// TestCutResponseWaitsForACompleteResponse: cutResponse parses responses correctly for every split of the data.
func TestCutResponseWaitsForACompleteResponse(t *testing.T) {
	t.Parallel()
	const complete = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nfailure"
	for i := range complete {
		if _, rest, ok, err := cutResponse([]byte(complete[:i])); ok || err != nil || len(rest) != i {
			t.Fatalf("%d bytes: got complete %v, error %v, %d remaining bytes", i, ok, err, len(rest))
		}
	}
	response, rest, ok, err := cutResponse([]byte(complete + complete[:9]))
	if response != rejectedResponse || string(rest) != complete[:9] || !ok || err != nil {
		t.Errorf("got response %q, rest %q, complete %v, error %v; want the first response and the rest", response, rest, ok, err)
	}
	if _, _, _, err := cutResponse([]byte("HTTP/1.1 200 OK\r\n\r\nfailure")); err == nil {
		t.Error("a response without a length was accepted")
	}
}
