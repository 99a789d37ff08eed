package sim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"stampede/app/alipay/rsa2"
	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sharedKeys = sync.OnceValues(NewKeys)

// merchant is the shop's side of the protocol, with a simulator and a mailbox for notifications.
type merchant struct {
	*Simulator
	t      *testing.T
	server *httptest.Server
	client *http.Client

	mu           sync.Mutex
	received     []url.Values
	failuresLeft int // number of further notifications that get the reply failure
	mailbox      *httptest.Server
}

func newShop(t *testing.T, o Options) *merchant {
	t.Helper()
	keys, err := sharedKeys()
	if err != nil {
		t.Fatal(err)
	}
	o.Keys = keys
	if o.Schedule == nil {
		o.Schedule = []time.Duration{time.Millisecond, time.Millisecond}
	}
	sim, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &merchant{Simulator: sim, t: t, server: httptest.NewServer(sim), client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s.mailbox = httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(func() {
		sim.Close()
		s.client.CloseIdleConnections()
		s.server.Close()
		s.mailbox.Close()
	})
	return s
}

func (s *merchant) receive(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, r.PostForm)
	reply := "success"
	if s.failuresLeft > 0 {
		s.failuresLeft--
		reply = "failure"
	}
	_, _ = w.Write([]byte(reply))
}

// states waits for n notifications and returns their states in order of arrival.
func (s *merchant) states(n int) []string {
	s.t.Helper()
	var states []string
	kit.Eventually(s.t, time.Minute, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		states = nil
		for _, form := range s.received {
			states = append(states, form.Get("trade_status"))
		}
		return len(states) >= n, strings.Join(states, " ")
	})
	return states
}

// sign returns the signed fields of a call.
func (s *merchant) sign(method string, content map[string]string) url.Values {
	s.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		s.t.Fatal(err)
	}
	v := url.Values{
		"app_id": {s.keys.AppID}, "method": {method}, "charset": {"utf-8"}, "sign_type": {"RSA2"}, "version": {"1.0"},
		"timestamp": {s.now().In(s.zone).Format(timeFormat)}, "biz_content": {string(text)},
		"notify_url": {s.mailbox.URL}, "return_url": {"http://shop.example/back?a=1"},
	}
	if err := rsa2.SignRequest(s.keys.App, v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// order returns the content of a new trade that expires in an hour.
func (s *merchant) order(number string) map[string]string {
	return map[string]string{
		"out_trade_no": number, "total_amount": "12.34", "subject": "<Kettle> & more",
		"time_expire": s.now().Add(time.Hour).In(s.zone).Format(timeFormat),
	}
}

// open opens the cashier as the buyer and returns its path.
func (s *merchant) open(number string) string {
	s.t.Helper()
	response := s.get("/gateway.do?" + s.sign("alipay.trade.page.pay", s.order(number)).Encode())
	path := response.Header.Get("Location")
	if response.StatusCode != http.StatusSeeOther || !strings.HasPrefix(path, "/cashier/") {
		s.t.Fatalf("open: got %d %s, want a redirect to the cashier", response.StatusCode, path)
	}
	return path
}

func (s *merchant) get(path string) *http.Response {
	s.t.Helper()
	return s.closeBody(s.client.Get(s.server.URL + path))
}

func (s *merchant) post(path, kind, body string) *http.Response {
	s.t.Helper()
	return s.closeBody(s.client.Post(s.server.URL+path, kind, strings.NewReader(body)))
}

// closeBody closes the body of the response when the test ends.
func (s *merchant) closeBody(response *http.Response, err error) *http.Response {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}
