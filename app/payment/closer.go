package payment

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// maxEnders is the number of batches of orders with closed trades that are ended at the same time.
	maxEnders = 4
	endBatch  = 500
	// maxClosers is the number of trades that a node closes at the gateway at the same time. If the gateway replies
	// after 100 ms, the node ends three hundred orders per second. A gateway without replies blocks only these calls.
	maxClosers = 32
	// closerQueue is the capacity of the queue of the closers. If it is full, an order is offered again when its lease
	// in the delay queue ends.
	closerQueue = 20_000
	// closePause is the pause of an order after a failed attempt to end it.
	closePause = 2 * time.Second
	// closeTimeout is the time limit of the gateway and the stores for one order or batch.
	closeTimeout = 15 * time.Second
)

// TradeCloser ends due orders whose payment was opened, in parallel to the sweep. Each closer calls the gateway for one
// order. Enders commit the results in batches, so that thousands of results do not wait for the row of one sale. An
// order that is being ended is not offered again. After a crash the order is still in the delay queue.
type TradeCloser struct {
	payments *PaymentService
	queue    chan shop.Order // due orders
	closed   chan shop.ID    // orders whose trades are closed at the gateway

	mu     sync.Mutex
	inWork map[shop.ID]time.Time // zero time: the order is being ended; otherwise the end of its pause
}

// NewTradeCloser returns a closer for a PaymentService with a gateway.
func NewTradeCloser(c *PaymentService) *TradeCloser {
	return &TradeCloser{
		payments: c, queue: make(chan shop.Order, closerQueue), closed: make(chan shop.ID, endBatch),
		inWork: make(map[shop.ID]time.Time),
	}
}

// Run closes trades until ctx ends.
func (t *TradeCloser) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range maxClosers {
		workers.Go(func() { forEach(ctx, t.queue, t.close) })
	}
	for range maxEnders {
		workers.Go(func() { forEach(ctx, t.closed, t.end) })
	}
	defer workers.Wait()
	return shop.Repeat(ctx, time.Minute, "remove ended orders from memory", t.removeEnded)
}

// RunOnce ends all queued orders, one after the other.
func (t *TradeCloser) RunOnce(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case o := <-t.queue:
			t.close(ctx, o)
		case id := <-t.closed:
			t.end(ctx, id)
		default:
			return
		}
	}
}

// Waiting returns the number of orders of this node whose end waits for the gateway, including orders in their pause.
func (t *TradeCloser) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.inWork)
}

// removeEnded removes orders from memory that were not offered again within a minute after their pause: another node
// has ended them.
func (t *TradeCloser) removeEnded(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.inWork,
		func(_ shop.ID, until time.Time) bool { return !until.IsZero() && time.Since(until) > time.Minute })
	return nil
}

// forEach calls the function `handle` with each received item, until ctx ends.
func forEach[T any](ctx context.Context, from <-chan T, handle func(ctx context.Context, item T)) {
	for {
		select {
		case <-ctx.Done():
			return
		case item := <-from:
			handle(ctx, item)
		}
	}
}

// close closes the trade of one order at the gateway. If the trade is closed, it queues the order for the enders.
func (t *TradeCloser) close(ctx context.Context, o shop.Order) {
	limitedCtx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_, closed, err := t.payments.closeAtGateway(limitedCtx, o, shop.Expired)
	if err != nil || !closed {
		t.release(ctx, []shop.ID{o.ID}, err)
		return
	}
	select {
	case t.closed <- o.ID:
	case <-ctx.Done():
	}
}

// end ends the order `first`, together with the other orders in the queue `closed`, up to endBatch.
func (t *TradeCloser) end(ctx context.Context, first shop.ID) {
	batch := []shop.ID{first}
	for more := true; more && len(batch) < endBatch; {
		select {
		case id := <-t.closed:
			batch = append(batch, id)
		default:
			more = false
		}
	}
	limitedCtx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_, locked, err := t.payments.endOrders(limitedCtx, batch, shop.Expired)
	t.release(ctx, batch, err)
	if err == nil && len(locked) > 0 {
		t.release(ctx, locked, errLockedSale)
	}
}

// release removes orders from inWork if err is nil. Otherwise their pause begins.
func (t *TradeCloser) release(ctx context.Context, orders []shop.ID, err error) {
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "orders with an opened payment cannot end yet", "orders", len(orders), "first", orders[0],
			"err", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range orders {
		if err != nil {
			t.inWork[id] = time.Now().Add(closePause)
		} else {
			delete(t.inWork, id)
		}
	}
}

// NotClosing returns the orders that are neither being ended nor in their pause. See order.PaymentCloser.
func (t *TradeCloser) NotClosing(orders []shop.ID) []shop.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return shop.Where(orders, func(id shop.ID) bool {
		until, known := t.inWork[id]
		if known && (until.IsZero() || time.Now().Before(until)) {
			return false
		}
		delete(t.inWork, id)
		return true
	})
}

// Offer queues due orders with an opened payment. See order.PaymentCloser.
func (t *TradeCloser) Offer(rows []shop.Order, now shop.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range rows {
		if o.State != shop.Pending || !o.MayBePaid() || o.PayBy > now {
			continue
		}
		if _, known := t.inWork[o.ID]; known {
			continue
		}
		select {
		case t.queue <- o:
			t.inWork[o.ID] = time.Time{}
		default:
			return
		}
	}
}

// Cancel closes the trade of an order and ends the order. See order.PaymentCloser.
func (t *TradeCloser) Cancel(ctx context.Context, o shop.Order) (shop.Order, error) {
	row, err := t.payments.end(ctx, o, shop.Cancelled)
	return row, shop.UnknownOutcome("cancel order "+o.ID.String(), err)
}
