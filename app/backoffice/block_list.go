package backoffice

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// blocksEvery is the interval at which a node checks the version of the block list.
	blocksEvery = 500 * time.Millisecond
	// blocksTimeout is the timeout of one check: a database that hangs must not delay the next check.
	blocksTimeout = 3 * time.Second
)

// BlockList is a node's copy of the blocks. It is empty until the first read. RunOnce replaces it by a new immutable
// set when the version changes, so readers load it without a lock. While the database is unreachable, the last set
// stays in force.
type BlockList struct {
	Store *store.Store
	Clock *shop.Clock
	// OnChange is called after a new set is in force, so that open connections can be checked again. It may be nil.
	OnChange func()

	set     atomic.Pointer[blockSet]
	version store.BlocksVersion // of the set; used only by RunOnce
}

// blockSet maps blocked users, addresses and networks to the end of their block; 0 means no end. A lookup of an address
// needs one map access per distinct prefix length.
type blockSet struct {
	users     map[shop.ID]shop.Millis
	addresses map[netip.Addr]shop.Millis
	networks  map[netip.Prefix]shop.Millis
	lengths   []int // distinct prefix lengths of IPv4 and IPv6 networks, ascending
}

// User reports whether the user is blocked.
func (l *BlockList) User(user shop.ID) bool {
	set := l.set.Load()
	if set == nil || len(set.users) == 0 {
		return false
	}
	until, found := set.users[user]
	return found && l.inForce(until)
}

// Address reports whether the address or a network that contains it is blocked.
func (l *BlockList) Address(addr netip.Addr) bool {
	set := l.set.Load()
	if set == nil || len(set.addresses)+len(set.networks) == 0 {
		return false
	}
	addr = addr.Unmap().WithZone("")
	if until, found := set.addresses[addr]; found && l.inForce(until) {
		return true
	}
	for _, length := range set.lengths {
		if length > addr.BitLen() { // longer than an IPv4 address
			break
		}
		network, _ := addr.Prefix(length)
		if until, found := set.networks[network]; found && l.inForce(until) {
			return true
		}
	}
	return false
}

func (l *BlockList) inForce(until shop.Millis) bool { return until == 0 || l.Clock.Now() < until }

// Run refreshes the list until ctx ends.
func (l *BlockList) Run(ctx context.Context) error {
	return shop.Repeat(ctx, blocksEvery, "read the block list", l.RunOnce)
}

// RunOnce reads the list if its version has changed. It reads the version before the rows: a block added in between is
// in these rows, and the next call reads the list once more.
func (l *BlockList) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, blocksTimeout)
	defer cancel()
	version, err := l.Store.Blocks().Version(ctx)
	if err != nil {
		return err
	}
	if l.set.Load() != nil && version == l.version {
		return nil
	}
	blocks, err := l.Store.Blocks().Blocks(ctx, l.Clock.Now())
	if err != nil {
		return err
	}
	l.set.Store(newBlockSet(blocks))
	l.version = version
	if l.OnChange != nil {
		l.OnChange()
	}
	return nil
}

func newBlockSet(blocks []store.Block) *blockSet {
	s := &blockSet{
		users: make(map[shop.ID]shop.Millis), addresses: make(map[netip.Addr]shop.Millis),
		networks: make(map[netip.Prefix]shop.Millis),
	}
	for _, b := range blocks {
		switch b.Kind {
		case store.BlockUser:
			if user, err := shop.ParseID(b.Value); err == nil {
				s.users[user] = laterEnd(s.users, user, b.Until)
			}
		case store.BlockAddress:
			if addr, err := netip.ParseAddr(b.Value); err == nil {
				s.addresses[addr] = laterEnd(s.addresses, addr, b.Until)
			}
		case store.BlockNetwork:
			if network, err := netip.ParsePrefix(b.Value); err == nil {
				s.networks[network] = laterEnd(s.networks, network, b.Until)
				s.lengths = append(s.lengths, network.Bits())
			}
		}
	}
	slices.Sort(s.lengths)
	s.lengths = slices.Compact(s.lengths)
	return s
}

// laterEnd returns the later end of two blocks of the same key; 0 is the latest.
func laterEnd[K comparable](known map[K]shop.Millis, key K, until shop.Millis) shop.Millis {
	if before, found := known[key]; found && (before == 0 || until == 0) {
		return 0
	} else if found {
		return max(before, until)
	}
	return until
}
