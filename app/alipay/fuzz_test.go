package alipay

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/alipay/rsa2"
	"stampede/app/payment"
	"stampede/app/shop"
)

// newFuzzAdapter returns an adapter in public-key mode and the gateway's key.
func newFuzzAdapter(f *testing.F) (*Alipay, *rsa.PrivateKey) {
	f.Helper()
	key, err := rsa.GenerateKey(rand.Reader, rsa2.MinBits)
	if err != nil {
		f.Fatal(err)
	}
	shopKey, err := rsa.GenerateKey(rand.Reader, rsa2.MinBits)
	if err != nil {
		f.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		f.Fatal(err)
	}
	a, err := New(Options{
		AppID: "2021000000000001", SellerID: "2088000000000001", PublicKey: base64.StdEncoding.EncodeToString(public),
		PrivateKey: base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(shopKey)),
	})
	if err != nil {
		f.Fatal(err)
	}
	return a, key
}

// fixedReply is a gateway that returns the same reply to every call.
type fixedReply []byte

func (f fixedReply) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(f))}, nil
}

// P8: only a notification with exactly the fields that the gateway signed is accepted.
func FuzzVerifyNotification(f *testing.F) {
	a, key := newFuzzAdapter(f)
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
		trade, err := a.VerifyNotification(form)
		switch {
		case errors.Is(err, payment.ErrForged):
		case rsa2.Canonical(form, rsa2.Sign, rsa2.CertSN) != rsa2.Canonical(genuine, rsa2.Sign, rsa2.CertSN):
			t.Fatalf("%q was not signed with these fields: %+v, %v", body, trade, err)
		case err == nil &&
			(trade.AmountFen != 19801 || trade.State != payment.TradePaid || trade.Order != 7301444480512000257):
			t.Fatalf("%q: got %+v, want the signed trade", body, trade)
		}
	})
}

// I6: a reply is unknown unless it contains exactly the text that the gateway signed.
func FuzzReply(f *testing.F) {
	a, key := newFuzzAdapter(f)
	const name = "alipay_trade_query_response"
	genuine := `{"code":"10000","msg":"Success","out_trade_no":"7","trade_status":"TRADE_SUCCESS"}`
	signature, err := rsa2.SignText(key, genuine)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"` + name + `":` + genuine + `,"sign":"` + signature + `"}`))
	f.Add([]byte(`{"` + name + `":{"code":"10000"},"sign":"` + signature + `"}`))
	f.Add([]byte(`{"` + name + `":{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST"}}`)) // an unsigned rejection
	f.Add([]byte(`{"` + name + `":null}`))
	f.Add([]byte(`{"` + name + `":` + genuine + `,"sign":"` + signature +
		`","alipay_cert_sn":"5e1f0f6c7a6d4d0b8f0e9b7a1c2d3e4f"}`))
	f.Add([]byte(`{"error_response":null}`))
	f.Add([]byte(`{"error_response":{"code":"40002"}}`))
	f.Add([]byte(`<html>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a.client.Client = &http.Client{Transport: guard{fixedReply(body)}}
		var out struct {
			head
			Status string `json:"trade_status"`
		}
		if err := a.exchange(t.Context(), alipay.TradeQuery{OutTradeNo: "7"}, &out); errors.Is(err, shop.ErrTransient) {
			return
		}
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(body, &parts); err != nil || !bytes.Equal(parts[name], []byte(genuine)) ||
			out.Status != "TRADE_SUCCESS" {
			t.Fatalf("%q: got %+v, want a transient fault or the signed reply", body, out)
		}
	})
}
