// Package snowflake generates 64-bit ids that are unique across all nodes and increase with time:
//
//	0 | 41 bits: ms since 2026-01-01 UTC (until 2095) | 10 bits: node 1–1023 | 12 bits: sequence
//
// A node generates ids under a grant. The grant ends at an instant of the monotonic clock, and has a highest
// millisecond (ceiling) that is stored in the database. The next holder of the node number starts above that
// millisecond, so two holders never generate the same id, even if their clocks are wrong (I10).
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

// ErrNoGrant means that this node may not generate ids now: its grant has ended or is used up. A renewed lease
// brings a new grant.
var ErrNoGrant = errors.New("no grant to mint ids")

// Grant is the permission to generate ids.
type Grant struct {
	Until   time.Time   // the end, by the monotonic clock
	Ceiling shop.Millis // the last millisecond that an id may carry
}

// Minter generates the ids of one node in strictly increasing order. It is safe for concurrent use.
type Minter struct {
	node  int64
	clock func() time.Time
	start time.Time // reading of the monotonic clock at which Now is base
	base  shop.Millis

	mu       sync.Mutex
	grant    Grant
	last     shop.Millis
	sequence int64 // of the last id in `last`; initially the maximum, so that the first id has a later millisecond
}

// New returns a Minter whose ids are later than the millisecond `above`. Its time starts at `now`, or at `above` + 1 ms
// if that is later. It generates no ids before the first grant. clock is time.Now except in tests. New fails if node is
// outside 1–MaxNode.
func New(node int, above, now shop.Millis, clock func() time.Time) (*Minter, error) {
	if node < 1 || node > MaxNode {
		return nil, fmt.Errorf("node number %d is not in 1–%d", node, MaxNode)
	}
	return &Minter{
		node: int64(node), clock: clock, start: clock(), base: max(now, above+1),
		last: max(above, epoch), sequence: maxSequence,
	}, nil
}

// Node returns the node number in the ids.
func (m *Minter) Node() int { return int(m.node) }

// Now returns the time used in ids: the start time, advanced by the monotonic clock. It does not jump when the wall
// clock is set.
func (m *Minter) Now() shop.Millis { return m.at(m.clock()) }

func (m *Minter) at(now time.Time) shop.Millis { return m.base.Add(now.Sub(m.start)) }

// Renew replaces the grant.
func (m *Minter) Renew(g Grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = g
}

// Stop revokes the grant and returns the last used millisecond.
func (m *Minter) Stop() shop.Millis {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = Grant{}
	return m.last
}

// Mint returns the next id. Ids run ahead of the clock if it steps backwards or if a millisecond has more than 4096
// requests. They stop at the ceiling of the grant. ErrNoGrant: the grant does not allow another id.
func (m *Minter) Mint() (shop.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Read the clock under the lock: after waiting for the lock, an earlier reading could be past the end of the grant.
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

// Time returns the instant in an id, which is about its creation time.
func Time(id shop.ID) shop.Millis {
	return epoch + shop.Millis(id>>(nodeBits+sequenceBits))
}

// Node returns the node number in an id.
func Node(id shop.ID) int { return int(id>>sequenceBits) & MaxNode }
