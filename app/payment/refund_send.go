package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
)

const (
	refundEvery    = time.Second
	refundBatch    = 32
	maxRefundCalls = 4 // running gateway calls: few, so that a recovering gateway is not flooded
	// refundTimeout is the time limit of one attempt, which makes at most three gateway calls. The outcome of a
	// cancelled call is unknown; the refund is retried.
	refundTimeout = 30 * time.Second
	backlogEvery  = 10 * time.Second
	// refundHold is the minimum age of a refund if a failover could lose its row: it is longer than the usual lag of a
	// replica, so that rarely a refund was sent of which the promoted database has no row.
	refundHold = 30 * time.Second
)

// Refunder executes refunds: refunding, COMMIT → gateway → refunded, COMMIT → units withdrawn → event. The gateway
// identifies a refund by its request number, so that a repeat does not refund twice (I6). After a crash the next
// attempt or the Reconciler completes the refund. Several nodes may run a Refunder.
type Refunder struct {
	Gateway Gateway
	Refunds Refunds
	Orders  Orders
	Stock   Stock
	Effects *order.Effects
	// Durable reports that no failover loses a commit.
	Durable func() bool

	backlog   atomic.Pointer[RefundBacklog]
	countedAt time.Time
}

// Run executes refunds until ctx ends.
func (r *Refunder) Run(ctx context.Context) error {
	return shop.Repeat(ctx, refundEvery, "send refunds", r.RunOnce)
}

// RunOnce tries each due refund once.
func (r *Refunder) RunOnce(ctx context.Context) error {
	for {
		now, err := r.Stock.Now(ctx)
		if err != nil {
			return fmt.Errorf("read Redis time: %w", err)
		}
		decidedBy := now
		if !r.Durable() {
			decidedBy = now.Add(-refundHold)
		}
		due, err := r.Refunds.ClaimRefunds(ctx, now, decidedBy, refundBatch)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			return r.updateBacklog(ctx)
		}
		if err := r.tryAll(ctx, due); err != nil {
			return err
		}
	}
}

func (r *Refunder) tryAll(ctx context.Context, due []Refund) error {
	return shop.Concurrently(maxRefundCalls, len(due), func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, refundTimeout)
		defer cancel()
		return r.try(ctx, &due[i])
	})
}

// try makes one attempt. Gateway errors are not returned; they are stored in the refund's note.
func (r *Refunder) try(ctx context.Context, refund *Refund) error {
	order, err := r.Orders.Order(ctx, refund.Order)
	if err != nil {
		return fmt.Errorf("read order %s to refund it: %w", refund.Order, err)
	}
	err = r.send(ctx, refund, order.TradeNo)
	switch {
	case err == nil:
		return r.finish(ctx, refund.Order)
	case errors.Is(err, ErrGatewayRefused):
		slog.ErrorContext(ctx, "the gateway refused a refund; an operator has to act", "order", refund.Order, "err", err)
		return r.Refunds.RecordRefundAttempt(ctx, refund.Order, err.Error(), true)
	default:
		return r.Refunds.RecordRefundAttempt(ctx, refund.Order, err.Error(), false)
	}
}

// send sends the refund to the gateway. nil: the money is refunded, by an earlier attempt or by this one, even if its
// reply was lost.
func (r *Refunder) send(ctx context.Context, refund *Refund, trade string) error {
	request := RefundRequest{
		Order: refund.Order, TradeNo: trade, Request: refund.Request, AmountFen: refund.AmountFen,
		Reason: refund.Reason,
	}
	if refund.Attempts > 1 {
		if done, err := r.Gateway.Refunded(ctx, request); err != nil || done {
			return err
		}
	}
	err := r.Gateway.Refund(ctx, request)
	if err == nil {
		return nil
	}
	if done, queryErr := r.Gateway.Refunded(ctx, request); queryErr == nil && done {
		return nil
	}
	return err
}

func (r *Refunder) finish(ctx context.Context, order shop.ID) error {
	now, err := r.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	row, err := r.Refunds.FinishRefund(ctx, order, now)
	if err != nil {
		return err
	}
	return r.Effects.Do(ctx, now, &row)
}

// updateBacklog reads the backlog, at most once per backlogEvery.
func (r *Refunder) updateBacklog(ctx context.Context) error {
	if time.Since(r.countedAt) < backlogEvery {
		return nil
	}
	backlog, err := r.Refunds.RefundBacklog(ctx)
	if err == nil {
		r.countedAt = time.Now()
		r.backlog.Store(&backlog)
	}
	return err
}

// Backlog returns the last backlog that was read; zero before the first read.
func (r *Refunder) Backlog() RefundBacklog {
	return *cmp.Or(r.backlog.Load(), &RefundBacklog{})
}
