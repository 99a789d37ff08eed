package alipay_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
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

// sharedKeys are created once, because key generation is slow.
var sharedKeys = sync.OnceValues(sim.NewKeys)

// testSetup contains the adapter, a simulator of the gateway, and a server that receives notifications.
type testSetup struct {
	*alipay.Alipay
	sim     *sim.Simulator
	options alipay.Options
	client  *http.Client

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

func (c *testSetup) receive(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, r.PostForm)
	_, _ = w.Write([]byte(c.reply))
}

// notifications waits for at least n notifications and returns all that have arrived.
func (c *testSetup) notifications(t testing.TB, n int) []url.Values {
	t.Helper()
	var received []url.Values
	kit.Eventually(t, time.Minute, func() (bool, string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		received = append([]url.Values(nil), c.received...)
		return len(received) >= n, "notifications are missing"
	})
	return received
}

func (c *testSetup) inject(t *testing.T, faults ...sim.Fault) {
	t.Helper()
	for _, f := range faults {
		kit.Must(t, errOf(c.sim.Inject(f)))
	}
}

// pay opens a payment and opens the cashier page as the buyer.
func (c *testSetup) pay(t *testing.T, order shop.ID, via payment.PayVia) {
	t.Helper()
	p, err := c.Pay(t.Context(), request(order, via))
	kit.Must(t, err)
	if via == payment.ViaQR {
		response, err := c.client.Get(p.QR)
		kit.Must(t, err)
		_ = response.Body.Close()
		return
	}
	if got, err := c.sim.Open(p.URL + p.OrderString); err != nil || got != order.String() {
		t.Fatalf("open the payment page %+v: got the order %q, %v, want %v", p, got, err, order)
	}
}

func request(order shop.ID, via payment.PayVia) payment.PayRequest {
	return payment.PayRequest{
		Order: order, Via: via, AmountFen: 19801, Subject: "电饭煲 2/3 & more",
		ExpiresAt: shop.MillisOf(time.Now().Add(time.Hour)),
	}
}

func (c *testSetup) query(t *testing.T, order shop.ID) payment.Trade {
	t.Helper()
	trade, err := c.Query(t.Context(), order)
	kit.Must(t, err)
	return trade
}

func errOf[T any](_ T, err error) error { return err }
