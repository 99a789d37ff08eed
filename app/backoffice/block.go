package backoffice

import (
	"context"
	"net/netip"
	"strings"
	"unicode/utf8"

	"stampede/app/shop"
)

// BlockKind says what a block names.
type BlockKind string

// What can be blocked. A network is a prefix like 203.0.113.0/24.
const (
	BlockUser    BlockKind = "user"
	BlockAddress BlockKind = "address"
	BlockNetwork BlockKind = "network"
)

// Block keeps somebody out: on all nodes within a second.
type Block struct {
	ID        int64       `json:"id"`
	Kind      BlockKind   `json:"kind"`
	Value     string      `json:"value"`
	Reason    string      `json:"reason"`
	Until     shop.Millis `json:"until,omitempty"` // 0: until it is removed
	CreatedBy string      `json:"created_by"`
	CreatedAt shop.Millis `json:"created_at"`
}

// BlockStore keeps the block list in the database.
type BlockStore interface {
	BlocksVersion(ctx context.Context) (int64, error)
	Blocks(ctx context.Context, now shop.Millis) ([]Block, error)
}

const (
	// shortestV4 and shortestV6 are the widest networks that can be blocked: a typing error must not close the shop.
	shortestV4 = 8
	shortestV6 = 16
	maxReason  = 200 // characters
	maxBlocker = 80
)

// Normalize checks a block that somebody has written, and puts what it names into the one form that is compared. An
// address of IPv6 becomes its /64, which is one customer's.
func (b *Block) Normalize() error {
	b.Reason, b.CreatedBy = strings.TrimSpace(b.Reason), strings.TrimSpace(b.CreatedBy)
	if utf8.RuneCountInString(b.Reason) > maxReason || utf8.RuneCountInString(b.CreatedBy) > maxBlocker {
		return shop.Fail(shop.BadRequest, "the reason has at most 200 characters, the name of who blocks at most 80")
	}
	value := strings.TrimSpace(b.Value)
	switch b.Kind {
	case BlockUser:
		user, err := shop.ParseID(value)
		if err != nil {
			return shop.Fail(shop.BadRequest, "a user is named by an id, a positive number")
		}
		b.Value = user.String()
		return nil
	case BlockAddress:
		addr, err := netip.ParseAddr(value)
		if err != nil || addr.Zone() != "" {
			return shop.Fail(shop.BadRequest, "an address looks like 203.0.113.9 or 2001:db8::1")
		}
		if addr = addr.Unmap(); addr.Is6() {
			b.Kind, value = BlockNetwork, addr.String()+"/64"
			return b.normalizeNetwork(value)
		}
		b.Value = addr.String()
		return nil
	case BlockNetwork:
		return b.normalizeNetwork(value)
	}
	return shop.Fail(shop.BadRequest, "a user, an address or a network can be blocked")
}

func (b *Block) normalizeNetwork(value string) error {
	network, err := netip.ParsePrefix(value)
	if err != nil {
		return shop.Fail(shop.BadRequest, "a network looks like 203.0.113.0/24 or 2001:db8::/48")
	}
	if addr := network.Addr(); addr.Is4In6() && network.Bits() >= 96 {
		network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
	}
	shortest := shortestV4
	if network.Addr().Is6() {
		shortest = shortestV6
	}
	if network.Bits() < shortest {
		return shop.Fail(shop.BadRequest, "the network is too wide: at least /8, of IPv6 /16")
	}
	b.Value = network.Masked().String()
	return nil
}
