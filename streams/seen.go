package streams

import (
	"sync"

	"stampede/app/shop"
)

// acceptedReservations records which reservations of a partition this node has seen as accepted, in one epoch: the
// highest seq, and the last reservation of each sale. Every call of reserve.lua passes both. If Redis does not have
// them, it has lost writes (I8). The seq alone is not sufficient, because later buys raise the seq of an older state
// again. It also records how many other changes of sales the node has seen.
type acceptedReservations struct {
	mu      sync.Mutex
	epoch   int64
	seq     int64
	changes int64                      // of the partition, see lua/rejection.lua
	last    map[shop.ID]reservationRef // by sale
}

// reservationRef identifies a reservation.
type reservationRef struct {
	seq         int64
	user, order shop.ID // 0: only seq is set
}

// lookup returns the highest seq and the last reservation of the sale; zero values if the epoch is not the recorded
// one.
func (a *acceptedReservations) lookup(epoch int64, sale shop.ID) (seq int64, last reservationRef) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.epoch != epoch {
		return 0, reservationRef{}
	}
	return a.seq, a.last[sale]
}

// add records a reply of Redis for the sale.
func (a *acceptedReservations) add(epoch int64, sale shop.ID, r reservationRef) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case epoch < a.epoch:
		return
	case epoch > a.epoch:
		a.reset(epoch)
	}
	a.seq = max(a.seq, r.seq)
	if r.order != 0 && r.seq > a.last[sale].seq {
		a.last[sale] = r
	}
}

// addChanges records the changes in a reply of Redis.
func (a *acceptedReservations) addChanges(epoch, changes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if epoch < a.epoch {
		return
	}
	if epoch > a.epoch {
		a.reset(epoch)
	}
	a.changes = max(a.changes, changes)
}

func (a *acceptedReservations) reset(epoch int64) {
	a.epoch, a.seq, a.changes, a.last = epoch, 0, 0, make(map[shop.ID]reservationRef)
}

// begin switches to an epoch that began after the given seq. It returns the number of recorded reservations that are
// missing both in the database and in Redis.
func (a *acceptedReservations) begin(epoch, lastSeq int64) (lost int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if epoch <= a.epoch {
		return 0
	}
	if a.epoch > 0 {
		lost = max(0, a.seq-lastSeq)
	}
	a.reset(epoch)
	return lost
}

// highest returns the recorded epoch, its highest seq and its highest number of changes.
func (a *acceptedReservations) highest() (epoch, seq, changes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch, a.seq, a.changes
}

// lastOrders returns the last reservation of each sale; nil if the epoch is not the recorded one.
func (a *acceptedReservations) lastOrders(epoch int64, partition int) (orders []shop.LastOrder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.epoch != epoch {
		return nil
	}
	for sale, r := range a.last {
		orders = append(
			orders, shop.LastOrder{Sale: shop.SaleRef{ID: sale, Partition: partition}, User: r.user, Order: r.order},
		)
	}
	return orders
}

// drop removes a sale that is no longer in Redis.
func (a *acceptedReservations) drop(sale shop.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, sale)
}
