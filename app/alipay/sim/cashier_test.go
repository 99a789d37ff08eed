package sim

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A buyer opens the cashier, reads the amount, pays, and returns to the shop.
func TestBuyerPaysAtCashier(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	path := s.open("42")
	shown := s.get(path)
	text := body(t, shown)
	for _, want := range []string{"12.34", "&lt;Kettle&gt; &amp; more", "42", `action="` + path + `/pay"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the cashier does not show %s:\n%s", want, text)
		}
	}
	if policy := shown.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("got the policy %s, want default-src none and nothing unsafe", policy)
	}
	response := s.post(path+"/pay", "application/x-www-form-urlencoded", "")
	text = body(t, s.get(response.Header.Get("Location")))
	if !strings.Contains(text, `data-state="paid"`) || !strings.Contains(text, "http://shop.example/back?a=1&amp;") {
		t.Errorf("after the payment: got the page\n%s\nwant the state paid", text)
	}
	s.post(path+"/pay", "", "")
	s.post(path+"/close", "", "")
	if l := s.Ledger(); l.TakenFen != 1234 || l.Trades[0].Status != Success {
		t.Errorf("after repeated actions: got %+v, want one payment of 1234 fen", l)
	}
}

// A buyer scans a code with a phone and pays there. The phone does not return to the shop: the shop's page is on
// another screen.
func TestScannedCodeDoesNotReturnToShop(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	reply := s.post("/gateway.do", "application/x-www-form-urlencoded",
		s.sign("alipay.trade.precreate", s.order("42")).Encode())
	_, rest, _ := strings.Cut(body(t, reply), `"qr_code":"`)
	code, _, found := strings.Cut(rest, `"`)
	if !found || !strings.HasPrefix(code, s.server.URL+"/qr/") {
		t.Fatalf("got the QR code %q, want an address of the simulator", code)
	}
	path := s.get(strings.TrimPrefix(code, s.server.URL)).Header.Get("Location")
	response := s.post(path+"/pay", "application/x-www-form-urlencoded", "")
	text := body(t, s.get(response.Header.Get("Location")))
	if !strings.Contains(text, `data-state="paid"`) || strings.Contains(text, "shop.example") ||
		!strings.Contains(text, english.Gone) {
		t.Errorf("after the payment: got the page\n%s\nwant the state paid", text)
	}
}

func TestCashierIsShownInChinese(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	request, err := http.NewRequest(http.MethodGet, s.server.URL+s.open("1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text := body(t, response); !strings.Contains(text, "确认付款") || !strings.Contains(text, `lang="zh"`) {
		t.Errorf("got the page\n%s\nwant it in Chinese", text)
	}
}

// A payment without a valid signature of the shop is not opened.
func TestForgedPaymentsAreNotOpened(t *testing.T) {
	t.Parallel()
	s := newShop(t, Options{})
	for name, change := range map[string]func(url.Values){
		"another amount": func(v url.Values) {
			v.Set("biz_content",
				strings.Replace(v.Get("biz_content"), "12.34", "0.01", 1))
		},
		"another app":  func(v url.Values) { v.Set("app_id", otherAppID) },
		"no signature": func(v url.Values) { v.Del("sign") },
	} {
		form := s.sign("alipay.trade.page.pay", s.order("1"))
		change(form)
		if text := body(t, s.get("/gateway.do?"+form.Encode())); !strings.Contains(text, `data-state="refused"`) {
			t.Errorf("%s: got the page\n%s\nwant the state refused", name, text)
		}
	}
	if l := s.Ledger(); len(l.Trades) != 0 {
		t.Errorf("got the ledger %+v, want no trades", l)
	}
}

// After time_expire no payment succeeds, regardless of when the buyer opened the cashier.
func TestNoPaymentAfterTimeExpire(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	s := newShop(t, Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	path := s.open("1")
	late := s.get("/gateway.do?" + s.sign("alipay.trade.wap.pay", s.order("2")).Encode()).Header.Get("Location")
	form := s.sign("alipay.trade.page.pay", s.order("3"))
	ahead.Store(int64(2 * time.Hour))
	s.post(path+"/pay", "", "")
	s.post(late+"/pay", "", "")
	if text := body(t, s.get(path)); !strings.Contains(text, `data-state="closed"`) {
		t.Errorf("a trade after its expiry: got the page\n%s\nwant the state closed", text)
	}
	if text := body(t, s.get("/gateway.do?"+form.Encode())); !strings.Contains(text, `data-state="refused"`) {
		t.Errorf("a trade opened after its expiry: got the page\n%s\nwant the state refused", text)
	}
	if l := s.Ledger(); l.TakenFen != 0 || len(l.Trades) != 2 {
		t.Errorf("got the ledger %+v, want two trades and no payment", l)
	}
}
