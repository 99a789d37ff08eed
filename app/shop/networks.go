package shop

import (
	"net/netip"
)

// WideFactor is the factor between the limit of a wide network and the limit of an address, see Networks.
const WideFactor = 16

// Networks returns the networks under which rate limits count a client. For IPv4, own is the address alone and wide is
// invalid. For IPv6, own is the /64 of one customer, and wide is the /48 of one site, which has 65,536 customers. The
// zero address returns zero networks.
func Networks(addr netip.Addr) (own, wide netip.Prefix) {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		wide, _ = addr.Prefix(48)
		own, _ = addr.Prefix(64)
		return own, wide
	}
	own, _ = addr.Prefix(addr.BitLen())
	return own, wide
}
