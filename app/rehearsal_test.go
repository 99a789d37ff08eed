package app

import (
	"net/netip"
	"testing"
	"time"
)

// A shopper of a rehearsal is offered its sale and no other one, and nobody else is.
func TestOfferedToWhom(t *testing.T) {
	t.Parallel()
	w, desk := newDeskWorld()
	shadow := w.sales[1]
	shadow.ID, shadow.Rehearses = 9, 1
	w.sales[9] = shadow
	ctx := t.Context()
	for _, c := range []struct {
		name string
		mine ID
		sale ID
		code Code
	}{
		{"a shopper, a sale", 0, 1, ""},
		{"a shopper, that of a rehearsal", 0, 9, NotFound},
		{"its own shopper", 9, 9, ""},
		{"its own shopper, a real sale", 9, 1, Forbidden},
		{"the shopper of another rehearsal", 8, 9, Forbidden},
	} {
		asker := ctx
		if c.mine != 0 {
			asker = Rehearsing(ctx, c.mine)
		}
		_, err := desk.Catalogue.Offered(asker, c.sale)
		if err == nil && c.code != "" || err != nil && AsError(err).Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Each shopper counts as a customer of their own, at an address that no real one comes from.
func TestRehearsalAddresses(t *testing.T) {
	t.Parallel()
	seen := make(map[netip.Addr]bool)
	for user := ID(118_088_881_768_767_488); user < 118_088_881_768_767_488+1000; user++ {
		addr := CustomerAddr(RehearsalAddr(user))
		if seen[addr] || !addr.IsMulticast() || !IsRehearsalAddr(RehearsalAddr(user)) {
			t.Fatalf("user %s counts as %s", user, addr)
		}
		seen[addr] = true
	}
	for _, addr := range []string{"127.0.0.1", "::1", "2001:db8::1", "fe80::1", "::ffff:192.0.2.1"} {
		if IsRehearsalAddr(netip.MustParseAddr(addr)) {
			t.Errorf("%s is one of a rehearsal", addr)
		}
	}
}

// A node lets in as many shoppers as the rehearsal has, each as often as they come, and nobody of another one.
func TestRehearsalAdmits(t *testing.T) {
	t.Parallel()
	now := Millis(1000)
	w := &RehearsalWatch{Now: func() Millis { return now }}
	who := func(user, sale ID) *Identity { return &Identity{User: user, Role: Rehearser, Device: sale} }
	if w.Admits(who(1, 9)) {
		t.Error("admitted without a rehearsal")
	}
	w.running.Store(&rehearsalSeen{Rehearsal: Rehearsal{Sale: 9, UntilAt: 2000}, shoppers: newShopperSet(2)})
	for _, c := range []struct {
		who *Identity
		in  bool
	}{
		{who(1, 9), true},
		{who(1, 8), false},
		{&Identity{User: 2, Role: Shopper, Device: 9}, false},
		{who(2, 9), true},
		{who(3, 9), false},
		{who(1, 9), true},
	} {
		if in := w.Admits(c.who); in != c.in {
			t.Errorf("%+v: %v", c.who, in)
		}
	}
	now = 2000
	if w.Admits(who(1, 9)) {
		t.Error("admitted when its time was over, which the database could not say")
	}
}

// The copy of a sale has its terms, all of its units, and no picture before it; it is open to nobody yet.
func TestShadowOfASale(t *testing.T) {
	t.Parallel()
	now := MillisOf(time.Now())
	sale := Sale{
		ID: 5, Slot: 2, Partition: 3, PriceFen: 4900, Initial: 100, Added: 20, Withdrawn: 5, Limit: 2, Cap: 6,
		OpensAt: now, ClosesAt: now.Add(time.Hour), Paused: true, Challenge: ChallengeCaptcha, Version: 7, Epoch: 4,
	}
	got := shadowOf(&sale, 9, now.Add(time.Minute), 0)
	if got.ID != 9 || got.Slot != 9 || got.Rehearses != 5 || got.Partition != 3 || got.PriceFen != 4900 ||
		got.Initial != 115 || got.Added != 0 || got.Withdrawn != 0 || got.Limit != 2 || got.Cap != 6 || got.Paused ||
		got.Challenge != ChallengePass || got.Version != 1 || got.Epoch != 0 || got.OpensAt <= now ||
		got.ClosesAt <= got.OpensAt {
		t.Errorf("the copy is %+v", got)
	}
	if got := shadowOf(&sale, 9, now, 7); got.Initial != 7 {
		t.Errorf("asked for 7 units, it has %d", got.Initial)
	}
}
