package realtime

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/shop"
)

// The connections of a user who becomes blocked are closed with CloseBlocked; others stay. New connections of a blocked
// user are closed before any reply. After the block is lifted, the user connects again.
func TestBlockedSocketsAreClosed(t *testing.T) {
	t.Parallel()
	var blockedUser atomic.Int64
	var blockedHost atomic.Bool
	n := startNode(t, func(o *Options) {
		o.Blocked = func(user shop.ID, addr netip.Addr) bool {
			return user != 0 && user == shop.ID(blockedUser.Load()) || blockedHost.Load() && addr.IsLoopback()
		}
	})
	blocked, other := n.connectAs(t, "user:7"), n.connectAs(t, "user:8")
	blockedUser.Store(7)
	n.hub.CloseBlocked()
	blocked.awaitClose(CloseBlocked)
	other.mustCall(`"op":"time","t0":1`, nil)

	again := n.dial(t) // the shop accepts the token; only the hub checks the block
	again.sendUnlessEnded(`{"id":1,"op":"hello","token":"user:7"}`)
	again.awaitClose(CloseBlocked)

	blockedHost.Store(true)
	n.hub.CloseBlocked()
	other.awaitClose(CloseBlocked)
	anonymous := n.dial(t)
	anonymous.awaitClose(CloseBlocked)

	blockedHost.Store(false)
	blockedUser.Store(0)
	n.connectAs(t, "user:7")
}

// A buy over a socket counts for its user and its address like a buy over HTTP. A buyer above the limit receives the
// delay until the next attempt, and the shop is not called.
func TestSocketBuysCountAgainstLimits(t *testing.T) {
	t.Parallel()
	var checked atomic.Int64
	n := startNode(t, func(o *Options) {
		o.AdmitBuy = func(user shop.ID, addr netip.Addr, sale shop.ID) error {
			if user != 7 || !addr.IsLoopback() || sale == 0 {
				t.Errorf("AdmitBuy got user %v, address %v, sale %v; want user 7, a loopback address and a sale", user, addr, sale)
			}
			if checked.Add(1) > 1 {
				e := shop.Fail(shop.RateLimited, "too many buys of this user")
				e.RetryMS = 700
				return e
			}
			return nil
		}
	})
	var bought atomic.Int64
	n.shop.set(func(s *fakeShop) {
		s.buy = func(shop.ID, order.BuyRequest) (order.Receipt, error) {
			bought.Add(1)
			return order.Receipt{Order: 1, State: shop.Reserved}, nil
		}
	})
	p := n.connect(t, 7)
	const firstBuy = `"op":"buy","sale":"101","qty":1,"key":"first-buy"`
	p.mustCall(firstBuy, nil)
	if e := p.wantError(firstBuy, shop.RateLimited); e.RetryMS != 700 {
		t.Errorf("second buy: got %+v, want retry_ms 700", e)
	}
	p.call(`"op":"buy","sale":"101","qty":"x","key":"first-buy"`) // an invalid frame does not count
	if bought.Load() != 1 || checked.Load() != 2 {
		t.Errorf("%d buys reached the shop and %d were counted, want 1 and 2", bought.Load(), checked.Load())
	}
}

// Each op counts in a class for its user and address before it runs, or has an exemption with a reason here.
func TestOpsHaveALimitClass(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"hello": "once per handshake",
		"renew": "cost: one signature check",
		"time":  "reads a clock in memory",
		"seen":  "has no effect",
		"buy":   "AdmitBuy counts it in the class buy, per sale",
		"board": "requires the role of an operator",
	}
	var class atomic.Value
	n := startNode(t, func(o *Options) {
		o.OpsBurst = 1000
		o.Admit = func(of limits.Class, user shop.ID, addr netip.Addr) error {
			class.Store(of)
			if user != 7 || !addr.IsLoopback() {
				t.Errorf("class %s counts user %v at %v, want user 7 at a loopback address", of, user, addr)
			}
			return limits.RateLimitError("enough", 700*time.Millisecond)
		}
	})
	p := n.connect(t, 7)
	for name := range ops {
		class.Store(limits.Class(""))
		got := p.call(fmt.Sprintf(`"op":%q,"order":"1","sale":"101"`, name))
		counted := class.Load() != limits.Class("")
		limited := got.Error != nil && got.Error.Code == shop.RateLimited && got.Error.RetryMS == 700
		if wantCounted := exempt[name] == ""; counted != wantCounted || limited != wantCounted {
			t.Errorf("op %s: got class %q, reason for exemption %q, error %+v", name, class.Load(), exempt[name], got.Error)
		}
	}
}

// Each op needs a token, or its cost for an anonymous caller is listed here.
func TestOpsNeedATokenOrAreListedAsPublic(t *testing.T) {
	t.Parallel()
	public := map[string]string{
		"hello":   "memory and one signature check",
		"time":    "none",
		"watch":   "the catalogue in memory",
		"unwatch": "memory",
	}
	p := startNode(t).connect(t, 0)
	for op := range ops {
		e := p.call(`"op":"` + op + `","sale":"101","sales":["101"],"order":"1","t0":1`).Error
		needsToken := e != nil && e.Code == shop.Unauthorized
		if _, listed := public[op]; listed == needsToken {
			t.Errorf("op %s: got %v; listed as public: %t", op, e, listed)
		}
	}
}
