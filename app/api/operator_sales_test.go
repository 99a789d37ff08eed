package api

import (
	"fmt"
	"slices"
	"testing"

	"stampede/app"
)

// Acts on a sale have their shape; a version that has moved on is answered with the sale as it is now.
func TestActsOnSales(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, c := range []struct {
		path, body string
		code       int
		part       string
	}{
		{"pause", `{"version":3,"note":"too fast"}`, 200, `{"id":"5","version":4,"paused":true,`},
		{"resume", `{"version":3}`, 200, `"paused":false`},
		{"end", `{"version":3}`, 200, `"closes_at":1700000600000`},
		{"end", `{"version":99}`, 409, `"current":{"id":"5","version":100,`},
		{"stock", `{"version":3,"units":7}`, 200, `"stock":17,"held":0,"sold":0}`},
		{"stock", `{"version":3,"units":-7}`, 200, `"withdrawal":{"id":3,"sale":"5","units":7,"taken":1,"state":"done",`},
		{"challenge", `{"version":3,"challenge":"work"}`, 200, `"challenge":"work"`},
		{"pause", `{}`, 400, "version is missing"},
		{"pause", "", 400, "version is missing"},
		{"pause", `{"version":"3"}`, 400, "version must be"},
		{"stock", `{"version":3,"units":1.5}`, 400, "units must be"},
	} {
		s.want(s.ask("POST", "/api/v1/operator/sales/5/"+c.path, c.body, asAda...), c.code, c.part)
	}
}

// Acts can be taken back by their row.
func TestUndoOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.want(s.ask("POST", "/api/v1/operator/journal/7/undo", "", asAda...), 200, "{}")
	s.want(s.ask("POST", "/api/v1/operator/journal/99/undo", "", asAda...), 409, "cannot be taken back")
	s.want(s.ask("POST", "/api/v1/operator/journal/x/undo", "", asAda...), 400, "positive decimal")
}

// The block list can be read and changed.
func TestBlocksOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const path = "/api/v1/operator/blocks"
	s.want(s.ask("GET", path, "", asAda...), 200, `{"blocks":[{"id":3,"kind":"user","value":"7","reason":"resells",`)
	s.want(s.ask("POST", path, `{"kind":"network","value":"203.0.113.0/24","until":1700000060000}`, asAda...), 200,
		`{"id":4,"kind":"network","value":"203.0.113.0/24","reason":"","until":1700000060000,"created_by":"Ada",`)
	s.want(s.ask("POST", path, `{"kind":"user","value":"7","until":1600000000000}`, asAda...), 400, "until must be")
	s.want(s.ask("POST", path, "", asAda...), 400, "must be a JSON object")
	s.want(s.ask("DELETE", path+"/3", "", asAda...), 200, "{}")
	s.want(s.ask("DELETE", path+"/99", "", asAda...), 404, "number 99")
	s.want(s.ask("DELETE", path+"/x", "", asAda...), 400, "positive decimal")
}

// Switches and the notice can be read and changed.
func TestSwitchesAndNoticeOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const path = "/api/v1/operator/"
	s.want(s.ask("GET", path+"switches", "", asAda...), 200,
		`{"tick_ms":100,"http_buy":true,"least_challenge":"none","lists":"live","work_bits":`)
	s.want(s.ask("PATCH", path+"switches", `{"version":3,"tick_ms":500}`, asAda...), 200, `"tick_ms":500`)
	s.want(s.ask("PATCH", path+"switches", `{"tick_ms":"x"}`, asAda...), 400, "tick_ms must be")
	s.want(s.ask("POST", path+"notice", `{"level":"warning","text":"Payments are slow."}`, asAda...), 200,
		`{"level":"warning","text":"Payments are slow.","version":1}`)
	s.want(s.ask("POST", path+"notice", `{"level":"info","text":"慢","lang":"zh"}`, asAda...), 200,
		`"text":"","texts":{"zh":"慢"}`)
	s.want(s.ask("GET", path+"notice", "", asAda...), 200, `{"notice":{"level":"warning","text":"Payments are slow.",`)
	s.want(s.ask("POST", path+"notice", "", asAda...), 400, "must be a JSON object")
	s.want(s.ask("DELETE", path+"notice", "", asAda...), 200, `"version":2`)
}

// While operators have said so, nobody buys over HTTP, and lists are answered again for a moment, to each their own.
func TestSwitchesTakeLoadOff(t *testing.T) {
	t.Parallel()
	var counted []string
	s := open(t, func(o *Options) {
		o.Switches = func() app.Switches { return app.Switches{Lists: app.ListsCached} }
		o.NoBuy = func(sale app.ID, err error) {
			counted = append(counted, fmt.Sprint(sale, " ", app.AsError(err).Code))
		}
	})
	me := []string{"Authorization", "Bearer user-42"}
	s.want(s.ask("POST", "/api/v1/sales/5/buy", goodBuy, me...), 403, "switched off")
	if s.shop.got.Load() != nil || !slices.Equal(counted, []string{"5 forbidden"}) {
		t.Errorf("the flow was called, or the press is not counted: %q", counted)
	}
	const first, second = "/api/v1/orders?sale=8", "/api/v1/orders?sale=9"
	before := s.ask("GET", first, "", me...)
	s.want(before, 200, `"sale":"8"`)
	s.shop.fail = app.Fail(app.Busy, "the stores are busy")
	if again := s.ask("GET", first, "", me...); again.body != before.body {
		t.Errorf("asked again: %d %s", again.code, again.body)
	}
	s.want(s.ask("GET", second, "", me...), 503, "busy")
	s.want(s.ask("GET", first, "", "Authorization", "Bearer user-43"), 503, "busy") // somebody else's
	s.want(s.ask("GET", first, "", "Authorization", "Bearer x"), 401, "unauthorized")
	s.want(s.ask("GET", first, ""), 401, "unauthorized")
}
