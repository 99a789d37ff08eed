package sim

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stampede/app/alipay/rsa2"
	"stampede/app/shop"
)

const (
	timeFormat = "2006-01-02 15:04:05" // the gateway's time format, in Asia/Shanghai
	// maxRequest is the limit for a request body, in bytes.
	maxRequest = 64 << 10
)

// request is one verified call of the shop.
type request struct {
	method    string
	notifyURL string
	returnURL string
	content   content
}

// content has the fields of all methods.
type content struct {
	OutTradeNo   string `json:"out_trade_no"`
	TotalAmount  string `json:"total_amount"`
	Subject      string `json:"subject"`
	TimeExpire   string `json:"time_expire"`
	RefundAmount string `json:"refund_amount"`
	OutRequestNo string `json:"out_request_no"`
	Body         string `json:"body"`
	StartTime    string `json:"start_time"`
	EndTime      string `json:"end_time"`
	PageNo       string `json:"page_no"`
	PageSize     string `json:"page_size"`
	BillDate     string `json:"bill_date"`
}

// verifyRequest checks the app, the signature and the content of a call. A rejection has the gateway's common code and
// sub-code.
func (s *Simulator) verifyRequest(form url.Values) (request, *rejection) {
	switch {
	case form.Get("app_id") != s.keys.AppID:
		return request{}, &rejection{"40002", "isv.invalid-app-id"}
	case form.Get("sign_type") != "RSA2" || rsa2.VerifyRequest(&s.keys.App.PublicKey, form) != nil:
		return request{}, &rejection{"40002", "isv.invalid-signature"}
	}
	if _, err := time.ParseInLocation(timeFormat, form.Get("timestamp"), s.zone); err != nil {
		return request{}, &rejection{"40002", "isv.invalid-timestamp"}
	}
	r := request{method: form.Get("method"), notifyURL: form.Get("notify_url"), returnURL: form.Get("return_url")}
	err := json.Unmarshal([]byte(form.Get("biz_content")), &r.content)
	if err != nil || r.content.OutTradeNo == "" && !isList(r.method) {
		return request{}, &rejection{"40002", "isv.invalid-parameter"}
	}
	return r, nil
}

// gateway handles calls of the shop.
func (s *Simulator) gateway(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	q, rejected := s.verifyRequest(r.Form)
	if rejected != nil {
		s.write(w, "error_response", rejected.fields(), nil)
		return
	}
	order, method := q.content.OutTradeNo, q.method
	if _, down := s.faults.take(Down, order, method); down {
		dropConnection()
	}
	if f, slow := s.faults.take(Slow, order, method); slow {
		shop.Sleep(r.Context(), f.delay())
	}
	fields, rejected := s.execute(q, "http://"+r.Host)
	if _, active := s.faults.take(NotPermitted, order, method); active {
		rejected = &rejection{"40006", "isv.insufficient-isv-permissions"}
	}
	if _, active := s.faults.take(Lost, order, method); active {
		dropConnection()
	}
	if _, active := s.faults.take(Garbage, order, method); active {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body><h1>Welcome to the hotel's network</h1></body></html>"))
		return
	}
	if _, active := s.faults.take(ErrorAfterSuccess, order, method); active {
		rejected = &rejection{"40004", "ACQ.SYSTEM_ERROR"}
	}
	if rejected != nil {
		fields = rejected.fields()
	}
	signer := s.keys.Gateway
	if _, active := s.faults.take(InvalidSignature, order, method); active {
		signer = s.keys.foreignKey
	}
	s.write(w, responseName(method), fields, signer)
}

// execute executes a call.
func (s *Simulator) execute(q request, base string) (fields, *rejection) {
	switch q.method {
	case "alipay.trade.query":
		return s.query(q)
	case "alipay.trade.close":
		return s.closeTrade(q)
	case "alipay.trade.precreate":
		return s.precreate(q, base)
	case "alipay.trade.refund":
		return s.refund(q)
	case "alipay.trade.fastpay.refund.query":
		return s.refunded(q)
	case sellMethod:
		return s.soldTrades(q)
	case accountLogMethod:
		return s.accountLog(q)
	case billMethod:
		return s.bill(q, base)
	}
	return nil, &rejection{"40001", "isv.missing-method"}
}

// newTrade reads the fields of a new trade from a request.
func (s *Simulator) newTrade(q request) (Trade, *rejection) {
	fen, err := shop.ParseFen(q.content.TotalAmount)
	if err != nil || fen <= 0 {
		return Trade{}, &rejection{"40004", "ACQ.INVALID_PARAMETER"}
	}
	ends, err := time.ParseInLocation(timeFormat, q.content.TimeExpire, s.zone)
	if err != nil || q.content.Subject == "" {
		return Trade{}, &rejection{"40004", "ACQ.INVALID_PARAMETER"}
	}
	return Trade{
		Order: q.content.OutTradeNo, AmountFen: fen, Subject: q.content.Subject, Body: q.content.Body, ExpiresAt: ends,
		method:    strings.Clone(q.method), // it is a part of the query, which must not stay in memory
		notifyURL: q.notifyURL, returnURL: q.returnURL,
	}, nil
}

// subCodes maps errors of the book to the gateway's sub-codes.
var subCodes = map[error]string{
	errNoTrade: "ACQ.TRADE_NOT_EXIST", errStatus: "ACQ.TRADE_STATUS_ERROR",
	errTooMuch: "ACQ.REFUND_AMT_NOT_EQUAL_TOTAL", errNumberInUse: "ACQ.CONTEXT_INCONSISTENT",
}

func rejectionOf(err error) *rejection { return &rejection{"40004", subCodes[err]} }

// dropConnection closes the connection without a reply.
func dropConnection() { panic(http.ErrAbortHandler) }
