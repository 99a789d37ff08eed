package limits

import (
	"net/netip"

	"stampede/app"
)

// BuyPaces are how often Buy may be pressed, over sockets and HTTP together. Those of a user and an address are of one
// node; that of all is of the whole shop.
type BuyPaces struct{ User, Addr, All Pace }

// Buys bounds how often Buy may be pressed. It is in memory: a buy costs no round trip for it, and no allocation unless
// it is refused.
type Buys struct {
	paces BuyPaces
	users *Table[app.ID]
	addrs *Table[netip.Addr]
	all   *bucket      // nil: no limit
	now   func() int64 // one reading of the clock for all three
}

// NewBuys makes the buckets of a node that is alone; SetNodes says that it is not.
func NewBuys(p BuyPaces) *Buys {
	b := &Buys{paces: p, users: NewTable[app.ID](p.User), addrs: NewTable[netip.Addr](p.Addr), now: sinceStart()}
	if p.All.Rate > 0 {
		b.all = &bucket{steps: p.All.steps()}
	}
	return b
}

// SetNodes says how many nodes share the pace of all.
func (b *Buys) SetNodes(nodes int) { b.all.setPace(b.paces.All.Shared(nodes)) }

// Take admits one press, or fails with RateLimited and the time until the next one counts. The narrowest comes first,
// and what it admits is given back when a wider one refuses: a user who floods takes nothing from the others behind the
// same address, and an address nothing from the shop.
func (b *Buys) Take(user app.ID, addr netip.Addr) error {
	now := b.now()
	if wait := b.users.takeAt(user, now); wait > 0 {
		return Refused("you press Buy too often", wait)
	}
	addr = app.CustomerAddr(addr)
	if wait := b.addrs.takeAt(addr, now); wait > 0 {
		b.users.GiveBack(user)
		return Refused("too many buys from your address", wait)
	}
	if wait := b.all.takeAt(now); wait > 0 {
		b.users.GiveBack(user)
		b.addrs.GiveBack(addr)
		return Refused("too many buys in this shop right now", wait)
	}
	return nil
}
