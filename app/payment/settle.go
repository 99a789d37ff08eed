package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"stampede/app/shop"
)

// HandleNotification processes a notification of the gateway, parsed from the raw body. ErrForged: the notification is
// invalid. Only verified notifications are settled. Call it only if TakesPayments is true.
func (p *PaymentService) HandleNotification(ctx context.Context, form url.Values) error {
	trade, err := p.Gateway.VerifyNotification(form)
	if err != nil {
		return err
	}
	return p.Settle(ctx, trade)
}

// Settle processes a verified trade from a notification, a query or a close. nil: the trade is settled, no repeat is
// needed. ErrTradeMismatch: the trade does not fit the order. Any other error is transient. Only paid trades change an
// order here; waiting, closed and absent trades do not. Unpaid orders end at their deadline or when their buyer
// cancels.
func (p *PaymentService) Settle(ctx context.Context, t Trade) error {
	if t.State != TradePaid {
		return nil
	}
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	order, outcome, err := p.Trades.Receive(ctx, t, now)
	if err != nil {
		return fmt.Errorf("receive trade %s: %w", t.No, err)
	}
	p.counts.PaidTrades.Add(1)
	switch {
	case outcome.IsAnomaly():
		p.counts.Anomalies.Add(1)
		slog.ErrorContext(ctx, "a payment does not match its order", "order", t.Order, "trade", t.No, "outcome", outcome,
			"trade_fen", t.AmountFen, "order_fen", order.AmountFen, "state", order.State)
		return fmt.Errorf("%w: trade %s of order %s: %s", ErrTradeMismatch, t.No, t.Order, outcome)
	case outcome == OutcomeLate:
		return p.resolve(ctx, order)
	case order.PublishedRev < order.Rev: // a repeat of a published state changes nothing and costs nothing
		return p.Effects.Do(ctx, now, &order)
	}
	return nil
}
