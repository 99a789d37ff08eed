package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"stampede/app/shop"
)

// resolve decides at once about an order whose money came after it had ended (P8):
//
//	claim a hold number (database) → hold the units (Redis) ─┬▶ free: paid again, through the guard (database) → held → sold → event
//	                                                         └▶ not free: refunding (database) → event → Refunder
//
// The limit per buyer counts, the window does not. The last claimed number resolves it; an older hold is renumbered or
// comes back. After a crash the payment is unsettled, and PayReconciler repeats.
func (c *Cashier) resolve(ctx context.Context, o shop.Order) error {
	// before the hold: a recovery in between changes the epoch, and nothing is revived
	sale, err := c.Store.Sale(ctx, o.Sale)
	if err != nil {
		return fmt.Errorf("read sale %s: %w", o.Sale, err)
	}
	claimed, err := c.Store.ClaimHold(ctx, o.ID, o.State)
	switch {
	case errors.Is(err, shop.ErrArchived): // its sale left Redis long ago
		return c.giveUp(ctx, o, shop.ReasonLateOver)
	case errors.Is(err, shop.ErrNoRow):
		return c.resolved(ctx, o.ID)
	case err != nil:
		return fmt.Errorf("claim a hold for order %s: %w", o.ID, err)
	}
	verdict, err := c.Redis.Hold(ctx, shop.HoldRequest{
		Sale: claimed.Ref(), Order: claimed.ID, User: claimed.User, Hold: claimed.Hold, Qty: claimed.Qty,
	})
	if err != nil {
		return fmt.Errorf("hold units for order %s: %w", o.ID, err)
	}
	switch verdict {
	case shop.VerdictReserved, shop.VerdictRepeated:
		return c.revive(ctx, claimed, sale.Epoch)
	case shop.VerdictSoldOut:
		return c.giveUp(ctx, claimed, shop.ReasonLateSoldOut)
	case shop.VerdictLimit:
		return c.giveUp(ctx, claimed, shop.ReasonLateLimit)
	}
	now, err := c.Redis.Now(ctx)
	if err == nil && verdict == shop.VerdictNotLoaded && now > sale.ClosesAt.Add(shop.RetireAfter) {
		return c.giveUp(ctx, claimed, shop.ReasonLateOver)
	}
	// Being recovered, resting for too long, or somebody else resolves it now: it will pass.
	return fmt.Errorf("%w: no answer about units for order %s: %d", shop.ErrTransient, o.ID, verdict)
}

// revive makes the order paid under the hold that was taken for it.
func (c *Cashier) revive(ctx context.Context, claimed shop.Order, epoch int64) error {
	now, err := c.Redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	paid, err := c.Store.ReviveLate(ctx, claimed, epoch, now)
	switch {
	case err == nil:
	case errors.Is(err, shop.ErrNoRow), errors.Is(err, shop.ErrPermanent), errors.Is(err, shop.ErrStaleEpoch):
		// Certainly not revived under this number.
		units := []shop.Return{{Sale: claimed.Ref(), Order: claimed.ID, Hold: claimed.Hold, User: claimed.User}}
		if _, backErr := c.Redis.Return(ctx, units); backErr != nil {
			return fmt.Errorf("return units of order %s: %w", claimed.ID, backErr)
		}
		if errors.Is(err, shop.ErrPermanent) {
			return c.giveUp(ctx, claimed, shop.ReasonLateSoldOut)
		}
		return fmt.Errorf("%w: revive order %s: %w", shop.ErrTransient, claimed.ID, err)
	default: // unknown: the next claim takes the hold over, or finds the order paid (I6)
		return fmt.Errorf("revive order %s: %w", claimed.ID, err)
	}
	c.counts.Revived.Add(1)
	slog.InfoContext(ctx, "late money revived an order", "order", paid.ID)
	return c.Effects.Do(ctx, now, &paid)
}

// giveUp begins the refund. Its number depends only on the order, so that no second one can come of it.
func (c *Cashier) giveUp(ctx context.Context, o shop.Order, reason string) error {
	now, err := c.Redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	refunding, err := c.Store.BeginRefund(ctx, o.ID, []shop.OrderState{shop.Expired, shop.Cancelled}, reason, now)
	if errors.Is(err, shop.ErrNoRow) {
		return c.resolved(ctx, o.ID)
	}
	if err != nil {
		return fmt.Errorf("begin the refund of order %s: %w", o.ID, err)
	}
	c.counts.Refunded.Add(1)
	slog.InfoContext(ctx, "late money is given back", "order", o.ID, "reason", reason)
	if err := c.Effects.Do(ctx, now, &refunding); err != nil {
		return err
	}
	return c.resolved(ctx, o.ID)
}

// resolved settles the late payment of an order that somebody has resolved, here or elsewhere.
func (c *Cashier) resolved(ctx context.Context, id shop.ID) error {
	now, err := c.Redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	o, err := c.Store.Order(ctx, id)
	if err != nil {
		return fmt.Errorf("read order %s: %w", id, err)
	}
	switch {
	case o.Reviving(): // not yet: another one holds the claim
		return fmt.Errorf("%w: order %s is being resolved", shop.ErrTransient, id)
	case o.CancelledAt == 0: // revived, which settles the payment in the same transaction
		return c.Effects.Do(ctx, now, &o)
	}
	return c.Store.Resolve(ctx, id, OutcomeRefunded)
}
