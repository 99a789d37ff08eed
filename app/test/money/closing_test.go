package money

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/streams"
)

// crowd is the number of orders with the same deadline. Every second one has an opened payment.
const crowd = 10_000

// health is the state of the gateway while trades are closed.
type health int32

const (
	replying    health = iota // replies immediately: closed
	silent                    // does not reply
	unreachable               // fails immediately: unreachable
)

// fakeGateway is a gateway that only closes trades, depending on its health.
type fakeGateway struct {
	payment.Gateway
	health      atomic.Int32
	activeCalls atomic.Int64
	maxCalls    atomic.Int64 // maximum number of concurrent calls
	refused     atomic.Int64
	replyTimes  sync.Map // order → time of the reply to its close
}

func (g *fakeGateway) Close(ctx context.Context, order shop.ID) (payment.Trade, error) {
	n := g.activeCalls.Add(1)
	defer g.activeCalls.Add(-1)
	for highest := g.maxCalls.Load(); n > highest &&
		!g.maxCalls.CompareAndSwap(highest, n); highest = g.maxCalls.Load() {
	}
	for health(g.health.Load()) == silent {
		select {
		case <-ctx.Done():
			return payment.Trade{}, shop.ErrTransient
		case <-time.After(10 * time.Millisecond):
		}
	}
	if health(g.health.Load()) == unreachable {
		g.refused.Add(1)
		return payment.Trade{}, shop.ErrTransient
	}
	g.replyTimes.Store(order, time.Now())
	return payment.Trade{Order: order, State: payment.TradeClosed}, nil
}

// stopwatch measures the time from the gateway's reply to the end of the order's row.
type stopwatch struct {
	store.Payments
	gateway  *fakeGateway
	maxDelay atomic.Int64
}

func (s *stopwatch) EndTraded(
	ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis,
) ([]shop.Order, error) {
	rows, err := s.Payments.EndTraded(ctx, orders, to, now)
	for _, o := range rows {
		repliedAt, _ := s.gateway.replyTimes.Load(o.ID)
		took := int64(time.Since(repliedAt.(time.Time)))
		for previous := s.maxDelay.Load(); took > previous &&
			!s.maxDelay.CompareAndSwap(previous, took); previous = s.maxDelay.Load() {
		}
	}
	return rows, err
}

// P5: ten thousand equal deadlines. Orders without an opened payment end immediately while the gateway is silent. The
// other orders do not end while it is silent or unreachable. A bounded number of calls waits for the gateway, and the
// orders end after its reply.
func TestSilentGatewayDelaysOnlyOpenedPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(crowd, 1)
	w.reserveMany(sale)
	gateway := &fakeGateway{}
	gateway.health.Store(int32(silent))
	watch := &stopwatch{Payments: w.db.Payments(), gateway: gateway}
	w.expireTogether(gateway, watch)
	began := time.Now()
	w.awaitStock(sale, "orders without an opened payment end", crowd/2)
	t.Logf("%d orders without an opened payment ended in %v", crowd/2, time.Since(began))
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return gateway.maxCalls.Load() == 32, fmt.Sprintf("%d calls wait for the gateway", gateway.maxCalls.Load())
	})

	gateway.health.Store(int32(unreachable))
	refused := gateway.refused.Load()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		n := gateway.refused.Load() - refused
		return n > 100, fmt.Sprintf("%d calls failed because the gateway is unreachable", n)
	})
	if n := w.count("SELECT COUNT(*) FROM orders WHERE state = 'expired' AND trade_opened <> 0"); n != 0 {
		t.Errorf("%d orders ended without a reply of the gateway, want 0", n)
	}

	gateway.health.Store(int32(replying))
	began = time.Now()
	w.awaitStock(sale, "all orders end", crowd)
	t.Logf("%d more orders ended in %v, each at most %v after the reply of the gateway", crowd/2, time.Since(began),
		time.Duration(watch.maxDelay.Load()))
	if gateway.maxCalls.Load() > 32 {
		t.Errorf("%d calls of the gateway at the same time, want at most 32", gateway.maxCalls.Load())
	}
}

// reserveMany buys all units, each for a different buyer.
func (w *world) reserveMany(sale shop.SaleRef) {
	w.t.Helper()
	var buying sync.WaitGroup
	var reserved atomic.Int64
	for range 100 {
		buying.Go(func() {
			for range crowd / 100 {
				id := newID()
				b := shop.Buy{
					Order: id, User: newID(), Sale: sale, Qty: 1, Key: "key-" + id.String(), Hash: "0123456789abcdef",
				}
				for w.ctx.Err() == nil {
					if d, err := w.decide(b); err == nil {
						if d.Verdict == shop.VerdictReserved || d.Verdict == shop.VerdictRepeated {
							reserved.Add(1)
						}
						break
					}
				}
			}
		})
	}
	buying.Wait()
	if reserved.Load() != crowd {
		w.t.Fatalf("%d units reserved, want %d", reserved.Load(), crowd)
	}
	kit.Eventually(w.t, waitTimeout, func() (bool, string) {
		n := w.count("SELECT COUNT(*) FROM orders")
		return n == crowd, fmt.Sprintf("%d order rows, want %d", n, crowd)
	})
}

// expireTogether opens the payment of every second order, sets all deadlines to the same past instant, and sweeps until
// the test ends.
func (w *world) expireTogether(gateway *fakeGateway, trades payment.Trades) {
	w.t.Helper()
	n := w.node(nil)
	n.payments.Gateway, n.payments.Trades = gateway, trades
	closer := payment.NewTradeCloser(n.payments)
	n.expirer.Closer = closer
	now, err := w.inventory.Now(w.ctx)
	w.must(err)
	w.exec("UPDATE orders SET pay_by = ?, trade_opened = CASE WHEN ticket % 2 = 0 THEN ? ELSE 0 END", now, now-1000)
	const key = "stampede:{0}:deadlines"
	w.must(w.client.ZUnionStore(w.ctx, key, &redis.ZStore{Keys: []string{key}, Weights: []float64{0}}).Err())
	ctx, cancel := context.WithCancel(w.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = closer.Run(ctx) })
	running.Go(func() { _ = streams.NewSweeper(w.inventory, 0, n.expirer).Run(ctx) })
	w.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// awaitStock waits until this number of units is free.
func (w *world) awaitStock(sale shop.SaleRef, label string, units int64) {
	w.t.Helper()
	kit.Eventually(w.t, waitTimeout, func() (bool, string) {
		c, err := w.inventory.Stock().Counters(w.ctx, []shop.SaleRef{sale})
		w.must(err)
		return c[0].Stock == units, fmt.Sprintf("%s: %d units of %d are for sale", label, c[0].Stock, units)
	})
}

func (w *world) count(query string, args ...any) (n int64) {
	w.t.Helper()
	w.must(w.db.DB().QueryRowContext(w.ctx, query, args...).Scan(&n))
	return n
}
