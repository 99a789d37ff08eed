// Package snowflake mints 64-bit ids that are unique over all nodes and grow with time:
//
//	0 | 41 bits: ms since 2026-01-01 UTC (until 2095) | 10 bits: node 1–1023 | 12 bits: sequence
//
// A node mints under a grant: until an instant of the monotonic clock, and up to a millisecond that is
// stored in the database. Whoever has the node number next starts above that millisecond, so two holders
// never mint the same id, whatever their clocks do (I10).
package snowflake

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	nodeBits     = 10
	sequenceBits = 12

	// MaxNode is the highest node number; the lowest is 1.
	MaxNode = 1<<nodeBits - 1

	maxSequence = 1<<sequenceBits - 1
)

// epoch is 2026-01-01 UTC, the millisecond 0 of ids.
const epoch shop.Millis = 1767225600000

// ErrNoGrant means that this node may not mint now: its grant has ended or is used up. Renewing the lease
// helps.
var ErrNoGrant = errors.New("no grant to mint ids")

// Grant is the permission to mint.
type Grant struct {
	Until   time.Time   // the last instant, by the monotonic clock
	Ceiling shop.Millis // the last millisecond that an id may carry
}

// Minter mints ids of one node, each above the one before. It is safe for concurrent use.
type Minter struct {
	node  int64
	clock func() time.Time
	start time.Time // of the monotonic clock
	base  shop.Millis

	mu       sync.Mutex
	grant    Grant
	last     shop.Millis
	sequence int64 // within last; at first its end, so that nothing is minted in the milliseconds of others
}

// New makes a minter that mints above the millisecond given and takes the time now to be the later one of
// now and that. Nothing is minted before the first grant. clock is time.Now except in tests. It fails for a
// node number outside 1–MaxNode.
func New(node int, above, now shop.Millis, clock func() time.Time) (*Minter, error) {
	if node < 1 || node > MaxNode {
		return nil, fmt.Errorf("node number %d is not in 1–%d", node, MaxNode)
	}
	return &Minter{
		node: int64(node), clock: clock, start: clock(), base: max(now, above+1),
		last: max(above, epoch), sequence: maxSequence,
	}, nil
}

// Node is the node number in the ids.
func (m *Minter) Node() int { return int(m.node) }

// Now is the time that ids carry: where the minter started, carried on by the monotonic clock. It does not
// step when somebody sets the wall clock.
func (m *Minter) Now() shop.Millis { return m.at(m.clock()) }

func (m *Minter) at(now time.Time) shop.Millis { return m.base.Add(now.Sub(m.start)) }

// Renew replaces the grant.
func (m *Minter) Renew(g Grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = g
}

// Stop ends minting and answers the last millisecond that was used.
func (m *Minter) Stop() shop.Millis {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = Grant{}
	return m.last
}

// Mint makes the next id. Should the clock step backwards or more than 4096 ids be wanted in a millisecond,
// ids run ahead of the clock, up to the ceiling of the grant. ErrNoGrant when the grant does not allow it.
func (m *Minter) Mint() (shop.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Read under the lock: a caller who waited for it must not mint by an instant from before its wait.
	now := m.clock()
	if !now.Before(m.grant.Until) {
		return 0, fmt.Errorf("%w: the lease of node %d has ended", ErrNoGrant, m.node)
	}
	ms, sequence := m.at(now), int64(0)
	if ms <= m.last {
		ms, sequence = m.last, m.sequence+1
		if sequence > maxSequence {
			ms, sequence = ms+1, 0
		}
	}
	if ms > m.grant.Ceiling {
		return 0, fmt.Errorf("%w: node %d has used up its milliseconds", ErrNoGrant, m.node)
	}
	m.last, m.sequence = ms, sequence
	return shop.ID(int64(ms-epoch)<<(nodeBits+sequenceBits) | m.node<<sequenceBits | sequence), nil
}

// Time is the instant that an id carries: about when it was minted.
func Time(id shop.ID) shop.Millis {
	return epoch + shop.Millis(id>>(nodeBits+sequenceBits))
}

// First is the least id of a millisecond; there is none before 2026.
func First(at shop.Millis) shop.ID { return shop.ID(max(at-epoch, 0) << (nodeBits + sequenceBits)) }

// Node is the node number that an id carries.
func Node(id shop.ID) int { return int(id>>sequenceBits) & MaxNode }
