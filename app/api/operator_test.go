package api

import (
	"strings"
	"testing"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// asAda is an operator who names her act.
var asAda = []string{"Authorization", "Bearer user-1", "Idempotency-Key", "act-0001"}

// Routes of operators: the form of their answers and invalid input. No answer contains a secret.
func TestOperatorsRoutes(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, func(o *Options) { o.Zone = shanghai })
	for _, c := range []struct {
		method, path, body string
		code               int
		part               string
	}{
		{"GET", "/board", "", 200, `"alarms":[],"history":[]}`},
		{"GET", "/orders?state=paid&limit=1", "", 200, `{"orders":[{"id":"9",`},
		{"GET", "/orders?state=paid", "", 200, `"user":"42"}],"more":true}`},
		{"GET", "/orders/7", "", 200, `"user":"42","refund":{"order":"7","request":"R7","state":"stuck",`},
		{"GET", "/refunds", "", 200, `{"refunds":[{"order":"7","request":"R7","state":"asked","amount_fen":9800,"reason":"too large",`},
		{"GET", "/refunds?state=stuck", "", 200, `{"refunds":[],"more":false}`},
		{"POST", "/refunds/7/approve", "", 200, `"state":"refunding"`},
		{"POST", "/refunds/7/decline", `{"note":"worn"}`, 200, `"state":"refunding"`},
		{"POST", "/refunds/7/retry", "", 200, `{}`},
		{"POST", "/orders/7/ship", `{"carrier":"SF Express","tracking":"SF1"}`, 200, `"tracking":"SF Express SF1"`},
		{"GET", "/orders/7", "", 200, `"shipment":{"order":"7","carrier":"SF","tracking":"SF-1","shipped_at":1700000000000}`},
		{"POST", "/orders/7/refund", `{"note":"damaged"}`, 200, `"state":"refunding"`},
		{"GET", "/journal?before=6&limit=1", "", 200, `{"entries":[{"seq":7,"at":1700000000000,"actor_id":"1","actor_name":"Ada",`},
		{"GET", "/journal?object=sale:5&actor=Ada&kind=sale.pause", "", 200, `"before":{"paused":false},"after":{"paused":true}`},
		{"POST", "/sales/5/guests", `{"guests":2}`, 200, `{"tokens":["bound to 5","bound to 5"]}`},
		{"GET", "/journal/verify", "", 200, `{"rows":3,"head":{"seq":3,"hash":"aa`},
		{"GET", "/journal/verify?head=3:" + strings.Repeat("ab", 32), "", 200, `"ok":false,"wrong":"row 3 follows row 1","at":3}`},
		{"GET", "/orders", "", 200, `{"orders":[{"id":"9",`},
		{"GET", "/users?q=ada@", "", 200, `{"users":[{"id":"42","email":"ada@shop.example","name":"Ada","role":"shopper",`},
		{"GET", "/users/42", "", 200, `"devices":[{"id":"5","name":"Phone",`},
		{"GET", "/users/42", "", 200, `"blocks":[{"id":1,"kind":"user","value":"42",`},
		{"GET", "/users/43", "", 200, `{"id":"43","guest":true,"devices":[],"orders":[{"id":"9",`},
		{"GET", "/payments?q=T1&state=taken", "", 200, `{"payments":[{"trade_no":"T1","order":"7","amount_fen":9800,`},
		{"GET", "/dead", "", 200, `{"letters":[{"id":"3-1767225600000-0","partition":3,"order":"9",`},
		{"GET", "/dead/3-1767225600000-0", "", 200, `"fields":{"qty":"1"}`},
		{"POST", "/dead/3-1767225600000-0/replay", "", 200, `"state":"pending"`},
		{"POST", "/dead/3-1767225600000-0/drop", "", 200, `{}`},
		{"GET", "/parked?limit=5", "", 200, `{"postings":[{"id":"1767225600000-0","group":"webhook",`},
		{"POST", "/parked/1767225600000-0/replay", "", 200, `{}`},
		{"POST", "/parked/1767225600000-0/drop", "", 200, `{}`},
		{"POST", "/ship", `{"csv":"order,carrier,tracking\n","dry_run":true}`, 200, `{"dry_run":true,"shipped":23,"unchanged":0,"failed":0,"lines":[{"line":2,"order":"7","result":"shipped"}]}`},
		{"GET", "/sales/8/report", "", 200, `{"sale":"8","product":"=Lamp","price_fen":4900,"opens_at":1700000000000,`},
		{"GET", "/sales/8/report", "", 200, `"speed":{"seconds":[{"at":1700000000000,"orders":3,"units":4}],`},
		{"GET", "/sales/8/report", "", 200, `"database":{"initial":10,"added":0,"stock":8,"held":0,"sold":2,"withdrawn":0}`},
		{"GET", "/sales/8/report.csv", "", 200, "\ufeffsection,name,orders,units,fen\nsale,'=Lamp,,,4900\n"},
		{"GET", "/sales/8/report.csv", "", 200, "second,2023-11-15T06:13:20+08:00,3,4,\n"},
		{"GET", "/sales/8/report", "", 200, `"turned_away":[{"layer":"node","code":"sold_out","buys":6}]`},
		{"GET", "/sales/8/report.csv", "", 200, "presses,pressed,9,,\npresses,reserved,3,,\nturned_away,node sold_out,6,,\nto_order_ms,p50 12,3,,\n"},
		{"GET", "/sales/8/report.csv", "", 200, "state,paid +1,2,2,9800\n"},
		{"GET", "/mails", "", 200, `{"mails":[{"id":"1767225600000-0",`},
		{"POST", "/mails/1767225600000-0/retry", "", 200, `{}`},
		{"POST", "/mails/1767225600000-0/drop", "", 200, `{}`},
		{"POST", "/sales/5/pause", `{"version":3,"note":"too fast"}`, 200, `{"id":"5","version":4,"paused":true,`},
		{"POST", "/sales/5/resume", `{"version":3}`, 200, `"paused":false`},
		{"POST", "/sales/5/end", `{"version":3}`, 200, `"closes_at":1700000600000`},
		{"POST", "/sales/5/end", `{"version":99}`, 409, `"current":{"id":"5","version":100,`},
		{"POST", "/sales/5/stock", `{"version":3,"units":7}`, 200, `"stock":17,"held":0,"sold":0}`},
		{"POST", "/sales/5/stock", `{"version":3,"units":-7}`, 200, `"withdrawal":{"id":3,"sale":"5","units":7,"taken":1,"state":"done",`},
		{"POST", "/sales/5/challenge", `{"version":3,"challenge":"work"}`, 200, `"challenge":"work"`},
		{"POST", "/sales/5/pause", `{}`, 400, "version is missing"},
		{"POST", "/sales/5/pause", "", 400, "version is missing"},
		{"POST", "/sales/5/pause", `{"version":"3"}`, 400, "version must be"},
		{"POST", "/sales/5/stock", `{"version":3,"units":1.5}`, 400, "units must be"},
		{"GET", "/blocks", "", 200, `{"blocks":[{"id":3,"kind":"user","value":"7","reason":"resells",`},
		{
			"POST", "/blocks", `{"kind":"network","value":"203.0.113.0/24","until":1700000060000}`, 200,
			`{"id":4,"kind":"network","value":"203.0.113.0/24","reason":"","until":1700000060000,"created_by":"Ada",`,
		},
		{"POST", "/blocks", `{"kind":"user","value":"7","until":1600000000000}`, 400, "until must be"},
		{"POST", "/blocks", "", 400, "must be a JSON object"},
		{"DELETE", "/blocks/3", "", 200, "{}"},
		{"DELETE", "/blocks/99", "", 404, "number 99"},
		{"DELETE", "/blocks/x", "", 400, "positive decimal"},
		{"GET", "/switches", "", 200, `{"tick_ms":100,"http_buy":true,"least_challenge":"none","lists":"live","work_bits":`},
		{"PATCH", "/switches", `{"version":3,"tick_ms":500}`, 200, `"tick_ms":500`},
		{"PATCH", "/switches", `{"tick_ms":"x"}`, 400, "tick_ms must be"},
		{
			"POST", "/notice", `{"level":"warning","text":"Payments are slow."}`, 200,
			`{"level":"warning","text":"Payments are slow.","version":1}`,
		},
		{"POST", "/notice", `{"level":"info","text":"慢","lang":"zh"}`, 200, `"text":"","texts":{"zh":"慢"}`},
		{"GET", "/notice", "", 200, `{"notice":{"level":"warning","text":"Payments are slow.",`},
		{"POST", "/notice", "", 400, "must be a JSON object"},
		{"DELETE", "/notice", "", 200, `"version":2`},
		{"GET", "/categories/3", "", 200, `"name":"Kitchen"`},
		{"GET", "/categories/404", "", 404, `"code":"not_found"`},
		{"GET", "/categories/x", "", 400, "positive decimal"},
		{"POST", "/refunds/7/decline", `{"note":7}`, 400, "note must be a string"},
		{"GET", "/nothing", "", 404, "not_found"},
		{"POST", "/parked/" + strings.Repeat("1", 65) + "/drop", "", 404, "not_found"},
	} {
		got := s.ask(c.method, "/api/v1/operator"+c.path, c.body, asAda...)
		s.want(got, c.code, c.part)
		if strings.Contains(got.body, "secret") || strings.Contains(got.body, "argon2") {
			t.Errorf("%s contains a secret: %s", c.path, got.body)
		}
	}
	for _, path := range []string{
		"/orders?state=reserved", "/orders?state=paid&limit=0", "/orders/x", "/orders?sale=x", "/orders?user=-1",
		"/orders?before=x", "/refunds?state=x", "/refunds?before=x", "/journal?before=x", "/journal?limit=1000",
		"/journal/verify?head=3", "/users/x", "/users?limit=0", "/payments?state=x",
		"/payments?before=" + strings.Repeat("x", 65), "/payments?limit=101", "/dead?limit=x",
	} {
		s.want(s.ask("GET", "/api/v1/operator"+path, "", asAda...), 400, "bad_request")
	}
}

// A decision carries who took it, which way, and why.
func TestDecisionIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for path, want := range map[string]payment.RefundDecision{
		"/refunds/7/approve": {Order: 7, By: 1, Yes: true, Note: "n"},
		"/refunds/7/decline": {Order: 7, By: 1, Note: "n"},
		"/orders/7/refund":   {Order: 7, By: 1, Yes: true, Note: "n"},
	} {
		s.want(s.ask("POST", "/api/v1/operator"+path, `{"note":"n"}`, asAda...), 200, "")
		if got := *s.shop.decided.Load(); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// A search carries everything that was asked for.
func TestSearchIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const path = "/api/v1/operator/orders?state=paid&sale=8&user=42&before=99&limit=7&q=a%40b.example"
	s.want(s.ask("GET", path, "", asAda...), 200, "")
	want := searched{store.OrderSearch{State: shop.Paid, Sale: 8, User: 42, Before: 99, Limit: 7}, "a@b.example"}
	if got := *s.shop.searched.Load(); got != want {
		t.Errorf("%+v", got)
	}
}
