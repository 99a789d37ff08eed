package api

import (
	"strings"
	"testing"
	"time"

	"stampede/app"
)

// What operators look for, and what could not be done, has its shape; nothing secret is in it.
func TestAfterwardsRoutes(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, func(o *Options) { o.Zone = shanghai })
	for _, c := range []struct {
		method, path, body string
		part               string
	}{
		{"GET", "/orders", "", `{"orders":[{"id":"9",`},
		{"GET", "/users?q=ada@", "", `{"users":[{"id":"42","email":"ada@shop.example","name":"Ada","role":"shopper",`},
		{"GET", "/users/42", "", `"devices":[{"id":"5","name":"Phone",`},
		{"GET", "/users/42", "", `"blocks":[{"id":1,"kind":"user","value":"42",`},
		{"GET", "/users/43", "", `{"id":"43","guest":true,"devices":[],"orders":[{"id":"9",`},
		{"GET", "/payments?q=T1&state=taken", "", `{"payments":[{"trade_no":"T1","order":"7","amount_fen":9800,`},
		{"GET", "/dead", "", `{"letters":[{"id":"3-1767225600000-0","partition":3,"order":"9",`},
		{"GET", "/dead/3-1767225600000-0", "", `"fields":{"qty":"1"}`},
		{"POST", "/dead/3-1767225600000-0/replay", "", `"state":"pending"`},
		{"POST", "/dead/3-1767225600000-0/drop", "", `{}`},
		{"GET", "/parked?limit=5", "", `{"postings":[{"id":"1767225600000-0","group":"webhook",`},
		{"POST", "/parked/1767225600000-0/replay", "", `{}`},
		{"POST", "/parked/1767225600000-0/drop", "", `{}`},
		{"POST", "/ship", `{"csv":"order,carrier,tracking\n","dry_run":true}`, `{"dry_run":true,"shipped":23,"unchanged":0,"failed":0,"lines":[{"line":2,"order":"7","result":"shipped"}]}`},
		{"GET", "/sales/8/report", "", `{"sale":"8","product":"=Lamp","price_fen":4900,"opens_at":1700000000000,`},
		{"GET", "/sales/8/report", "", `"speed":{"seconds":[{"at":1700000000000,"orders":3,"units":4}],`},
		{"GET", "/sales/8/report", "", `"database":{"initial":10,"added":0,"stock":8,"held":0,"sold":2,"withdrawn":0}`},
		{"GET", "/sales/8/report.csv", "", "section,name,orders,units,fen\nsale,'=Lamp,,,4900\n"},
		{"GET", "/sales/8/report.csv", "", "second,2023-11-15T06:13:20+08:00,3,4,\n"},
		{"GET", "/sales/8/report", "", `"turned_away":[{"layer":"node","code":"sold_out","buys":6}]`},
		{"GET", "/sales/8/report.csv", "", "presses,pressed,9,,\npresses,reserved,3,,\nturned_away,node sold_out,6,,\nto_order_ms,p50 12,3,,\n"},
		{"GET", "/sales/8/report.csv", "", "state,paid '+1,2,2,9800\n"},
		{"GET", "/mails", "", `{"mails":[{"id":"1767225600000-0",`},
		{"POST", "/mails/1767225600000-0/retry", "", `{}`},
		{"POST", "/mails/1767225600000-0/drop", "", `{}`},
	} {
		got := s.ask(c.method, "/api/v1/operator"+c.path, c.body, asAda...)
		s.want(got, 200, c.part)
		if strings.Contains(got.body, "secret") || strings.Contains(got.body, "argon2") {
			t.Errorf("%s says a secret: %s", c.path, got.body)
		}
	}
	for _, path := range []string{
		"/orders?state=reserved", "/orders?sale=x", "/orders?user=-1", "/orders?before=x", "/users/x", "/users?limit=0",
		"/payments?state=x", "/payments?before=" + strings.Repeat("x", 65), "/payments?limit=101", "/dead?limit=x",
	} {
		s.want(s.ask("GET", "/api/v1/operator"+path, "", asAda...), 400, "bad_request")
	}
	long := "/api/v1/operator/parked/" + strings.Repeat("1", 65) + "/drop"
	s.want(s.ask("POST", long, "", asAda...), 404, "not_found")
}

// A search carries everything that was asked for.
func TestSearchIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const path = "/api/v1/operator/orders?state=paid&sale=8&user=42&before=99&limit=7&q=a%40b.example"
	s.want(s.ask("GET", path, "", asAda...), 200, "")
	want := searched{app.OrderSearch{State: app.Paid, Sale: 8, User: 42, Before: 99, Limit: 7}, "a@b.example"}
	if got := *s.shop.searched.Load(); got != want {
		t.Errorf("%+v", got)
	}
}
