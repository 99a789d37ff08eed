//go:build crashpoints

package crash

import (
	"slices"
	"sync"

	"stampede/app/shop"
)

// memory collects the history from all buyers concurrently.
type memory struct {
	mu       sync.Mutex
	history  History
	accepted int // accepted buys
}

func (m *memory) addOp(op Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.Ops = append(m.history.Ops, op)
	if op.Kind == Buy && op.Outcome == OK {
		m.accepted++
	}
}

func (m *memory) addReceived(h Received) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.Received = append(m.history.Received, h)
}

func (m *memory) addReset(r Reset) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.Resets = append(m.history.Resets, r)
}

func (m *memory) copy() History {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.history
	h.Ops, h.Received, h.Resets = slices.Clone(h.Ops), slices.Clone(h.Received), slices.Clone(h.Resets)
	return h
}

func (m *memory) acceptedCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accepted
}

// acceptedOrders lists the orders of accepted buys without duplicates.
func (m *memory) acceptedOrders() []shop.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var orders []shop.ID
	for _, op := range m.history.Ops {
		if op.Kind == Buy && op.Outcome == OK {
			orders = append(orders, op.Order)
		}
	}
	slices.Sort(orders)
	return slices.Compact(orders)
}

// acceptedBuysOf lists the user's accepted buys.
func (m *memory) acceptedBuysOf(user shop.ID) []Op {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.history.Ops), func(op Op) bool {
		return op.User != user || op.Kind != Buy || op.Outcome != OK
	})
}

// unknown counts the buys with an unknown outcome.
func (m *memory) unknown() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, op := range m.history.Ops {
		if op.Kind == Buy && op.Outcome == Unknown {
			n++
		}
	}
	return n
}
