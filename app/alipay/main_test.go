package alipay_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"stampede/app/alipay"
	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listDelay is how long after a change the gateway lists it.
const listDelay = 5 * time.Minute

// sharedKeys are created once, because key generation is slow.
var sharedKeys = sync.OnceValues(sim.NewKeys)

// testSetup contains the adapter, a simulator of the gateway, and a server that receives notifications.
type testSetup struct {
	*alipay.Alipay
	sim     *sim.Simulator
	options alipay.Options
	client  *http.Client

	ahead atomic.Int64 // the gateway's clock is ahead by this time, in nanoseconds

	mu       sync.Mutex
	received []url.Values
	reply    string // sent for each notification
}

func newTestSetup(t testing.TB, change func(*alipay.Options)) *testSetup {
	t.Helper()
	keys, err := sharedKeys()
	kit.Must(t, err)
	c := &testSetup{reply: "success", client: &http.Client{}}
	c.sim, err = sim.New(sim.Options{
		Keys: keys, Schedule: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond},
		Now: func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }, ListDelay: listDelay,
	})
	kit.Must(t, err)
	notifyServer := httptest.NewServer(http.HandlerFunc(c.receive))
	gateway := httptest.NewServer(c.sim)
	private, public, err := keys.PEM()
	kit.Must(t, err)
	c.options = alipay.Options{
		Gateway: gateway.URL + "/gateway.do", AppID: keys.AppID, SellerID: keys.SellerID,
		PrivateKey: private, PublicKey: public, NotifyURL: notifyServer.URL, ReturnURL: "http://shop.example/?back",
	}
	if change != nil {
		change(&c.options)
	}
	if c.Alipay, err = alipay.New(c.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.CloseIdle()
		c.client.CloseIdleConnections()
		c.sim.Close()
		gateway.Close()
		notifyServer.Close()
	})
	return c
}

func (s *testSetup) receive(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, r.PostForm)
	_, _ = w.Write([]byte(s.reply))
}

// notifications waits for at least n notifications and returns all that have arrived.
func (s *testSetup) notifications(t testing.TB, n int) []url.Values {
	t.Helper()
	var received []url.Values
	kit.Eventually(t, time.Minute, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		received = append([]url.Values(nil), s.received...)
		return len(received) >= n, "notifications are missing"
	})
	return received
}

func (s *testSetup) inject(t *testing.T, faults ...sim.Fault) {
	t.Helper()
	for _, f := range faults {
		kit.Must(t, errOf(s.sim.Inject(f)))
	}
}

// pay opens a payment and opens the cashier page as the buyer.
func (s *testSetup) pay(t *testing.T, order shop.ID, via payment.PayVia) {
	t.Helper()
	p, err := s.Pay(t.Context(), request(order, via))
	kit.Must(t, err)
	if via == payment.ViaQR {
		response, err := s.client.Get(p.QR)
		kit.Must(t, err)
		_ = response.Body.Close()
		return
	}
	if got, err := s.sim.Open(p.URL + p.OrderString); err != nil || got != order.String() {
		t.Fatalf("open the payment page %+v: got the order %q, %v, want %v", p, got, err, order)
	}
}

func request(order shop.ID, via payment.PayVia) payment.PayRequest {
	return payment.PayRequest{
		Order: order, Via: via, AmountFen: 19801, Subject: "电饭煲 2/3 & more", Mark: markOf(order),
		ExpiresAt: shop.MillisOf(time.Now().Add(time.Hour)),
	}
}

func markOf(order shop.ID) payment.Mark {
	return payment.Mark{Shop: "5f3a09c181be22d0", Sale: order + 1000, User: order + 2000, Qty: 2}
}

func (s *testSetup) query(t *testing.T, order shop.ID) payment.Trade {
	t.Helper()
	trade, err := s.Query(t.Context(), order)
	kit.Must(t, err)
	return trade
}

func errOf[T any](_ T, err error) error { return err }
