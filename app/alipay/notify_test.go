package alipay_test

import (
	"errors"
	"maps"
	"net/url"
	"testing"

	"stampede/app/alipay"
	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/test/kit"
)

// A notification is accepted only if the gateway signed it for this shop. No notification causes an outgoing call.
func TestForgedNotificationsAreRejected(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	c.pay(t, 1, payment.ViaPage)
	kit.Must(t, c.sim.Pay("1"))
	good := c.notifications(t, 1)[0]
	kit.Must(t, errOf(c.VerifyNotification(good)))
	// No server listens at this gateway address: a call would fail with an error other than ErrForged.
	offline := newTestSetup(t, func(o *alipay.Options) { o.Gateway = "http://127.0.0.1:1/gateway.do" })
	for name, change := range map[string]func(url.Values){
		"another amount":         func(f url.Values) { f.Set("total_amount", "0.01") },
		"another order":          func(f url.Values) { f.Set("out_trade_no", "2") },
		"another state":          func(f url.Values) { f.Set("trade_status", "TRADE_CLOSED") },
		"another app":            func(f url.Values) { f.Set("app_id", "2021000000000002") },
		"another seller":         func(f url.Values) { f.Set("seller_id", "2088000000000002") },
		"another charset":        func(f url.Values) { f.Set("charset", "gbk") },
		"one more field":         func(f url.Values) { f.Set("extra", "1") },
		"a repeated field":       func(f url.Values) { f.Add("total_amount", f.Get("total_amount")) },
		"no signature":           func(f url.Values) { f.Del("sign") },
		"a weaker signature":     func(f url.Values) { f.Set("sign_type", "RSA") },
		"an unknown certificate": func(f url.Values) { f.Set("alipay_cert_sn", "5e1f0f6c7a6d4d0b8f0e9b7a1c2d3e4f") },
		"an empty body":          func(f url.Values) { clear(f) },
		"a truncated signature":  func(f url.Values) { f.Set("sign", good.Get("sign")[:10]) },
	} {
		form := maps.Clone(good)
		for field := range form {
			form[field] = append([]string(nil), form[field]...)
		}
		change(form)
		if _, err := offline.VerifyNotification(form); !errors.Is(err, payment.ErrForged) {
			t.Errorf("%s: got %v, want forged", name, err)
		}
	}
}

// VerifyNotification distinguishes the notification faults of the simulator.
func TestNotificationFaultsAreDetected(t *testing.T) {
	t.Parallel()
	for kind, forged := range map[sim.Kind]bool{
		sim.NotifyAmount: false, // signed by the gateway; the package payment compares amounts
		sim.NotifyGBK:    false, // signed over its bytes
		sim.NotifyApp:    true, sim.NotifySignature: true, sim.NotifyCert: true,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := newTestSetup(t, nil)
			c.pay(t, 1, payment.ViaPage)
			c.inject(t, sim.Fault{Kind: kind, Times: 1})
			kit.Must(t, c.sim.Pay("1"))
			trade, err := c.VerifyNotification(c.notifications(t, 1)[0])
			if errors.Is(err, payment.ErrForged) != forged {
				t.Errorf("got the error %v, want ErrForged: %v", err, forged)
			}
			want := map[sim.Kind]int64{sim.NotifyAmount: 19802, sim.NotifyGBK: 19801}[kind]
			if trade.AmountFen != want {
				t.Errorf("got the amount %d, want %d", trade.AmountFen, want)
			}
		})
	}
}

// A notification that is signed with the shop's key is rejected as forged.
func TestNotificationWithOwnSignatureIsForged(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	p, err := c.Pay(t.Context(), request(1, payment.ViaPage))
	kit.Must(t, err)
	address, err := url.Parse(p.URL)
	kit.Must(t, err)
	form := address.Query()
	form.Set("seller_id", c.options.SellerID)
	if _, err := c.VerifyNotification(form); !errors.Is(err, payment.ErrForged) {
		t.Errorf("a request of the shop as a notification: got %v, want forged", err)
	}
}

// BenchmarkVerifyNotification measures the verification. The target is at least 2,000 notifications per second and
// core.
func BenchmarkVerifyNotification(b *testing.B) {
	c := newTestSetup(b, nil)
	p, err := c.Pay(b.Context(), request(1, payment.ViaPage))
	kit.Must(b, err)
	kit.Must(b, errOf(c.sim.Open(p.URL)))
	kit.Must(b, c.sim.Pay("1"))
	form := c.notifications(b, 1)[0]
	for b.Loop() {
		kit.Must(b, errOf(c.VerifyNotification(form)))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notifications/s")
}
