package payment

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"stampede/app"
	"stampede/app/payment/rsa2"
)

// fuzzed is an adapter in public-key mode, and the gateway's key.
func fuzzed(f *testing.F) (*Alipay, *rsa.PrivateKey) {
	f.Helper()
	key, err := rsa.GenerateKey(rand.Reader, rsa2.MinBits)
	if err != nil {
		f.Fatal(err)
	}
	return &Alipay{public: &key.PublicKey, options: Options{AppID: "2021000000000001", SellerID: "2088000000000001"}}, key
}

// P8: whatever is posted as a notification, nothing is believed but the very fields that the gateway signed.
func FuzzNotified(f *testing.F) {
	a, key := fuzzed(f)
	genuine := url.Values{
		"app_id": {"2021000000000001"}, "seller_id": {"2088000000000001"}, "charset": {"utf-8"}, "sign_type": {"RSA2"},
		"out_trade_no": {"7301444480512000257"}, "trade_no": {"2026112122001400000000000001"},
		"trade_status": {"TRADE_SUCCESS"}, "total_amount": {"198.01"}, "subject": {"电饭煲 & more"},
	}
	if err := rsa2.SignNotification(key, genuine); err != nil {
		f.Fatal(err)
	}
	f.Add(genuine.Encode())
	f.Add("app_id=2021000000000001&app_id=2&sign_type=RSA2&sign=YQ==")
	f.Add("%zz=1&a=%00&&;=")
	f.Fuzz(func(t *testing.T, body string) {
		form, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		trade, err := a.Notified(form)
		switch {
		case errors.Is(err, app.ErrForged):
		case rsa2.Canonical(form, rsa2.Sign, rsa2.CertSN) != rsa2.Canonical(genuine, rsa2.Sign, rsa2.CertSN):
			t.Fatalf("%q was not signed so: %+v, %v", body, trade, err)
		case err == nil && (trade.AmountFen != 19801 || trade.State != app.TradePaid || trade.Order != 7301444480512000257):
			t.Fatalf("%q was believed as %+v", body, trade)
		}
	})
}

// I6: whatever comes back from a call, it is unknown unless it holds the very text that the gateway signed.
func FuzzAnswer(f *testing.F) {
	a, key := fuzzed(f)
	const method, name = "alipay.trade.query", "alipay_trade_query_response"
	genuine := `{"code":"10000","msg":"Success","out_trade_no":"7","trade_status":"TRADE_SUCCESS"}`
	signature, err := rsa2.SignText(key, genuine)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"` + name + `":` + genuine + `,"sign":"` + signature + `"}`))
	f.Add([]byte(`{"` + name + `":{"code":"10000"},"sign":"` + signature + `"}`))
	f.Add([]byte(`{"error_response":{"code":"40002"}}`))
	f.Add([]byte(`<html>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var out struct {
			Status string `json:"trade_status"`
		}
		if err := a.answer(method, body, &out); errors.Is(err, app.ErrMoment) {
			return
		}
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(body, &parts); err != nil || !bytes.Equal(parts[name], []byte(genuine)) || out.Status != "TRADE_SUCCESS" {
			t.Fatalf("%q was believed as %+v", body, out)
		}
	})
}
