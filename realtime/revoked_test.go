package realtime

import (
	"testing"

	"stampede/app/shop"
)

// After a revocation all ops fail and the socket is closed. It stays open if the client renews in time with a token of
// another device of the same user. Other users are unaffected.
func TestRevokedSocketsAreClosed(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	revoked, renewed, other := n.connectAs(t, "device:3:7"), n.connectAs(t, "user:7"), n.connectAs(t, "device:4:7")
	renewed.mustCall(`"op":"renew","token":"device:5:7"`, nil)
	n.shop.set(func(s *fakeShop) { s.revoked = map[shop.ID]bool{3: true, 7: true} })
	revoked.sendUnlessEnded(`{"id":9,"op":"orders"}`)
	revoked.awaitClose(CloseRevoked)
	for _, p := range []*peer{renewed, other} {
		p.mustCall(`"op":"orders"`, nil)
	}
}

// A client that logs in over an open socket can renew with the new token until the second check. The login revokes the
// earlier tokens.
func TestRevokedSocketMayRenewUntilTheSecondCheck(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.CheckEvery = 1 << 40 })
	check := n.hub.checkClientsOnce // the first periodic check runs after 18 minutes
	staying, leaving := n.connectAs(t, "user:7"), n.connectAs(t, "user:7")
	n.shop.set(func(s *fakeShop) { s.revoked = map[shop.ID]bool{7: true} })
	check()
	staying.mustCall(`"op":"renew","token":"device:5:7"`, nil)
	leaving.mustCall(`"op":"time","t0":1`, nil)
	check()
	leaving.awaitClose(CloseRevoked)
	staying.mustCall(`"op":"orders"`, nil)

	n.shop.set(func(s *fakeShop) { s.revoked[5] = true })
	check()
	staying.mustCall(`"op":"time","t0":1`, nil)
	check()
	staying.awaitClose(CloseRevoked)
}

// Between the revocation and the close all ops of a user fail.
func TestOpsOfRevokedTokenAreRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.CheckEvery = 1 << 40 })
	p := n.connectAs(t, "device:3:7")
	n.shop.set(func(s *fakeShop) { s.revoked = map[shop.ID]bool{3: true} })
	for _, op := range []string{`"op":"orders"`, `"op":"buy","sale":"5","qty":1,"key":"12345678"`, `"op":"cancel","order":"6"`} {
		p.wantError(op, shop.Unauthorized)
	}
	p.mustCall(`"op":"time","t0":1`, nil)
}
