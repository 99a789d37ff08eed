package limits

import (
	"net/netip"
	"time"

	"stampede/app/shop"
)

// Addrs limits calls by address. It has a token bucket for the narrow network of a client (an IPv4 address or an IPv6
// /64) and one for its wide network (an IPv6 /48), see shop.Networks. The two kinds are in separate tables, so that
// many narrow networks cannot evict the bucket of the wide network that contains them. A nil Addrs admits all calls.
type Addrs struct{ narrow, wide *Table[netip.Prefix] }

// NewAddrs returns nil if the pace sets no limit.
func NewAddrs(p Pace) *Addrs {
	if p.Rate <= 0 {
		return nil
	}
	widePace := Pace{Rate: p.Rate * shop.WideFactor, Period: p.Period, Burst: p.Burst * shop.WideFactor}
	return &Addrs{narrow: NewTable[netip.Prefix](p), wide: NewTable[netip.Prefix](widePace)}
}

// Take takes a token of the address. Without a free token it takes none and returns the wait until the next one.
func (a *Addrs) Take(addr netip.Addr) (wait time.Duration) {
	if a == nil {
		return 0
	}
	return a.takeAt(addr, a.narrow.now())
}

func (a *Addrs) takeAt(addr netip.Addr, now int64) (wait time.Duration) {
	if a == nil {
		return 0
	}
	narrow, wide := shop.Networks(addr)
	if wait = a.narrow.takeAt(narrow, now); wait > 0 || !wide.IsValid() {
		return wait
	}
	if wait = a.wide.takeAt(wide, now); wait > 0 {
		a.narrow.GiveBack(narrow)
	}
	return wait
}

// GiveBack undoes a Take.
func (a *Addrs) GiveBack(addr netip.Addr) {
	if a == nil {
		return
	}
	narrow, wide := shop.Networks(addr)
	a.narrow.GiveBack(narrow)
	if wide.IsValid() {
		a.wide.GiveBack(wide)
	}
}

// Wait returns the wait until Take succeeds for the address; 0: now. It takes no token.
func (a *Addrs) Wait(addr netip.Addr) time.Duration {
	if a == nil {
		return 0
	}
	narrow, wide := shop.Networks(addr)
	if !wide.IsValid() {
		return a.narrow.Wait(narrow)
	}
	return max(a.narrow.Wait(narrow), a.wide.Wait(wide))
}
