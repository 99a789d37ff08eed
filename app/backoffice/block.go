package backoffice

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// minPrefixV4 and minPrefixV6 are the shortest prefix lengths that can be blocked: a typing error must not block
	// most buyers.
	minPrefixV4 = 8
	minPrefixV6 = 16
	maxReason   = 200 // characters
	maxBlocker  = 80
)

// NormalizeBlock validates a block and writes its value in canonical form. An IPv6 address becomes its /64 network,
// because one customer usually has a whole /64.
func NormalizeBlock(b *store.Block) error {
	b.Reason, b.CreatedBy = strings.TrimSpace(b.Reason), strings.TrimSpace(b.CreatedBy)
	if utf8.RuneCountInString(b.Reason) > maxReason || utf8.RuneCountInString(b.CreatedBy) > maxBlocker {
		return shop.Fail(shop.BadRequest, "reason must have at most 200 characters, and the name of the operator at most 80")
	}
	value := strings.TrimSpace(b.Value)
	switch b.Kind {
	case store.BlockUser:
		user, err := shop.ParseID(value)
		if err != nil {
			return shop.Fail(shop.BadRequest, "a user must be an id, which is a positive number")
		}
		b.Value = user.String()
		return nil
	case store.BlockAddress:
		addr, err := netip.ParseAddr(value)
		if err != nil || addr.Zone() != "" {
			return shop.Fail(shop.BadRequest, "an address must have the form 203.0.113.9 or 2001:db8::1")
		}
		if addr = addr.Unmap(); addr.Is6() {
			b.Kind, value = store.BlockNetwork, addr.String()+"/64"
			return normalizeNetwork(b, value)
		}
		b.Value = addr.String()
		return nil
	case store.BlockNetwork:
		return normalizeNetwork(b, value)
	}
	return shop.Fail(shop.BadRequest, "kind must be user, address or network")
}

func normalizeNetwork(b *store.Block, value string) error {
	network, err := netip.ParsePrefix(value)
	if err != nil {
		return shop.Fail(shop.BadRequest, "a network must have the form 203.0.113.0/24 or 2001:db8::/48")
	}
	if addr := network.Addr(); addr.Is4In6() && network.Bits() >= 96 {
		network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
	}
	minBits := minPrefixV4
	if network.Addr().Is6() {
		minBits = minPrefixV6
	}
	if network.Bits() < minBits {
		return shop.Fail(shop.BadRequest, "the network is too wide: the minimum prefix is /8, for IPv6 /16")
	}
	b.Value = network.Masked().String()
	return nil
}
