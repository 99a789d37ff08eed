package limits

import (
	"net/netip"

	"stampede/app/shop"
)

// Places counts resources that clients hold, such as connections or long polls. Neither a user nor an address can hold
// all of them. Not safe for concurrent use.
type Places struct {
	Max, User, Addr int // in total, per user, per address; 0: no limit
	total           int
	users           map[shop.ID]int
	nets            map[netip.Prefix]int // see shop.Networks
}

// HasRoom reports whether a user (0: unknown) at an address (zero: unknown) may hold one more resource. An IPv6 site
// may hold shop.WideFactor times as many as an address, and at most half of Max.
func (p *Places) HasRoom(user shop.ID, addr netip.Addr) bool {
	narrow, wide := shop.Networks(addr)
	site := p.Addr * shop.WideFactor
	if p.Max > 0 {
		site = max(p.Addr, min(site, p.Max/2))
	}
	return hasRoom(p.total, p.Max) && (user == 0 || hasRoom(p.users[user], p.User)) &&
		(!narrow.IsValid() || hasRoom(p.nets[narrow], p.Addr)) &&
		(!wide.IsValid() || hasRoom(p.nets[wide], site))
}

func hasRoom(taken, limit int) bool { return limit <= 0 || taken < limit }

// Held returns how many resources an address holds.
func (p *Places) Held(addr netip.Addr) int {
	narrow, _ := shop.Networks(addr)
	return p.nets[narrow]
}

// Add counts n more resources; n is negative for released resources.
func (p *Places) Add(user shop.ID, addr netip.Addr, n int) {
	if p.nets == nil {
		p.users, p.nets = make(map[shop.ID]int), make(map[netip.Prefix]int)
	}
	p.total += n
	if user != 0 {
		count(p.users, user, n)
	}
	narrow, wide := shop.Networks(addr)
	count(p.nets, narrow, n)
	if wide.IsValid() {
		count(p.nets, wide, n)
	}
}

func count[K comparable](taken map[K]int, key K, n int) {
	if taken[key] += n; taken[key] <= 0 {
		delete(taken, key)
	}
}
