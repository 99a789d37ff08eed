package realtime

import (
	"net/netip"
	"sync/atomic"
	"testing"

	"stampede/app"
)

// Who is blocked while connected is told so and closed; others stay; who comes later is closed as well, before anything
// was answered, and who is let in again is in again.
func TestBlockedSocketsAreClosed(t *testing.T) {
	t.Parallel()
	var blockedUser atomic.Int64
	var blockedHost atomic.Bool
	n := startNode(t, func(o *Options) {
		o.Blocked = func(user app.ID, addr netip.Addr) bool {
			return user != 0 && user == app.ID(blockedUser.Load()) || blockedHost.Load() && addr.IsLoopback()
		}
	})
	hello := func(token string) *peer {
		t.Helper()
		p := n.dial(t)
		p.must(`"op":"hello","token":"`+token+`"`, nil)
		return p
	}
	eve, ada := hello("user:7"), hello("user:8")
	blockedUser.Store(7)
	n.hub.CloseBlocked()
	eve.awaitClose(CloseBlocked)
	ada.must(`"op":"time","t0":1`, nil)

	again := n.dial(t) // the token is verified by the shop; here only the hub looks
	again.sendUnlessEnded(`{"id":1,"op":"hello","token":"user:7"}`)
	again.awaitClose(CloseBlocked)

	blockedHost.Store(true)
	n.hub.CloseBlocked()
	ada.awaitClose(CloseBlocked)
	stranger := n.dial(t)
	stranger.awaitClose(CloseBlocked)

	blockedHost.Store(false)
	blockedUser.Store(0)
	hello("user:7")
}
