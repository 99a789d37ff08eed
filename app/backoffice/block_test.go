package backoffice

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// What people write is put into one form, and what cannot be meant is refused.
func TestNormalizeBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        BlockKind
		value, want string
		as          BlockKind
	}{
		{BlockUser, " 7301444300000000007 ", "7301444300000000007", BlockUser},
		{BlockAddress, "203.0.113.9", "203.0.113.9", BlockAddress},
		{BlockAddress, "::ffff:203.0.113.9", "203.0.113.9", BlockAddress},
		{BlockAddress, "2001:db8::1:2:3:4", "2001:db8::/64", BlockNetwork},
		{BlockNetwork, "203.0.113.9/24", "203.0.113.0/24", BlockNetwork},
		{BlockNetwork, "::ffff:203.0.113.9/120", "203.0.113.0/24", BlockNetwork},
		{BlockNetwork, "2001:db8:1::/48", "2001:db8:1::/48", BlockNetwork},
	} {
		b := Block{Kind: c.kind, Value: c.value}
		if err := b.Normalize(); err != nil || b.Value != c.want || b.Kind != c.as {
			t.Errorf("%s %q: %s %q, %v", c.kind, c.value, b.Kind, b.Value, err)
		}
	}
	for _, b := range []Block{
		{Kind: BlockUser, Value: "0"},
		{Kind: BlockUser, Value: "eve"},
		{Kind: BlockAddress, Value: "203.0.113.9/24"},
		{Kind: BlockAddress, Value: "fe80::1%eth0"},
		{Kind: BlockNetwork, Value: "203.0.113.9"},
		{Kind: BlockNetwork, Value: "0.0.0.0/0"},
		{Kind: BlockNetwork, Value: "10.0.0.0/7"},
		{Kind: BlockNetwork, Value: "::/0"},
		{Kind: BlockNetwork, Value: "::ffff:0.0.0.0/96"},
		{Kind: "name", Value: "eve"},
		{Kind: BlockUser, Value: "7", Reason: string(make([]byte, 300))},
	} {
		if err := b.Normalize(); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
			t.Errorf("%s %q: %v", b.Kind, b.Value, err)
		}
	}
}

// fakeBlocks is the list in the database.
type fakeBlocks struct {
	version int64
	blocks  []Block
	reads   int
	err     error
}

func (f *fakeBlocks) BlocksVersion(context.Context) (int64, error) { return f.version, f.err }

func (f *fakeBlocks) Blocks(context.Context, shop.Millis) ([]Block, error) {
	f.reads++
	return f.blocks, f.err
}

// A node takes a list over when its version has grown, tells that it did, reads nothing otherwise, and keeps what it
// knows while the database is away. A block ends by itself.
func TestBlockListFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, changes := &fakeBlocks{}, 0
		l := &BlockList{Store: store, Clock: shop.NewClock(), OnChange: func() { changes++ }}
		ctx := t.Context()
		addr := netip.MustParseAddr
		if l.User(7) || l.Address(addr("203.0.113.9")) {
			t.Error("blocked before anything was read")
		}
		look := func() {
			t.Helper()
			fakes.Must(t, l.RunOnce(ctx))
		}
		look()
		store.version, store.blocks = 1, []Block{
			{Kind: BlockUser, Value: "7"},
			{Kind: BlockUser, Value: "8", Until: l.Clock.Now().Add(time.Minute)},
			{Kind: BlockAddress, Value: "203.0.113.9"},
			{Kind: BlockNetwork, Value: "198.51.100.0/24"},
			{Kind: BlockNetwork, Value: "2001:db8:0:1::/64"},
			{Kind: BlockUser, Value: "9", Until: l.Clock.Now().Add(time.Second)},
			{Kind: BlockUser, Value: "9"},
			{Kind: BlockUser, Value: "unreadable"},
		}
		look()
		look()
		if changes != 2 || store.reads != 2 {
			t.Errorf("%d changes told, %d reads of the rows, want 2", changes, store.reads)
		}
		store.err = shop.ErrTransient
		if err := l.RunOnce(ctx); !errors.Is(err, shop.ErrTransient) {
			t.Errorf("a database that is away: %v", err)
		}
		for text, want := range map[string]bool{
			"203.0.113.9": true, "::ffff:203.0.113.9": true, "203.0.113.8": false, "198.51.100.77": true,
			"198.51.101.77": false, "2001:db8:0:1:ff::1": true, "2001:db8:0:2::1": false,
		} {
			if l.Address(addr(text)) != want {
				t.Errorf("%s blocked: %v", text, !want)
			}
		}
		if l.Address(netip.Addr{}) {
			t.Error("an address that could not be read is blocked")
		}
		if !l.User(7) || !l.User(8) || !l.User(9) || l.User(10) {
			t.Error("other users are blocked than those on the list")
		}
		time.Sleep(time.Minute) // of the bubble
		if !l.User(7) || l.User(8) || !l.User(9) {
			t.Error("a block that has ended holds, or one without an end does not")
		}
		store.err, store.version, store.blocks = nil, 2, nil
		look()
		if l.User(7) || l.Address(addr("203.0.113.9")) {
			t.Error("still blocked after the removal")
		}
	})
}

// A look at the list is on the way of every buy and every request.
func TestALookAtTheBlockListAllocatesNothing(t *testing.T) {
	l := &BlockList{Clock: shop.NewClock()}
	l.set.Store(newBlockSet([]Block{
		{Kind: BlockUser, Value: "7"},
		{Kind: BlockNetwork, Value: "198.51.100.0/24"},
		{Kind: BlockNetwork, Value: "2001:db8::/48"},
	}))
	addr := netip.MustParseAddr("203.0.113.9")
	if allocs := testing.AllocsPerRun(100, func() { l.User(7); l.Address(addr) }); allocs > 0 {
		t.Errorf("a look allocates %v times", allocs)
	}
}

// What an operator writes about a block is refused with a sentence, or becomes a form that stays what it is.
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
		b := Block{Kind: BlockKind(kind), Value: value, Reason: reason}
		err := b.Normalize()
		if err != nil {
			if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
				t.Fatalf("%q %q: %v", kind, value, err)
			}
			return
		}
		again := b
		if err := again.Normalize(); err != nil || again != b {
			t.Fatalf("%+v became %+v, %v", b, again, err)
		}
		if p, err := netip.ParsePrefix(b.Value); b.Kind == BlockNetwork && (err != nil || p.Bits() < shortestV4) {
			t.Fatalf("%q blocks %v, %v", value, p, err)
		}
	})
}
