package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// asAda contains the headers of an operator with an idempotency key.
var asAda = []string{"Authorization", "Bearer user-1", "Idempotency-Key", "act-0001"}

// Invalid input of operators is rejected before a service is called. There is no service, so a call would panic.
func TestOperatorInputIsValidatedBeforeService(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, c := range []struct {
		method, path, body string
		code               int
		part               string
	}{
		{"POST", "/sales/5/pause", `{}`, 400, "version is missing"},
		{"POST", "/sales/5/pause", "", 400, "version is missing"},
		{"POST", "/sales/5/pause", `{"version":"3"}`, 400, "version must be"},
		{"POST", "/sales/5/stock", `{"version":3,"units":1.5}`, 400, "units must be"},
		{"POST", "/blocks", `{"kind":"user","value":"7","until":1600000000000}`, 400, "until must be"},
		{"POST", "/blocks", "", 400, "must be a JSON object"},
		{"DELETE", "/blocks/x", "", 400, "positive decimal"},
		{"PATCH", "/switches", `{"tick_ms":"x"}`, 400, "tick_ms must be"},
		{"POST", "/notice", "", 400, "must be a JSON object"},
		{"GET", "/categories/x", "", 400, "positive decimal"},
		{"POST", "/refunds/7/decline", `{"note":7}`, 400, "note must be a string"},
		{"GET", "/nothing", "", 404, "not_found"},
		{"POST", "/parked/" + strings.Repeat("1", 65) + "/drop", "", 404, "not_found"},
	} {
		s.want(s.request(c.method, "/api/v1/operator"+c.path, c.body, asAda...), c.code, c.part)
	}
	for _, path := range []string{
		"/orders?state=reserved", "/orders?state=paid&limit=0", "/orders/x", "/orders?sale=x", "/orders?user=-1",
		"/orders?before=x", "/refunds?state=x", "/refunds?before=" + strings.Repeat("x", 65), "/journal?before=x", "/journal?limit=1000",
		"/journal/verify?head=3", "/users/x", "/users?limit=0", "/payments?state=x",
		"/payments?before=" + strings.Repeat("x", 65), "/payments?limit=101", "/dead?limit=x",
	} {
		s.want(s.request("GET", "/api/v1/operator"+path, "", asAda...), 400, "bad_request")
	}
}

// Operators read and change an order and a sale through all their states. No response contains a secret.
func TestOperatorsChangeOrdersAndSales(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	s, w := openShop(t, func(o *Options) { o.Zone = shanghai })
	w.pay()
	for i, c := range []struct {
		method, path, body string
		code               int
		part               string
	}{
		{"GET", "/board", "", 200, `"alarms":[],"history":[]}`},
		{"GET", "/orders?state=paid&limit=1", "", 200, `{"orders":[{"id":"7",`},
		{
			"GET", "/orders?state=paid&sale=7&user=42&before=99&limit=7&q=ada%40shop.example", "", 200,
			`"user":"42"}],"more":false}`,
		},
		{"GET", "/orders?state=pending", "", 200, `{"orders":[{"id":"6",`},
		{"GET", "/orders?sale=8", "", 200, `{"orders":[],`},
		{"GET", "/orders?user=43", "", 200, `{"orders":[{"id":"6",`},
		{"GET", "/orders?before=7", "", 200, `{"orders":[{"id":"6",`},
		{"GET", "/orders?q=eve%40shop.example", "", 200, `{"orders":[],`},
		{"GET", "/payments?q=T7&state=taken", "", 200, `{"payments":[{"trade_no":"T7","order":"7","amount_fen":4900,`},
		{
			"GET", "/users?q=ada@", "", 200,
			`{"users":[{"id":"42","email":"ada@shop.example","name":"Ada","role":"shopper",`,
		},
		{"GET", "/users/42", "", 200, `"devices":[{"id":"7","name":"Phone",`},
		{"GET", "/users/43", "", 200, `{"id":"43","guest":true,"devices":[],"orders":[{"id":"6",`},
		{
			"POST", "/blocks", `{"kind":"user","value":"42"}`, 200,
			`{"id":1,"kind":"user","value":"42","reason":"","created_by":"Ada",`,
		},
		{"GET", "/users/42", "", 200, `"blocks":[{"id":1,"kind":"user","value":"42",`},
		{"GET", "/blocks", "", 200, `{"blocks":[{"id":1,"kind":"user","value":"42",`},
		{"DELETE", "/blocks/1", "", 200, "{}"},
		{"DELETE", "/blocks/99", "", 404, "number 99"},
		{"POST", "/orders/7/ship", `{"carrier":"SF Express","tracking":"SF1"}`, 200, `"tracking":"SF Express SF1"`},
		{"GET", "/orders/7", "", 200, `"shipment":{"order":"7","carrier":"SF Express","tracking":"SF1","shipped_at":`},
		{
			"POST", "/ship", `{"csv":"order,carrier,tracking\n7,SF Express,SF1\n","dry_run":true}`, 200,
			`{"dry_run":true,"shipped":0,"unchanged":1,"failed":0,"lines":[`,
		},
		{"POST", "/orders/7/refund", `{"note":"damaged"}`, 200, `"state":"refunding"`},
		{"GET", "/journal?limit=1", "", 200, `"kind":"refund.approve","object":"order:7"`},
		{"GET", "/journal?object=order:7&actor=Ada&kind=refund.approve", "", 200, `"note":"damaged"`},
		{"GET", "/journal?before=2&limit=1", "", 200, `{"entries":[{"seq":1,`},
		{"GET", "/orders/7", "", 200, `"user":"42","refund":{"order":"7","request":"`},
		{"GET", "/refunds", "", 200, `{"refunds":[{"order":"7","request":"`},
		{"GET", "/refunds?state=stuck", "", 200, `{"refunds":[],"more":false}`},
		{"GET", "/refunds?before=R7", "", 200, `{"refunds":[],"more":false}`},
		{"GET", "/refunds?before=R8", "", 400, "before is not the request number"},
		{"POST", "/refunds/7/decline", `{"note":"worn"}`, 409, `"code":"wrong_state"`},
		{"GET", "/journal/verify", "", 200, `"ok":true`},
		{"GET", "/journal/verify?head=3:" + strings.Repeat("ab", 32), "", 200, `"ok":false,"wrong":"`},
		{"GET", "/journal/verify?head=3", "", 400, "bad_request"},
		{"POST", "/sales/7/guests", `{"guests":2}`, 409, `only a hidden sale has guests`},
		{"GET", "/sales/7/report", "", 200, `{"sale":"7","product":"=Lamp","price_fen":4900,"opens_at":`},
		{"GET", "/sales/7/report.csv", "", 200, "\ufeffsection,name,orders,units,fen\nsale,'=Lamp,,,4900\n"},
		{"GET", "/sales/7/report.csv", "", 200, "+08:00,2,2,\n"},
		{"POST", "/sales/7/pause", `{"version":1,"note":"too fast"}`, 200, `{"id":"7","version":2,"paused":true,`},
		{"POST", "/sales/7/resume", `{"version":2}`, 200, `"paused":false`},
		{"POST", "/sales/7/stock", `{"version":3,"units":7}`, 200, `"stock":15,"held":1,"sold":1}`},
		{"POST", "/sales/7/stock", `{"version":4,"units":-6}`, 200, `"withdrawal":{"id":`},
		{"POST", "/sales/7/challenge", `{"version":5,"challenge":"work"}`, 200, `"challenge":"work"`},
		{"POST", "/sales/7/end", `{"version":1}`, 409, `"current":{"id":"7","version":6,`},
		{"POST", "/sales/7/end", `{"version":6}`, 200, `"version":7`},
		{
			"GET", "/switches", "", 200,
			`{"tick_ms":100,"http_buy":true,"least_challenge":"none","lists":"live","work_bits":`,
		},
		{"PATCH", "/switches", `{"version":0,"tick_ms":500}`, 200, `"tick_ms":500`},
		{
			"POST", "/notice", `{"level":"warning","text":"Payments are slow."}`, 200,
			`{"level":"warning","text":"Payments are slow.","version":1}`,
		},
		{"GET", "/notice", "", 200, `{"notice":{"level":"warning","text":"Payments are slow.",`},
		{"POST", "/notice", `{"level":"info","text":"慢","lang":"zh"}`, 200, `"texts":{"zh":"慢"}`},
		{"DELETE", "/notice", "", 200, `"version":3`},
		{"GET", "/texts", "", 200, `{"texts":[{"name":"contact","lang":"en","text":"","version":0},`},
		{
			"PUT", "/texts", `{"name":"terms","lang":"zh","text":"条款","version":0}`, 200,
			`{"name":"terms","lang":"zh","text":"条款","version":1}`,
		},
		{"PUT", "/texts", `{"name":"terms","lang":"zh","text":"新","version":0}`, 409, `"current":{"name":"terms",`},
		{"PUT", "/texts", `{"name":"terms","lang":"fr","text":"x","version":0}`, 400, "lang must be en or zh"},
		{"PUT", "/texts", `{"name":"imprint","lang":"en","text":"x","version":0}`, 400, "name must be contact"},
		{"GET", "/categories/7", "", 200, `"name":"Light"`},
		{"PATCH", "/categories/7", `{"version":1,"texts":{"zh":{"name":"灯饰"}}}`, 200, `"texts":{"zh":{"name":"灯饰"}}`},
		{"PATCH", "/products/8", `{"version":1,"texts":{"zh":{"name":"壶"}}}`, 200, `"texts":{"zh":{"name":"壶"}}`},
		{"PATCH", "/products/8", `{"version":2,"texts":{"fr":{"name":"Pot"}}}`, 400, "texts.fr: the languages are en and zh"},
		{"GET", "/categories/404", "", 404, `"code":"not_found"`},
	} {
		got := s.request(c.method, "/api/v1/operator"+c.path, c.body, operatorHeaders(fmt.Sprintf("act-%04d", i))...)
		s.want(got, c.code, c.part)
		if strings.Contains(got.body, "secret") || strings.Contains(got.body, "argon2") {
			t.Errorf("%s: the response contains a secret: %s", c.path, got.body)
		}
	}
}

// An approval and a decline are different operations; the journal contains the operator.
func TestRefundDecisionsAreJournaled(t *testing.T) {
	t.Parallel()
	for decision, state := range map[string]string{"approve": "refunding", "decline": "paid"} {
		s, w := openShop(t, nil)
		w.pay()
		s.want(s.request("POST", "/api/v1/orders/7/refund", `{"reason":"too large"}`, "Authorization", "Bearer user-42"), 200,
			`{"state":"paid"}`)
		s.want(s.request("POST", "/api/v1/operator/refunds/7/"+decision, `{"note":"n"}`, asAda...), 200,
			`"state":"`+state+`"`)
		if op := w.lastEntry(); op.Kind != "refund."+decision || op.ActorID != 1 || op.Note != "n" {
			t.Errorf("%s: got the last entry %+v, want refund.%s by user 1", decision, op, decision)
		}
	}
}
