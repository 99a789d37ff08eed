package realtime

import (
	"net/netip"
	"testing"

	"stampede/app"
)

// The token in the handshake and that of hello are one and the same, or the socket is nobody's.
func TestRehearsalSocketsAreTheirShoppers(t *testing.T) {
	t.Parallel()
	shopper := app.Identity{User: 7, Role: app.Rehearser, Device: 9}
	own, other, office := app.RehearsalAddr(7), app.RehearsalAddr(8), netip.MustParseAddr("192.0.2.1")
	for _, c := range []struct {
		name string
		addr netip.Addr
		who  app.Identity
		may  bool
	}{
		{"its own shopper", own, shopper, true},
		{"another shopper", other, shopper, false},
		{"a shopper of a rehearsal, on a socket of anybody's", office, shopper, false},
		{"a guest, on a socket of a rehearsal", own, app.Identity{User: 7, Role: app.Shopper}, false},
		{"an operator, on a socket of a rehearsal", own, app.Identity{User: 7, Role: app.Operator, Device: 9}, false},
		{"a guest", office, app.Identity{User: 7, Role: app.Shopper}, true},
	} {
		cl := &client{addr: c.addr}
		if err := cl.mayBe(&c.who); (err == nil) != c.may {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for op := range ops {
		cl := &client{addr: own}
		if may := cl.mayAsk(op); may != rehearsalOps[op] {
			t.Errorf("a shopper of a rehearsal may %s: %v", op, may)
		}
		if !(&client{addr: office}).mayAsk(op) {
			t.Errorf("nobody may %s", op)
		}
	}
}
