package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stampede/app/shop"
)

// drainWithin limits how long the server takes until all reservations are orders.
const drainWithin = 2 * time.Minute

// expectedErrors maps a scenario to the error code that it causes on purpose.
var expectedErrors = map[string]string{"soldout": string(shop.SoldOut)}

// check runs after every scenario. It fails the result for unexpected errors, lost connections and audit failures. With
// Wait, every reservation must become an order and its shopper must receive the order event.
func (b *bench) check(ctx context.Context, r *Result) error {
	refusals, losses := b.crowd.takeRefusalsAndLosses()
	r.Refusals, r.Losses = refusals, losses
	for code, n := range refusals {
		if code != expectedErrors[r.Scenario] {
			r.fail(fmt.Sprintf("%d ops were rejected: %s", n, code))
		}
	}
	for reason, n := range losses {
		r.fail(fmt.Sprintf("%d connections were lost: %s", n, reason))
	}
	r.Reserved, r.Orders = b.crowd.countOrders()
	if b.Wait {
		if err := b.awaitAllOrders(ctx, r); err != nil {
			return err
		}
	}
	var waiting int64
	var failures []string
	err := b.whileReceiving(ctx, func() (err error) {
		waiting, failures, err = b.shop.audit(ctx, b.usedSales)
		return err
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, f := range failures {
		r.fail("audit: " + f)
	}
	r.setFigure("waiting", float64(waiting))
	if b.Wait && waiting > 0 {
		r.fail(fmt.Sprintf("%d reservations have no order", waiting))
	}
	return nil
}

// awaitAllOrders waits until every shopper has received an event of every order, for at most drainWithin. It counts
// missing and surplus orders.
func (b *bench) awaitAllOrders(ctx context.Context, r *Result) error {
	until := time.Now().Add(drainWithin)
	err := b.crowd.receiveUntil(ctx, func(l *loop) (time.Duration, bool) {
		pending := slices.ContainsFunc(l.sockets, func(s *socket) bool {
			return s.fd >= 0 && (s.pendingOps > 0 || s.orders < s.reserved)
		})
		return 20 * time.Millisecond, !pending || time.Now().After(until)
	})
	if err != nil {
		return err
	}
	r.Reserved, r.Orders = b.crowd.countOrders()
	lost, surplus := 0, 0
	for _, s := range b.crowd.sockets {
		lost += max(0, s.reserved-s.orders)
		surplus += max(0, s.orders-s.reserved)
	}
	if lost > 0 {
		r.fail(fmt.Sprintf("%d order events were lost", lost))
	}
	if surplus > 0 {
		r.fail(fmt.Sprintf("%d order events have no reservation", surplus))
	}
	return nil
}
