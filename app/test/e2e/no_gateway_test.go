package e2e

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// P8: in a shop that has taken a payment, no process without the gateway recovers, settles or ends orders. Commands and
// nodes name the missing variables. A node of the role api starts.
func TestShopWithPaymentsNeedsItsGateway(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(10, 1)
	if out, code := s.run("recover"); code != 0 {
		t.Errorf("recover without a payment: exit code %d, %s", code, out)
	}
	_, err := s.db.Exec("INSERT INTO trades (order_id, opened_at, expires_at) VALUES (?, 1, 2)", kit.NewID())
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
	s.start("STAMPEDE_ROLES=api")
}
