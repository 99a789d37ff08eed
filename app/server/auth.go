package server

import (
	"net/netip"

	"stampede/app/account"
	"stampede/app/backoffice"
	"stampede/app/shop"
)

// auth decides which users and addresses may use this node.
type auth struct {
	issuer *account.Issuer
	blocks *backoffice.BlockList
}

// verify is Issuer.Verify, but returns Forbidden for blocked users.
func (a auth) verify(token string) (shop.Identity, error) {
	who, err := a.issuer.Verify(token)
	switch {
	case err != nil:
		return who, err
	case a.blocks.User(who.User):
		return shop.Identity{}, shop.Fail(shop.Forbidden, "this account is blocked")
	}
	return who, nil
}

// isOperator reports whether the token belongs to an operator.
func (a auth) isOperator(token string) bool {
	who, err := a.verify(token)
	return err == nil && who.Role.IsOperator()
}

// blocked reports whether the user or the address is blocked.
func (a auth) blocked(user shop.ID, addr netip.Addr) bool {
	return a.blocks.User(user) || a.blocks.Address(addr)
}
