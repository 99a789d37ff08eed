package alipay

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/shop"
)

// counted returns the same reply to every call and counts the calls.
type counted struct {
	says
	calls int
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls++
	return c.says.RoundTrip(r)
}

// P8: a certificate named in a message is never fetched, even at the production address, where the library would fetch
// it.
func TestUnknownCertificateIsNotFetched(t *testing.T) {
	t.Parallel()
	keys, err := sim.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := keys.PEM()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Options{Gateway: Production, AppID: keys.AppID, PrivateKey: private, PublicKey: public})
	if err != nil {
		t.Fatal(err)
	}
	wire := &counted{
		says: says(`{"alipay_trade_query_response":{"code":"10000"},"alipay_cert_sn":"5e1f0f6c","sign":"YQ=="}`),
	}
	a.client.Client = &http.Client{Transport: wire}
	var out struct{ head }
	if err := a.call(t.Context(), alipay.TradeQuery{OutTradeNo: "1"}, &out); !errors.Is(err, shop.ErrTransient) ||
		wire.calls != 1 {
		t.Errorf("a reply: %v after %d calls, want unknown after one", err, wire.calls)
	}
	form := url.Values{"app_id": {keys.AppID}, "sign_type": {"RSA2"}, "sign": {"YQ=="}, "alipay_cert_sn": {"5e1f0f6c"}}
	if _, err := a.Notified(form); !errors.Is(err, payment.ErrForged) || wire.calls != 1 {
		t.Errorf("a notification: %v after %d calls, want forged and no call", err, wire.calls-1)
	}
}
