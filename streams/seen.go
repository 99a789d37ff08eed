package streams

import (
	"sync"

	"stampede/app/shop"
)

// seen records the reservations that this node has seen accepted in a partition, in one epoch: the highest seq, and the
// last reservation of each sale. Every call of reserve.lua carries both. A Redis that does not have them has lost
// writes (I8). The seq alone is not sufficient, because later buys raise the seq of an older state again.
type seen struct {
	mu    sync.Mutex
	epoch int64
	seq   int64
	last  map[shop.ID]accepted // by sale
}

// accepted identifies a reservation.
type accepted struct {
	seq         int64
	user, order shop.ID // 0: only seq is set
}

// lookup returns the highest seq and the last reservation of the sale; zero values if the epoch is not the recorded
// one.
func (s *seen) lookup(epoch int64, sale shop.ID) (seq int64, last accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch {
		return 0, accepted{}
	}
	return s.seq, s.last[sale]
}

// add records a reply of Redis for the sale.
func (s *seen) add(epoch int64, sale shop.ID, r accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case epoch < s.epoch:
		return
	case epoch > s.epoch:
		s.reset(epoch)
	}
	s.seq = max(s.seq, r.seq)
	if r.order != 0 && r.seq > s.last[sale].seq {
		s.last[sale] = r
	}
}

func (s *seen) reset(epoch int64) {
	s.epoch, s.seq, s.last = epoch, 0, make(map[shop.ID]accepted)
}

// begin switches to an epoch that began at the given seq. It returns how many reservations that this node has seen are
// neither in rows nor in Redis.
func (s *seen) begin(epoch, at int64) (lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch <= s.epoch {
		return 0
	}
	if s.epoch > 0 {
		lost = max(0, s.seq-at)
	}
	s.reset(epoch)
	return lost
}

// highest returns the epoch and its highest seq.
func (s *seen) highest() (epoch, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch, s.seq
}

// lastOrders returns the newest reservation of each sale.
func (s *seen) lastOrders(epoch int64, partition int) (orders []shop.LastOrder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch {
		return nil
	}
	for sale, r := range s.last {
		orders = append(
			orders, shop.LastOrder{Sale: shop.SaleRef{ID: sale, Partition: partition}, User: r.user, Order: r.order},
		)
	}
	return orders
}

// drop removes a sale that is no longer in Redis.
func (s *seen) drop(sale shop.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, sale)
}
