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

func (m *merchant) receive(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received = append(m.received, r.PostForm)
	reply := "success"
	if m.failuresLeft > 0 {
		m.failuresLeft--
		reply = "failure"
	}
	_, _ = w.Write([]byte(reply))
}

// states waits for n notifications and returns their states in order of arrival.
func (m *merchant) states(n int) []string {
	m.t.Helper()
	var states []string
	kit.Eventually(m.t, time.Minute, func() (bool, string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		states = nil
		for _, form := range m.received {
			states = append(states, form.Get("trade_status"))
		}
		return len(states) >= n, strings.Join(states, " ")
	})
	return states
}

// sign returns the signed fields of a call.
func (m *merchant) sign(method string, content map[string]string) url.Values {
	m.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		m.t.Fatal(err)
	}
	v := url.Values{
		"app_id": {m.keys.AppID}, "method": {method}, "charset": {"utf-8"}, "sign_type": {"RSA2"}, "version": {"1.0"},
		"timestamp": {m.now().In(m.zone).Format(timeFormat)}, "biz_content": {string(text)},
		"notify_url": {m.mailbox.URL}, "return_url": {"http://shop.example/back?a=1"},
	}
	if err := rsa2.SignRequest(m.keys.App, v); err != nil {
		m.t.Fatal(err)
	}
	return v
}

// order returns the content of a new trade that expires in an hour.
func (m *merchant) order(number string) map[string]string {
	return map[string]string{
		"out_trade_no": number, "total_amount": "12.34", "subject": "<Kettle> & more",
		"time_expire": m.now().Add(time.Hour).In(m.zone).Format(timeFormat),
	}
}

// open opens the cashier as the buyer and returns its path.
func (m *merchant) open(number string) string {
	m.t.Helper()
	response := m.get("/gateway.do?" + m.sign("alipay.trade.page.pay", m.order(number)).Encode())
	path := response.Header.Get("Location")
	if response.StatusCode != http.StatusSeeOther || !strings.HasPrefix(path, "/cashier/") {
		m.t.Fatalf("open: got %d %s, want a redirect to the cashier", response.StatusCode, path)
	}
	return path
}

func (m *merchant) get(path string) *http.Response {
	m.t.Helper()
	return m.closeBody(m.client.Get(m.server.URL + path))
}

func (m *merchant) post(path, kind, body string) *http.Response {
	m.t.Helper()
	return m.closeBody(m.client.Post(m.server.URL+path, kind, strings.NewReader(body)))
}

// closeBody closes the body of the response when the test ends.
func (m *merchant) closeBody(response *http.Response, err error) *http.Response {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}
