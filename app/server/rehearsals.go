package server

import (
	"net/netip"

	"stampede/app"
)

// socketShop is the shop as sockets ask it: there the shoppers of a rehearsal are let in, while it runs.
type socketShop struct{ *shop }

// Verify is that of the shop, and lets in whom the rehearsal that runs admits.
func (s socketShop) Verify(token string) (app.Identity, error) {
	who, err := s.Issuer.Verify(token)
	if err == nil && who.Rehearsal() != 0 {
		if !s.rehearsals.Admits(&who) {
			return app.Identity{}, app.Fail(app.Forbidden, "no rehearsal runs that this token is for")
		}
		return who, nil
	}
	return s.shop.Verify(token)
}

// Revoked is that of the issuer; tokens of a rehearsal count as long as it runs.
func (s socketShop) Revoked(who app.Identity) bool {
	return s.Issuer.Revoked(who) || who.Rehearsal() != 0 && !s.rehearsals.Admits(&who)
}

// rehearsalAddr is the address that the bearer of a token of the rehearsal that runs counts as.
func (s *shop) rehearsalAddr(token string) (netip.Addr, bool) {
	who, err := s.Issuer.Verify(token)
	if err != nil || !s.rehearsals.Admits(&who) {
		return netip.Addr{}, false
	}
	return app.RehearsalAddr(who.User), true
}

// rehearsalDesk begins, ends and removes rehearsals.
func (p *parts) rehearsalDesk() *app.RehearsalDesk {
	return &app.RehearsalDesk{
		Journal: p.shop.Journal, Store: p.stores.db, Sales: p.ports.sales, Orders: p.ports.orders,
		Inventory: p.ports.inventory, Redis: p.ports.keeper, Keys: p.inventory, Dead: p.inventory, Effects: p.effects,
	}
}
