package api

import (
	"testing"

	"stampede/app"
)

// What operators see and do has its shape, and nobody else gets at it.
func TestOperatorsRoutes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, c := range []struct {
		method, path, body string
		part               string
	}{
		{"GET", "/orders?state=paid&limit=1", "", `{"orders":[{"id":"9",`},
		{"GET", "/orders?state=paid", "", `"user":"42"}],"more":true}`},
		{"GET", "/orders/7", "", `"user":"42","refund":{"order":"7","request":"R7","state":"stuck",`},
		{
			"GET", "/refunds", "",
			`{"refunds":[{"order":"7","request":"R7","state":"asked","amount_fen":9800,"reason":"too large",`,
		},
		{"GET", "/refunds?state=stuck", "", `{"refunds":[],"more":false}`},
		{"POST", "/refunds/7/approve", "", `"state":"refunding"`},
		{"POST", "/refunds/7/decline", `{"note":"worn"}`, `"state":"refunding"`},
		{"POST", "/refunds/7/retry", "", `{}`},
		{"POST", "/orders/7/refund", `{"note":"damaged"}`, `"state":"refunding"`},
	} {
		path := "/api/v1/operator" + c.path
		s.want(s.ask(c.method, path, c.body, "Authorization", "Bearer user-1"), 200, c.part)
		s.want(s.ask(c.method, path, c.body, "Authorization", "Bearer user-42"), 403, "forbidden")
		s.want(s.ask(c.method, path, c.body), 401, "unauthorized")
	}
}

// A decision carries who took it, which way, and why.
func TestDecisionIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for path, want := range map[string]app.RefundDecision{
		"/refunds/7/approve": {Order: 7, By: 1, Yes: true, Note: "n"},
		"/refunds/7/decline": {Order: 7, By: 1, Note: "n"},
		"/orders/7/refund":   {Order: 7, By: 1, Yes: true, Note: "n"},
	} {
		s.want(s.ask("POST", "/api/v1/operator"+path, `{"note":"n"}`, "Authorization", "Bearer user-1"), 200, "")
		if got := *s.shop.decided.Load(); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestOperatorsBadInput(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	me := []string{"Authorization", "Bearer user-1"}
	for _, path := range []string{
		"/orders", "/orders?state=reserved", "/orders?state=paid&limit=0", "/orders/x", "/refunds?state=x",
		"/refunds?before=x",
	} {
		s.want(s.ask("GET", "/api/v1/operator"+path, "", me...), 400, "bad_request")
	}
	s.want(s.ask("POST", "/api/v1/operator/refunds/7/decline", `{"note":7}`, me...), 400, "note must be a string")
	s.want(s.ask("GET", "/api/v1/operator/nothing", "", me...), 404, "not_found")
}
