package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"stampede/app/shop"
)

// resolve decides at once about an order whose money arrived after it had ended (P8):
//
//	claim a hold number (database) → hold the units (Redis) ─┬▶ free: paid, if the stock guard allows it (database) → held → sold → event
//	                                                         └▶ not free: refunding (database) → event → Refunder
//
// The limit per buyer applies, the sale window does not. Only the hold with the last claimed number can revive the
// order. An older hold gets the new number, or its units are returned. After a crash the payment is still unresolved,
// and PayReconciler repeats resolve.
func (p *PaymentService) resolve(ctx context.Context, o shop.Order) error {
	// The epoch is read before the hold: if a recovery changes the epoch in between, ReviveLate fails.
	sale, err := p.Sale(ctx, o.Sale)
	if err != nil {
		return fmt.Errorf("read sale %s: %w", o.Sale, err)
	}
	claimed, err := p.Orders.ClaimHold(ctx, o.ID, o.State)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return p.settleResolved(ctx, o.ID)
	case err != nil:
		return fmt.Errorf("claim a hold for order %s: %w", o.ID, err)
	}
	verdict, err := p.Stock.Hold(ctx, shop.HoldRequest{
		Sale: claimed.Ref(), Order: claimed.ID, User: claimed.User, Hold: claimed.Hold, Qty: claimed.Qty,
	})
	if err != nil {
		return fmt.Errorf("hold units for order %s: %w", o.ID, err)
	}
	switch verdict {
	case shop.VerdictReserved, shop.VerdictRepeated:
		return p.revive(ctx, claimed, sale.Epoch)
	case shop.VerdictSoldOut:
		return p.refundLate(ctx, claimed, shop.ReasonLateSoldOut)
	case shop.VerdictLimit:
		return p.refundLate(ctx, claimed, shop.ReasonLateLimit)
	}
	now, err := p.Stock.Now(ctx)
	if err == nil && verdict == shop.VerdictNotLoaded && now > sale.ClosesAt.Add(shop.RetireAfter) {
		return p.refundLate(ctx, claimed, shop.ReasonLateOver)
	}
	// The partition is recovering, the units are in cooldown, or another node resolves the order: retry later.
	return fmt.Errorf("%w: unexpected verdict on the units of order %s: %d", shop.ErrTransient, o.ID, verdict)
}

// complete resolves a late payment, or refunds an anomaly.
func (p *PaymentService) complete(ctx context.Context, received ReceivedPayment, now shop.Millis) error {
	if received.Outcome == OutcomeRefunding {
		return p.refundAnomaly(ctx, received, now)
	}
	o, err := p.Orders.Order(ctx, received.Order)
	switch {
	case err != nil:
		return err
	case o.RevivalPending():
		return p.resolve(ctx, o)
	}
	return p.settleResolved(ctx, o.ID)
}

// revive changes the order to paid, with the claimed hold.
func (p *PaymentService) revive(ctx context.Context, claimed shop.Order, epoch int64) error {
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	paid, err := p.Trades.ReviveLate(ctx, claimed, epoch, now)
	switch {
	case err == nil:
	case errors.Is(err, shop.ErrNoRow), errors.Is(err, shop.ErrPermanent), errors.Is(err, shop.ErrStaleEpoch):
		// The order was certainly not revived with this hold number.
		units := []shop.Return{{Sale: claimed.Ref(), Order: claimed.ID, Hold: claimed.Hold, User: claimed.User}}
		if _, returnErr := p.Stock.Return(ctx, units); returnErr != nil {
			return fmt.Errorf("return units of order %s: %w", claimed.ID, returnErr)
		}
		if errors.Is(err, shop.ErrPermanent) {
			return p.refundLate(ctx, claimed, shop.ReasonLateSoldOut)
		}
		return fmt.Errorf("%w: revive order %s: %w", shop.ErrTransient, claimed.ID, err)
	default: // unknown outcome: the next claim takes over the hold, or finds the order paid (I6)
		return fmt.Errorf("revive order %s: %w", claimed.ID, err)
	}
	p.counts.Revived.Add(1)
	slog.InfoContext(ctx, "a late payment revived an order", "order", paid.ID)
	return p.Effects.Do(ctx, now, &paid)
}

// refundLate starts the refund. The number of the refund depends only on the order, so that a second refund is
// impossible.
func (p *PaymentService) refundLate(ctx context.Context, o shop.Order, reason string) error {
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	refunding, err := p.Refunds.BeginRefund(ctx, o.ID, []shop.OrderState{shop.Expired, shop.Cancelled}, reason, now)
	if errors.Is(err, shop.ErrNoRow) {
		return p.settleResolved(ctx, o.ID)
	}
	if err != nil {
		return fmt.Errorf("begin the refund of order %s: %w", o.ID, err)
	}
	p.counts.Refunded.Add(1)
	slog.InfoContext(ctx, "a late payment is refunded", "order", o.ID, "reason", reason)
	if err := p.Effects.Do(ctx, now, &refunding); err != nil {
		return err
	}
	return p.settleResolved(ctx, o.ID)
}

// settleResolved stores the outcome of the late payment of an order that this node or another node has resolved.
func (p *PaymentService) settleResolved(ctx context.Context, id shop.ID) error {
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	o, err := p.Orders.Order(ctx, id)
	if err != nil {
		return fmt.Errorf("read order %s: %w", id, err)
	}
	switch {
	case o.RevivalPending(): // unresolved: another node has the claim
		return fmt.Errorf("%w: order %s is being resolved", shop.ErrTransient, id)
	case o.CancelledAt == 0: // revived; that transaction also settled the payment
		return p.Effects.Do(ctx, now, &o)
	}
	return p.Trades.Resolve(ctx, id, OutcomeRefunded)
}
