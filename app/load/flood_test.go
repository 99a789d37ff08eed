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

// floodOf returns a flood of forged notifications. The flood and the server end with the test.
func floodOf(t *testing.T, server *httptest.Server, rate float64, lasts time.Duration) *flood {
	t.Helper()
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	to, err := newTarget(address, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	request := forgery(address, "1", "2")
	f, err := newFlood(to, func(int) []byte { return request }, rate, lasts)
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

// TestFloodTellsAnswersApart: only a wrong response of the server fails the run. The flood is complete and uses enough
// source addresses to stay below the rate limit.
func TestFloodTellsAnswersApart(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]struct {
		status int
		word   string
		fails  string
	}{
		"rejected":   {http.StatusOK, "failure", ""},
		"accepted":   {http.StatusOK, "success", "were accepted"},
		"no gateway": {http.StatusNotFound, "Not Found", "has no gateway"},
		"something":  {http.StatusBadGateway, "oh", `got "502 oh"`},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			const enough = 200 // notifications until the flood ends
			var mu sync.Mutex
			from, came, stop := make(map[string]int), 0, make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				form, err := url.ParseQuery(string(body))
				if err != nil || form.Get("app_id") != "1" || form.Get("seller_id") != "2" ||
					form.Has("alipay_cert_sn") {
					t.Errorf("%s: %v", body, err)
				}
				host, _, _ := strings.Cut(req.RemoteAddr, ":")
				mu.Lock()
				from[host]++
				if came++; came == enough {
					close(stop)
				}
				mu.Unlock()
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.word)
			}))
			f := floodOf(t, server, forgedRate, enough*time.Second/forgedRate)
			if _, err := f.run(t.Context(), stop); err != nil {
				t.Fatal(err)
			}
			// The real duration depends on the load of this machine. The flood is checked with the planned duration,
			// and then with twice that duration, which must fail.
			var r, slow Result
			asked := time.Duration(float64(f.sent) / forgedRate * float64(time.Second))
			r.flooded(f, forgedRate, asked)
			r.forgeries(f, asked.Seconds())
			if slow.flooded(f, forgedRate, 2*asked); !slices.ContainsFunc(slow.Failures,
				func(s string) bool { return strings.Contains(s, "the flood was too small") }) {
				t.Errorf("half of the requests count as a flood: %q", slow.Failures)
			}
			published := slices.ContainsFunc(r.Failures, func(s string) bool { return strings.Contains(s, c.fails) })
			if published != (c.fails != "") || len(r.Failures) > 1 {
				t.Errorf("failures: %q", r.Failures)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := enough / perAddress; len(from) != want {
				t.Errorf("%d notifications from %v, want them from %d addresses", f.sent, from, want)
			}
		})
	}
}

// TestNoFloodIsNoFigure: a flood with too few requests, missing responses or lost connections fails the run.
func TestNoFloodIsNoFigure(t *testing.T) {
	t.Parallel()
	for says, f := range map[string]*flood{
		"89 %":       {sent: 1780, answers: map[string]int{disbelieved: 1780}},
		"unanswered": {sent: 2000, waiting: 1, answers: map[string]int{disbelieved: 1999}},
		"lost":       {sent: 2000, answers: map[string]int{disbelieved: 2000}, losses: map[string]int{"read: reset": 1}},
	} {
		var r Result
		if r.flooded(f, 1000, 2*time.Second); len(r.Failures) != 1 {
			t.Errorf("%s: failures %q", says, r.Failures)
		}
	}
	var r Result
	enough := &flood{sent: 1800, answers: map[string]int{disbelieved: 1800}}
	if r.flooded(enough, 1000, 2*time.Second); len(r.Failures) != 0 {
		t.Errorf("nine tenths of the requests: %q", r.Failures)
	}
}

// TestFloodIsHeardOut: run waits for slow sequential responses without a total limit, and stops when the server falls
// silent.
func TestFloodIsHeardOut(t *testing.T) {
	t.Parallel()
	const (
		many   = 30
		pause  = 250 * time.Millisecond // far shorter than silent: a response may be late on a busy machine
		silent = 5 * time.Second        // shorter than the time of all responses together
	)
	for says, c := range map[string]struct{ answers, waiting int }{
		"slow":   {many, 0},
		"silent": {many / 2, many / 2},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			answered := make(chan int, 1) // responses so far; the handler that holds it sends the next one
			answered <- 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				select {
				case n := <-answered:
					if n == c.answers {
						<-gone
						return
					}
					time.Sleep(pause)
					answered <- n + 1
				case <-gone:
				}
				_, _ = io.WriteString(w, "failure")
			}))
			defer close(gone)
			f := floodOf(t, server, 1000, many*time.Millisecond)
			f.silent = silent
			sendAndReceive(t, f, many)
			if f.waiting != c.waiting || f.answers[disbelieved] != c.answers {
				t.Errorf("of %d requests, %v got a response and %d did not, want %d and %d", f.sent, f.answers, f.waiting, c.answers, c.waiting)
			}
		})
	}
}

// TestWhoIsAnsweredHangsUp: a server that closes idle connections causes no loss while the flood waits for the last
// responses. A connection closed before its response is a loss.
func TestWhoIsAnsweredHangsUp(t *testing.T) {
	t.Parallel()
	const idle = 50 * time.Millisecond
	for says, c := range map[string]struct {
		last   http.HandlerFunc // handles the last request
		losses int
	}{
		"idle": {func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(20 * idle)
			_, _ = io.WriteString(w, "failure")
		}, 0},
		"unanswered": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if came.Add(1) == 2 {
					c.last(w, req)
					return
				}
				_, _ = io.WriteString(w, "failure")
			}))
			server.Config.IdleTimeout = idle
			server.Start()
			f := floodOf(t, server, 2*perConnection, time.Second)
			sendAndReceive(t, f, len(f.open))
			if len(f.losses) != c.losses || f.answers[disbelieved] != f.sent-c.losses {
				t.Errorf("of %d requests %v got a response, lost %v", f.sent, f.answers, f.losses)
			}
		})
	}
}

// TestAnswersInPieces: cutAnswer parses responses correctly for every split of the data.
func TestAnswersInPieces(t *testing.T) {
	t.Parallel()
	const whole = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nfailure"
	for i := range whole {
		if _, rest, ok, err := cutAnswer([]byte(whole[:i])); ok || err != nil || len(rest) != i {
			t.Fatalf("%d bytes: %v, %v, %d left", i, ok, err, len(rest))
		}
	}
	answer, rest, ok, err := cutAnswer([]byte(whole + whole[:9]))
	if answer != disbelieved || string(rest) != whole[:9] || !ok || err != nil {
		t.Errorf("%q, %q, %v, %v", answer, rest, ok, err)
	}
	if _, _, _, err := cutAnswer([]byte("HTTP/1.1 200 OK\r\n\r\nfailure")); err == nil {
		t.Error("a response without a length was accepted")
	}
}
