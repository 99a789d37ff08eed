package payment

import (
	"maps"
	"sync"

	"stampede/app/shop"
)

// maxPayables is the maximum number of stored payments per node. They use about 6 MB, because a signed address has
// 1.5 KB.
const maxPayables = 4096

// payables caches the payments of this node, by order and PayVia, until the gateway stops accepting money. Repeated pay
// requests then need no signature and no gateway call. Another node, or this node after a restart, requests the payment
// again and gets the same trade.
type payables struct {
	mu     sync.Mutex
	stored map[payableKey]Payable
}

type payableKey struct {
	order shop.ID
	via   PayVia
}

func (p *payables) find(order shop.ID, via PayVia) (found Payable, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok = p.stored[payableKey{order, via}]
	return found, ok
}

// store adds a payment. If the cache is full, store removes expired payments first. If that is not enough, it removes
// arbitrary payments until half of maxPayables are left.
func (p *payables) store(order shop.ID, via PayVia, payable Payable, now shop.Millis) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stored == nil {
		p.stored = make(map[payableKey]Payable)
	}
	if len(p.stored) >= maxPayables {
		maps.DeleteFunc(p.stored, func(_ payableKey, old Payable) bool { return old.Until <= now })
		for key := range p.stored {
			if len(p.stored) <= maxPayables/2 {
				break
			}
			delete(p.stored, key)
		}
	}
	p.stored[payableKey{order, via}] = payable
}
