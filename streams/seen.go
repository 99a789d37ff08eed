package streams

import (
	"sync"

	"stampede/app/shop"
)

// acceptedReservations records which reservations of a partition this node has seen as accepted, in one epoch: the
// highest seq, and the last reservation of each sale. Every call of reserve.lua passes both. If Redis does not have
// them, it has lost writes (I8). The seq alone is not sufficient, because later buys raise the seq of an older state
// again.
type acceptedReservations struct {
	mu    sync.Mutex
	epoch int64
	seq   int64
	last  map[shop.ID]reservationRef // by sale
}

// reservationRef identifies a reservation.
type reservationRef struct {
	seq         int64
	user, order shop.ID // 0: only seq is set
}

// lookup returns the highest seq and the last reservation of the sale; zero values if the epoch is not the recorded
// one.
func (s *acceptedReservations) lookup(epoch int64, sale shop.ID) (seq int64, last reservationRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch {
		return 0, reservationRef{}
	}
	return s.seq, s.last[sale]
}

// add records a reply of Redis for the sale.
func (s *acceptedReservations) add(epoch int64, sale shop.ID, r reservationRef) {
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

func (s *acceptedReservations) reset(epoch int64) {
	s.epoch, s.seq, s.last = epoch, 0, make(map[shop.ID]reservationRef)
}

// begin switches to an epoch that began after the given seq. It returns the number of recorded reservations that are
// missing both in the database and in Redis.
func (s *acceptedReservations) begin(epoch, lastSeq int64) (lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch <= s.epoch {
		return 0
	}
	if s.epoch > 0 {
		lost = max(0, s.seq-lastSeq)
	}
	s.reset(epoch)
	return lost
}

// highest returns the recorded epoch and its highest seq.
func (s *acceptedReservations) highest() (epoch, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch, s.seq
}

// lastOrders returns the last reservation of each sale; nil if the epoch is not the recorded one.
func (s *acceptedReservations) lastOrders(epoch int64, partition int) (orders []shop.LastOrder) {
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
func (s *acceptedReservations) drop(sale shop.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, sale)
}
