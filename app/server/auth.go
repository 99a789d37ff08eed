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
	identity, err := a.issuer.Verify(token)
	switch {
	case err != nil:
		return identity, err
	case a.blocks.User(identity.User):
		return shop.Identity{}, shop.Fail(shop.Forbidden, shop.AccountBlocked)
	}
	return identity, nil
}

// isOperator reports whether the token belongs to an operator.
func (a auth) isOperator(token string) bool {
	identity, err := a.verify(token)
	return err == nil && identity.Role.IsOperator()
}

// blocked reports whether the user or the address is blocked.
func (a auth) blocked(user shop.ID, addr netip.Addr) bool {
	return a.blocks.User(user) || a.blocks.Address(addr)
}
