package backoffice

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/fakes"
	"stampede/app/test/kit"
)

// Values are normalized; invalid ones are rejected.
func TestNormalizeBlockRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        store.BlockKind
		value, want string
		wantKind    store.BlockKind
	}{
		{store.BlockUser, " 7301444300000000007 ", "7301444300000000007", store.BlockUser},
		{store.BlockAddress, "203.0.113.9", "203.0.113.9", store.BlockAddress},
		{store.BlockAddress, "::ffff:203.0.113.9", "203.0.113.9", store.BlockAddress},
		{store.BlockAddress, "2001:db8::1:2:3:4", "2001:db8::/64", store.BlockNetwork},
		{store.BlockNetwork, "203.0.113.9/24", "203.0.113.0/24", store.BlockNetwork},
		{store.BlockNetwork, "::ffff:203.0.113.9/120", "203.0.113.0/24", store.BlockNetwork},
		{store.BlockNetwork, "2001:db8:1::/48", "2001:db8:1::/48", store.BlockNetwork},
	} {
		b := store.Block{Kind: c.kind, Value: c.value}
		if err := NormalizeBlock(&b); err != nil || b.Value != c.want || b.Kind != c.wantKind {
			t.Errorf("%s %q: got %s %q, %v; want %s %q", c.kind, c.value, b.Kind, b.Value, err, c.wantKind, c.want)
		}
	}
	for _, b := range []store.Block{
		{Kind: store.BlockUser, Value: "0"},
		{Kind: store.BlockUser, Value: "eve"},
		{Kind: store.BlockAddress, Value: "203.0.113.9/24"},
		{Kind: store.BlockAddress, Value: "fe80::1%eth0"},
		{Kind: store.BlockNetwork, Value: "203.0.113.9"},
		{Kind: store.BlockNetwork, Value: "0.0.0.0/0"},
		{Kind: store.BlockNetwork, Value: "10.0.0.0/7"},
		{Kind: store.BlockNetwork, Value: "::/0"},
		{Kind: store.BlockNetwork, Value: "::ffff:0.0.0.0/96"},
		{Kind: "name", Value: "eve"},
		{Kind: store.BlockUser, Value: "7", Reason: string(make([]byte, 300))},
	} {
		if err := NormalizeBlock(&b); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
			t.Errorf("%s %q: got %v, want bad_request", b.Kind, b.Value, err)
		}
	}
}

// An operator cannot block the own account, nor an address or network that contains the own address. Only an admin can
// block staff.
func TestOperatorCannotBlockSelfOrStaff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, role := range map[shop.ID]shop.Role{5: shop.Operator, 6: shop.Operator, 7: shop.Admin, 8: shop.Admin} {
		w.user(id, id.String()+"@shop.example", "Staff")
		w.exec("UPDATE users SET role = ?, password = 'hash' WHERE id = ?", role, id)
	}
	w.user(42, "ada@shop.example", "Ada")
	service := &BlockService{Store: w.Store, Time: func() shop.Millis { return shop.MillisOf(time.Now()) }}
	for _, c := range []struct {
		role        shop.Role
		from        string
		kind        store.BlockKind
		value, want string
	}{
		{shop.Operator, "", store.BlockUser, "5", "wrong_state"},
		{shop.Admin, "", store.BlockUser, "5", "wrong_state"},
		{shop.Admin, "203.0.113.9", store.BlockAddress, "203.0.113.9", "wrong_state"},
		{shop.Admin, "::ffff:203.0.113.9", store.BlockAddress, "203.0.113.9", "wrong_state"},
		{shop.Admin, "203.0.113.9", store.BlockNetwork, "203.0.0.0/16", "wrong_state"},
		{shop.Admin, "2001:db8::1", store.BlockAddress, "2001:db8::2", "wrong_state"},
		{shop.Operator, "", store.BlockUser, "6", "forbidden"},
		{shop.Operator, "", store.BlockUser, "7", "forbidden"},
		{shop.Admin, "", store.BlockUser, "6", ""},
		{shop.Admin, "", store.BlockUser, "7", ""},
		{shop.Admin, "", store.BlockUser, "8", "wrong_state"}, // the last admin who can log in
		{shop.Operator, "", store.BlockUser, "42", ""},
		{shop.Operator, "", store.BlockUser, "43", ""}, // a guest
		{shop.Operator, "203.0.113.9", store.BlockAddress, "203.0.113.8", ""},
		{shop.Operator, "203.0.113.9", store.BlockNetwork, "198.51.100.0/24", ""},
		{shop.Operator, "2001:db8::1", store.BlockAddress, "2001:db8:0:1::1", ""},
	} {
		actor := ada()
		actor.Role, actor.From = c.role, c.from
		_, err := service.AddBlock(w.ctx, actor, store.Block{Kind: c.kind, Value: c.value}, 0)
		code := ""
		if err != nil {
			code = string(shop.AsError(err).Code)
		}
		if code != c.want {
			t.Errorf("%s from %q blocks %s %s: got %v, want %q", c.role, c.from, c.kind, c.value, err, c.want)
		}
	}
}

// A node reads the list when its version has changed, calls OnChange, and keeps the last set while the database is
// unreachable. A block ends at its end time.
func TestBlockListReadsChangesAndKeepsLastSet(t *testing.T) {
	t.Parallel()
	s, ctx, changes := kit.SQLite(t), kit.Context(t), 0
	l := &BlockList{Store: s, Clock: shop.NewClock(), OnChange: func() { changes++ }}
	addr := netip.MustParseAddr
	if l.User(7) || l.Address(addr("203.0.113.9")) {
		t.Error("a user or an address is blocked before the first read")
	}
	read := func() {
		t.Helper()
		fakes.Must(t, l.RunOnce(ctx))
	}
	add := func(kind store.BlockKind, value string, duration time.Duration) int64 {
		t.Helper()
		b, err := s.Blocks().AddBlock(ctx, store.Block{Kind: kind, Value: value}, duration)
		fakes.Must(t, err)
		return b.ID
	}
	read()
	first := add(store.BlockUser, "7", 0)
	add(store.BlockUser, "8", time.Minute)
	add(store.BlockAddress, "203.0.113.9", 0)
	add(store.BlockNetwork, "198.51.100.0/24", 0)
	add(store.BlockNetwork, "2001:db8:0:1::/64", 0)
	add(store.BlockUser, "unreadable", 0)
	read()
	read()
	if changes != 2 {
		t.Errorf("OnChange calls: got %d, want 2", changes)
	}
	for text, want := range map[string]bool{
		"203.0.113.9": true, "::ffff:203.0.113.9": true, "203.0.113.8": false, "198.51.100.77": true,
		"198.51.101.77": false, "2001:db8:0:1:ff::1": true, "2001:db8:0:2::1": false,
	} {
		if l.Address(addr(text)) != want {
			t.Errorf("%s: blocked: got %v, want %v", text, !want, want)
		}
	}
	if l.Address(netip.Addr{}) {
		t.Error("an invalid address is blocked")
	}
	if !l.User(7) || !l.User(8) || l.User(10) {
		t.Error("the blocked users differ from the list, want users 7 and 8")
	}
	fakes.Must(t, l.Clock.Sample(ctx, &fakes.Redis{At: l.Clock.Now().Add(2 * time.Minute)}))
	if !l.User(7) || l.User(8) {
		t.Error("an ended block is in force, or a block without an end is not")
	}
	fakes.Must(t, fakes.ErrOf(s.Blocks().RemoveBlock(ctx, first)))
	read()
	if l.User(7) || changes != 3 {
		t.Errorf("user 7 is blocked after the removal, or OnChange calls: got %d, want 3", changes)
	}
	_, err := s.DB().ExecContext(ctx, "DELETE FROM blocks WHERE value = '198.51.100.0/24'")
	fakes.Must(t, err)
	if read(); l.Address(addr("198.51.100.77")) || changes != 4 {
		t.Errorf("a network is blocked after its row was deleted by hand, or OnChange calls: got %d, want 4", changes)
	}
	fakes.Must(t, s.Close())
	if err := l.RunOnce(ctx); err == nil || !l.Address(addr("203.0.113.9")) {
		t.Errorf("with an unreachable database: got %v, want an error and the last list", err)
	}
}

// If two blocks have the same value, the one with no end or with the later end is in force.
func TestLaterBlockOfOneValueIsInForce(t *testing.T) {
	t.Parallel()
	for _, blocks := range [][]store.Block{
		{{Kind: store.BlockUser, Value: "9", Until: 5}, {Kind: store.BlockUser, Value: "9"}},
		{{Kind: store.BlockUser, Value: "9"}, {Kind: store.BlockUser, Value: "9", Until: 5}},
	} {
		l := &BlockList{Clock: shop.NewClock()}
		if l.set.Store(newBlockSet(blocks)); !l.User(9) {
			t.Errorf("%+v: user 9 is not blocked", blocks)
		}
	}
}

// Every buy and every request checks the block list.
func TestBlockListCheckAllocatesNothing(t *testing.T) {
	l := &BlockList{Clock: shop.NewClock()}
	l.set.Store(newBlockSet([]store.Block{
		{Kind: store.BlockUser, Value: "7"},
		{Kind: store.BlockNetwork, Value: "198.51.100.0/24"},
		{Kind: store.BlockNetwork, Value: "2001:db8::/48"},
	}))
	addr := netip.MustParseAddr("203.0.113.9")
	if allocs := testing.AllocsPerRun(100, func() { l.User(7); l.Address(addr) }); allocs > 0 {
		t.Errorf("got %v allocations per check, want 0", allocs)
	}
}

// NormalizeBlock rejects a block with BadRequest, or returns a block that a second call does not change.
func FuzzBlock(f *testing.F) {
	for _, b := range [][2]string{
		{"user", "42"},
		{"user", "-1"},
		{"address", "203.0.113.9"},
		{"address", "2001:db8::1%eth0"},
		{"address", "::ffff:10.0.0.1"},
		{"network", "203.0.113.0/24"},
		{"network", "0.0.0.0/0"},
		{"network", "::/0"},
		{"", ""},
	} {
		f.Add(b[0], b[1], "a reason")
	}
	f.Fuzz(func(t *testing.T, kind, value, reason string) {
		b := store.Block{Kind: store.BlockKind(kind), Value: value, Reason: reason}
		err := NormalizeBlock(&b)
		if err != nil {
			if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
				t.Fatalf("%q %q: got %v, want bad_request", kind, value, err)
			}
			return
		}
		again := b
		if err := NormalizeBlock(&again); err != nil || again != b {
			t.Fatalf("normalized again: got %+v, %v; want %+v", again, err, b)
		}
		if p, err := netip.ParsePrefix(b.Value); b.Kind == store.BlockNetwork &&
			(err != nil || p.Bits() < minPrefixV4) {
			t.Fatalf("value %q: got the network %v, %v; want a prefix of at least /%d", value, p, err, minPrefixV4)
		}
	})
}
