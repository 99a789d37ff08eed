package sim

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stampede/app/alipay/rsa2"
	"stampede/app/shop"
)

//go:embed assets
var assets embed.FS

var page = template.Must(template.ParseFS(assets, "assets/cashier.html"))

// policy allows only scripts, styles, pictures and form targets of this server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// view is the content of the cashier page.
type view struct {
	Words      words
	Title      string // text of the state
	State      string // waiting, paid, closed, refused: selects the style
	Trade      *Trade
	Amount     string
	Left       int64 // seconds until the trade closes automatically
	Path       string
	Return     string // the shop's return address; empty: none
	Why        string // the reason for the state refused
	AutoReturn bool   // return automatically after a short time
}

// openCashier opens the cashier for a buyer who comes from the shop's page.
func (s *Simulator) openCashier(w http.ResponseWriter, r *http.Request) {
	t, rejected := s.open(r.URL.Query())
	if rejected != nil {
		s.show(w, r, http.StatusOK, view{State: "refused", Why: rejected.Error()})
		return
	}
	http.Redirect(w, r, "/cashier/"+t.token, http.StatusSeeOther)
}

// openScannedCode opens the cashier for a buyer who scanned a QR code.
func (s *Simulator) openScannedCode(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/cashier/"+url.PathEscape(r.PathValue("token")), http.StatusSeeOther)
}

func (s *Simulator) cashier(w http.ResponseWriter, r *http.Request) {
	t, err := s.book.openByToken(r.PathValue("token"))
	if err != nil {
		s.show(w, r, http.StatusNotFound, view{State: "refused", Why: err.Error()})
		return
	}
	v := view{
		Trade: &t, Amount: shop.FormatFen(t.AmountFen), Path: "/cashier/" + t.token,
		Left: max(0, int64(t.ExpiresAt.Sub(s.now())/time.Second)), Return: t.returnURL,
	}
	switch {
	case t.TakenFen > 0:
		v.State, v.Return, v.AutoReturn = "paid", s.signedReturnURL(&t), t.returnURL != "" && r.URL.Query().Has("just")
	case t.Status == Waiting:
		v.State = "waiting"
	default:
		v.State = "closed"
	}
	s.show(w, r, http.StatusOK, v)
}

// handleButton handles a button of the cashier. The button always redirects to the cashier, which shows the new state;
// only the order event confirms the payment.
func (s *Simulator) handleButton(w http.ResponseWriter, r *http.Request) {
	t, err := s.book.openByToken(r.PathValue("token"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	_ = s.performAction(r.PathValue("press"), t.Order) // the page then shows the state of the trade
	http.Redirect(w, r, "/cashier/"+t.token+"?just", http.StatusSeeOther)
}

// signedReturnURL returns the shop's return address with the signed parameters of the payment. The shop must not trust
// them as a proof of payment: the browser of the buyer sends them.
func (s *Simulator) signedReturnURL(t *Trade) string {
	target, err := url.Parse(t.returnURL)
	if t.returnURL == "" || err != nil {
		return ""
	}
	parameters := url.Values{
		"app_id": {s.keys.AppID}, "seller_id": {s.keys.SellerID}, "method": {t.method + ".return"},
		"charset": {"utf-8"}, "version": {"1.0"}, "sign_type": {"RSA2"}, "timestamp": {s.now().In(s.zone).Format(timeFormat)},
		"out_trade_no": {t.Order}, "trade_no": {t.No}, "total_amount": {shop.FormatFen(t.AmountFen)},
	}
	if err := rsa2.SignNotification(s.keys.Gateway, parameters); err != nil {
		return t.returnURL
	}
	query := target.Query()
	maps.Copy(query, parameters)
	target.RawQuery = query.Encode()
	return target.String()
}

func (s *Simulator) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	v.Words = wordsFor(r.Header.Get("Accept-Language"))
	v.Title = v.Words.States[v.State]
	var text bytes.Buffer
	if err := page.Execute(&text, v); err != nil {
		slog.Error("the cashier's page", "err", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Content-Security-Policy": {policy},
		"X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"no-referrer"}, "Cache-Control": {"no-store"},
	})
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}

// words contains the texts of the cashier in one language.
type words struct {
	Lang, Cashier, Pretend, Order, Left, Pay, Close, Back, Gone string
	States                                                      map[string]string
}

var (
	english = words{
		Lang: "en", Cashier: "Cashier", Pretend: "This is a simulator. No real money moves.", Order: "Order", Left: "Time left",
		Pay: "Pay", Close: "Cancel payment", Back: "Back to the shop", Gone: "You can close this page.",
		States: map[string]string{
			"waiting": "To pay", "paid": "Paid", "closed": "This payment is closed", "refused": "This payment cannot be opened",
		},
	}
	chinese = words{
		Lang: "zh", Cashier: "收银台", Pretend: "模拟环境，不会产生真实扣款。", Order: "订单号", Left: "剩余时间",
		Pay: "确认付款", Close: "取消付款", Back: "返回商家", Gone: "可以关闭此页面。",
		States: map[string]string{
			"waiting": "待付款", "paid": "付款成功", "closed": "交易已关闭", "refused": "无法打开此交易",
		},
	}
)

// wordsFor returns the Chinese texts if Chinese is the first accepted language.
func wordsFor(accept string) words {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(accept)), "zh") {
		return chinese
	}
	return english
}
