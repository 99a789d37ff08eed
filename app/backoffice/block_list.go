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
	// blocksEvery is how often a node looks whether the block list has changed.
	blocksEvery = 500 * time.Millisecond
	// blocksWithin bounds one look, so that a database that stands still does not hold up the next one.
	blocksWithin = 3 * time.Second
)

// BlockList is the set of blocked people that a node has read: empty at first, then replaced by a new immutable set
// after each look that finds another version. Readers load it without a lock. While the database is away the last set
// is used.
type BlockList struct {
	Store *store.Store
	Clock *shop.Clock
	// OnChange is called after a new set counts: what is open already is looked at again. Nil: nobody asks.
	OnChange func()

	set     atomic.Pointer[blockSet]
	version int64 // of the set; used by RunOnce alone
}

// blockSet maps what is blocked to when that ends; 0: never. Networks are kept by their length, so that a look costs
// one lookup for each length there is.
type blockSet struct {
	users     map[shop.ID]shop.Millis
	addresses map[netip.Addr]shop.Millis
	networks  map[netip.Prefix]shop.Millis
	lengths   []int // of networks, v4 and v6, ascending
}

// User reports whether the user is blocked.
func (l *BlockList) User(user shop.ID) bool {
	set := l.set.Load()
	if set == nil || len(set.users) == 0 {
		return false
	}
	until, found := set.users[user]
	return found && l.holds(until)
}

// Address reports whether the address is blocked, by itself or with its network.
func (l *BlockList) Address(addr netip.Addr) bool {
	set := l.set.Load()
	if set == nil || len(set.addresses)+len(set.networks) == 0 {
		return false
	}
	addr = addr.Unmap().WithZone("")
	if until, found := set.addresses[addr]; found && l.holds(until) {
		return true
	}
	for _, length := range set.lengths {
		if length > addr.BitLen() { // one of IPv6
			break
		}
		network, _ := addr.Prefix(length)
		if until, found := set.networks[network]; found && l.holds(until) {
			return true
		}
	}
	return false
}

func (l *BlockList) holds(until shop.Millis) bool { return until == 0 || l.Clock.Now() < until }

// Run follows the list until ctx ends.
func (l *BlockList) Run(ctx context.Context) error {
	return shop.Repeat(ctx, blocksEvery, "look at the block list", l.RunOnce)
}

// RunOnce looks whether the list has changed, and takes it over. The version is read before the rows: what is added in
// between comes with them, and again with the next look.
func (l *BlockList) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, blocksWithin)
	defer cancel()
	version, err := l.Store.BlocksVersion(ctx)
	if err != nil {
		return err
	}
	if l.set.Load() != nil && version == l.version {
		return nil
	}
	blocks, err := l.Store.Blocks(ctx, l.Clock.Now())
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

// laterEnd is the end of two blocks of the same: the later one.
func laterEnd[K comparable](known map[K]shop.Millis, key K, until shop.Millis) shop.Millis {
	if before, found := known[key]; found && (before == 0 || until == 0) {
		return 0
	} else if found {
		return max(before, until)
	}
	return until
}
