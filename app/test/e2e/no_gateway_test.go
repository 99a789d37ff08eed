package e2e

import (
	"strings"
	"testing"

	"stampede/app/alipay/sim"
)

// P8: in a shop that takes payments, no process without its gateway recovers, settles or ends orders. Commands and
// nodes name the missing variables, or the other account. A node of the role api starts.
func TestShopWithPaymentsNeedsItsGateway(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(10, 1)
	if out, code := s.run("recover"); code != 0 {
		t.Errorf("recover without a payment: exit code %d, %s", code, out)
	}
	_, err := s.db.Exec(`INSERT INTO settings (name, value) VALUES ('gateway', '{"name":"alipay","mode":"production","app":"2021001"}')`)
	s.must(err)
	for _, c := range []struct {
		code     int
		settings []string
		args     []string
	}{
		{1, nil, []string{"recover"}},
		{1, nil, []string{"recover", "settle", sale.ID.String(), "--end"}},
		{1, nil, []string{"serve"}},
		{1, []string{"STAMPEDE_ROLES=worker"}, []string{"serve"}},
		{1, []string{"STAMPEDE_ROLES=api,sweeper"}, []string{"serve"}},
		{3, nil, []string{"checkconfig"}},
	} {
		out, code := run(t, append(s.settings, c.settings...), c.args...)
		for _, part := range []string{"STAMPEDE_ALIPAY_APP_ID", "_PRIVATE_KEY", "_PUBLIC_KEY"} {
			if code != c.code || !strings.Contains(out, part) {
				t.Fatalf("%v with %q: exit code %d, want %d and %s in %s", c.args, c.settings, code, c.code, part, out)
			}
		}
	}
	keys, err := sim.NewKeys()
	s.must(err)
	another, err := keys.Environ("http://127.0.0.1:1")
	s.must(err)
	for _, args := range [][]string{{"recover"}, {"recover", "settle", sale.ID.String(), "--end"}, {"serve"}} {
		out, code := run(t, append(s.settings, another...), args...)
		if code != 1 || !strings.Contains(out, "another account (alipay production, app 2021001)") {
			t.Fatalf("%v with another account: exit code %d, want 1; %s", args, code, out)
		}
	}
	s.start("STAMPEDE_ROLES=api")
}
