package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// slowGateway responds to each request after a delay, and records the time.
type slowGateway struct {
	payment.Gateway
	delay time.Duration

	mu        sync.Mutex
	queriedAt map[shop.ID]time.Time
}

func (g *slowGateway) Query(_ context.Context, order shop.ID) (payment.Trade, error) {
	time.Sleep(g.delay)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queriedAt[order] = time.Now()
	return payment.Trade{Order: order, No: "T" + order.String(), State: payment.TradeWaiting}, nil
}

func (g *slowGateway) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queriedAt)
}

// wallRedis is the machine's clock as Redis time.
type wallRedis struct{ payment.Stock }

func (wallRedis) Now(context.Context) (shop.Millis, error) { return shop.MillisOf(time.Now()), nil }

// P8: one node checks each of 2,000 open trades that are due at once, although the gateway responds after 100 ms.
// Serial checks would exceed the limit.
func TestManyDueTradesAreQueriedConcurrently(t *testing.T) {
	t.Parallel()
	const many = 2_000
	s := onMariaDB(t)
	h := newShop(t, s, many)
	for range many / 1000 {
		h.insert(h.orders(1000, h.sales[0], 1)...)
	}
	now := shop.MillisOf(time.Now())
	_, err := h.DB().ExecContext(h.ctx,
		"INSERT INTO trades (order_id, opened_at, expires_at, check_at) SELECT id, ?, ?, ? FROM orders",
		now-60_000, now+3_600_000, now)
	h.must(err)

	gateway := &slowGateway{delay: 100 * time.Millisecond, queriedAt: make(map[shop.ID]time.Time)}
	watch := &payment.PayReconciler{
		Payments: &payment.PaymentService{
			Gateway: gateway, Stock: wallRedis{}, Trades: s.Payments(), Orders: s.Orders(),
		},
	}
	running, stop := context.WithCancel(h.ctx)
	began := time.Now()
	var done sync.WaitGroup
	done.Go(func() { _ = watch.Run(running) })
	kit.Eventually(t, 90*time.Second, func() (bool, string) { // serial checks: 200 s
		n := gateway.count()
		return n == many, fmt.Sprintf("%d of %d trades were queried", n, many)
	})
	t.Logf("all trades were queried within %v, with %d queries", time.Since(began), watch.Queries())
	stop()
	done.Wait()
}
