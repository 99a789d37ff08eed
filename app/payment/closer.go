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
	// maxEnders is the number of batches of closed trades whose orders are ended at the same time.
	maxEnders   = 4
	endBatch = 500
	// maxClosers is the number of trades that a node closes at the gateway at the same time. With replies after 100
	// ms it ends three hundred orders per second. A silent gateway blocks only these calls.
	maxClosers = 32
	// closerQueue is the capacity of the queue before the closers. Further orders are offered again after their lease
	// in the delay queue ends.
	closerQueue = 20_000
	// closePause is the pause after a close without a reply, per order.
	closePause = 2 * time.Second
	// closeTimeout is the time limit of the gateway and the stores for one order or batch.
	closeTimeout = 15 * time.Second
)

// TradeCloser ends due orders whose payment was opened, in parallel to the sweep. Closers call the gateway for one
// order each. Enders commit the results in batches, so that thousands of results do not queue for the row of one sale.
// Orders in work are not offered again. After a crash they are still in the delay queue.
type TradeCloser struct {
	payments *PaymentService
	queue    chan shop.Order // due orders
	closed   chan shop.ID    // orders whose trades are closed at the gateway

	mu     sync.Mutex
	inWork map[shop.ID]time.Time // zero: in work; otherwise the end of its pause
}

// NewTradeCloser returns a closer for a cashier with a gateway.
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

// Waiting returns the number of orders on this node that need the gateway to end, including those in their pause.
func (t *TradeCloser) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.inWork)
}

// removeEnded drops orders that were not offered again within a minute of their pause: another node has ended them.
func (t *TradeCloser) removeEnded(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.inWork,
		func(_ shop.ID, until time.Time) bool { return !until.IsZero() && time.Since(until) > time.Minute })
	return nil
}

// forEach calls do with each received value, until ctx ends.
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

// close closes the trade of one order at the gateway. If the trade is over, it passes the order to end.
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

// end ends the order first and all others whose trades are over now.
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

// release removes finished orders. After a fault they are not offered for closePause.
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

// NotClosing returns the orders that are neither in work nor in their pause. See PaymentCloser.
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

// Offer queues due orders with an opened payment. See PaymentCloser.
func (t *TradeCloser) Offer(rows []shop.Order, now shop.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range rows {
		if o.State != shop.Pending || o.TradeOpened == 0 || o.PayBy > now {
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

// Cancel closes the trade of an order and ends the order. See PaymentCloser.
func (t *TradeCloser) Cancel(ctx context.Context, o shop.Order) (shop.Order, error) {
	row, err := t.payments.end(ctx, o, shop.Cancelled)
	return row, shop.UnknownOutcome("cancel order "+o.ID.String(), err)
}
