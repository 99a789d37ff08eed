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
	if trade.State == TradeClosed && trade.RefundedFen > 0 { // a refund counts only if the gateway confirms it
		refund := trade.Refund
		if trade, err = p.Gateway.Query(ctx, trade.Order); err != nil {
			return err
		}
		trade.Refund = refund
	}
	return p.Settle(ctx, trade)
}

// Settle processes a verified trade from a notification, a query or a close. nil: the trade is settled, no repeat is
// needed. ErrTradeMismatch: the trade does not fit the order. Any other error is transient. Only paid and refunded
// trades change an order here. Unpaid orders end at their deadline or when their buyer cancels.
func (p *PaymentService) Settle(ctx context.Context, t Trade) error {
	if t.State == TradeClosed && t.RefundedFen > 0 {
		return p.settleRefunded(ctx, t)
	}
	if t.State != TradePaid {
		return nil
	}
	if t.Mark.Shop != p.ShopID { // money of another shop
		t.Mark = Mark{}
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
		err = p.Effects.Do(ctx, now, &order)
	}
	if err == nil && t.RefundedFen > order.RefundedFen && t.Refund != "" {
		_, err = p.bookRefund(ctx, RefundRequest{
			Order: t.Order, TradeNo: t.No, Request: t.Refund, AmountFen: t.RefundedFen - order.RefundedFen,
		}, now)
	}
	return err
}
