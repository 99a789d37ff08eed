package shop

import (
	"net/netip"
)

// WideFactor: the limit of a wide network is WideFactor times the limit of a narrow network, see Networks.
const WideFactor = 16

// Networks returns the networks under which rate limits count a client. For IPv4, narrow is the address alone and wide
// is invalid. For IPv6, narrow is the /64 of one customer, and wide is the /48 of one site, which has 65,536 customers.
// The zero address returns zero networks.
func Networks(addr netip.Addr) (narrow, wide netip.Prefix) {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		wide, _ = addr.Prefix(48)
		narrow, _ = addr.Prefix(64)
		return narrow, wide
	}
	narrow, _ = addr.Prefix(addr.BitLen())
	return narrow, wide
}

// IsLocalHost reports whether a host in an address is this machine. Another name may be any machine.
func IsLocalHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
