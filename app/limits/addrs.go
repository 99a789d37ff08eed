package limits

import (
	"net/netip"
	"time"

	"stampede/app/shop"
)

// Addrs has a token bucket for each network of a client (shop.Networks). Own networks and wide networks have separate
// tables, so that a flood of own networks cannot evict the bucket of their wide network. A nil Addrs admits everything.
type Addrs struct{ own, wide *Table[netip.Prefix] }

// NewAddrs returns nil for a pace without a limit.
func NewAddrs(p Pace) *Addrs {
	if p.Rate <= 0 {
		return nil
	}
	all := Pace{Rate: p.Rate * shop.WideFactor, Period: p.Period, Burst: p.Burst * shop.WideFactor}
	return &Addrs{own: NewTable[netip.Prefix](p), wide: NewTable[netip.Prefix](all)}
}

// Take takes a token of the address, or returns how long to wait for one.
func (a *Addrs) Take(addr netip.Addr) (wait time.Duration) {
	if a == nil {
		return 0
	}
	return a.takeAt(addr, a.own.now())
}

func (a *Addrs) takeAt(addr netip.Addr, now int64) (wait time.Duration) {
	if a == nil {
		return 0
	}
	own, wide := shop.Networks(addr)
	if wait = a.own.takeAt(own, now); wait > 0 || !wide.IsValid() {
		return wait
	}
	if wait = a.wide.takeAt(wide, now); wait > 0 {
		a.own.GiveBack(own)
	}
	return wait
}

// GiveBack undoes a Take.
func (a *Addrs) GiveBack(addr netip.Addr) {
	if a == nil {
		return
	}
	own, wide := shop.Networks(addr)
	a.own.GiveBack(own)
	if wide.IsValid() {
		a.wide.GiveBack(wide)
	}
}

// Wait returns how long Take would reject the address. It takes no token.
func (a *Addrs) Wait(addr netip.Addr) time.Duration {
	if a == nil {
		return 0
	}
	own, wide := shop.Networks(addr)
	if !wide.IsValid() {
		return a.own.Wait(own)
	}
	return max(a.own.Wait(own), a.wide.Wait(wide))
}
