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

// countingReply returns the same reply to every call and counts the calls.
type countingReply struct {
	fixedReply
	calls int
}

func (c *countingReply) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls++
	return c.fixedReply.RoundTrip(r)
}

// P8: a certificate named in a message is never fetched, even at the production address, where the library would fetch
// the certificate.
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
	transport := &countingReply{
		fixedReply: fixedReply(`{"alipay_trade_query_response":{"code":"10000"},"alipay_cert_sn":"5e1f0f6c","sign":"YQ=="}`),
	}
	a.client.Client = &http.Client{Transport: transport}
	var out struct{ head }
	if err := a.call(t.Context(), alipay.TradeQuery{OutTradeNo: "1"}, &out); !errors.Is(err, shop.ErrTransient) ||
		transport.calls != 1 {
		t.Errorf("a reply: got %v after %d calls, want a transient fault after 1", err, transport.calls)
	}
	form := url.Values{"app_id": {keys.AppID}, "sign_type": {"RSA2"}, "sign": {"YQ=="}, "alipay_cert_sn": {"5e1f0f6c"}}
	if _, err := a.VerifyNotification(form); !errors.Is(err, payment.ErrForged) || transport.calls != 1 {
		t.Errorf("a notification: got %v after %d calls, want forged and no call", err, transport.calls-1)
	}
}
