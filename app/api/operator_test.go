package api

import (
	"context"
	"strings"
	"testing"

	"stampede/app"
)

// asAda is an operator who names her act.
var asAda = []string{"Authorization", "Bearer user-1", "Idempotency-Key", "act-0001"}

// What operators see and do has its shape.
func TestOperatorsRoutes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, c := range []struct {
		method, path, body string
		part               string
	}{
		{"GET", "/board", "", `"alarms":[],"history":[]}`},
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
		{"POST", "/orders/7/ship", `{"carrier":"SF Express","tracking":"SF1"}`, `"tracking":"SF Express SF1"`},
		{"GET", "/orders/7", "", `"shipment":{"order":"7","carrier":"SF","tracking":"SF-1","shipped_at":1700000000000}`},
		{"POST", "/orders/7/refund", `{"note":"damaged"}`, `"state":"refunding"`},
		{"GET", "/journal?before=6&limit=1", "", `{"entries":[{"seq":7,"at":1700000000000,"actor_id":"1","actor_name":"Ada",`},
		{"GET", "/journal?object=sale:5&actor=Ada&kind=sale.pause", "", `"before":{"paused":false},"after":{"paused":true}`},
		{"GET", "/rehearsal", "", `{"rehearsal":{"sale":"6","of":"5","partition":3,"shoppers":200,"units":20,"state":"running",`},
		{"POST", "/rehearsal/end", "", `"state":"ending"`},
		{"GET", "/journal/verify", "", `{"rows":3,"head":{"seq":3,"hash":"aa`},
		{"GET", "/journal/verify?head=3:" + strings.Repeat("ab", 32), "", `"ok":false,"wrong":"row 3 follows row 1","at":3}`},
	} {
		path := "/api/v1/operator" + c.path
		s.want(s.ask(c.method, path, c.body, asAda...), 200, c.part)
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
		s.want(s.ask("POST", "/api/v1/operator"+path, `{"note":"n"}`, asAda...), 200, "")
		if got := *s.shop.decided.Load(); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestOperatorsBadInput(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	me := asAda
	for _, path := range []string{
		"/orders?state=reserved", "/orders?state=paid&limit=0", "/orders/x", "/refunds?state=x",
		"/refunds?before=x", "/journal?before=x", "/journal?limit=1000", "/journal/verify?head=3",
	} {
		s.want(s.ask("GET", "/api/v1/operator"+path, "", me...), 400, "bad_request")
	}
	s.want(s.ask("POST", "/api/v1/operator/refunds/7/decline", `{"note":7}`, me...), 400, "note must be a string")
	s.want(s.ask("GET", "/api/v1/operator/nothing", "", me...), 404, "not_found")
}

// fakeRehearsals has one that runs.
type fakeRehearsals struct{}

func (fakeRehearsals) Under(context.Context) (app.Rehearsal, error) {
	return app.Rehearsal{
		Sale: 6, Of: 5, Partition: 3, Shoppers: 200, Units: 20, State: app.RehearsalRunning, BeganAt: 1_700_000_000_000,
		UntilAt: 1_700_000_200_000, By: "Ada",
	}, nil
}

func (f fakeRehearsals) EndAny(ctx context.Context, _ app.Actor) (app.Rehearsal, error) {
	r, err := f.Under(ctx)
	r.State = app.RehearsalEnding
	return r, err
}
