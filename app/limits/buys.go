package limits

import (
	"net/netip"

	"stampede/app"
)

// BuyPaces limit buys, over sockets and HTTP together. User and address are limited per node, all buys per shop.
type BuyPaces struct{ User, Addr, All Pace }

// Buys limits buys in memory: without a round trip, and without an allocation unless one is rejected.
type Buys struct {
	paces BuyPaces
	users *Table[app.ID]
	addrs *Table[netip.Addr]
	all   *bucket      // nil: no limit
	now   func() int64 // one reading of the clock for all three
}

// NewBuys makes the buckets of a single node; see SetNodes.
func NewBuys(p BuyPaces) *Buys {
	b := &Buys{paces: p, users: NewTable[app.ID](p.User), addrs: NewTable[netip.Addr](p.Addr), now: sinceStart()}
	if p.All.Rate > 0 {
		b.all = &bucket{steps: p.All.steps()}
	}
	return b
}

// SetNodes sets how many nodes share the pace of all buys.
func (b *Buys) SetNodes(nodes int) { b.all.setPace(b.paces.All.Shared(nodes)) }

// Take admits a buy, or fails with RateLimited and the time until the next one is admitted. A wider limit that rejects
// gives the narrower ones back: a user who floods takes nothing from the address, and an address nothing from the shop.
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
