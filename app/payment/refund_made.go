package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stampede/app/shop"
)

// MadeRefund is a refund that the gateway has made, for this program or in the gateway's own console.
type MadeRefund struct {
	Order     shop.ID
	Request   string // "": unknown, the next number of this program
	AmountFen int64
	At        shop.Millis // 0: now
}

// settleRefunded enters the refund of a trade of which the gateway has refunded everything.
func (p *PaymentService) settleRefunded(ctx context.Context, t Trade) error {
	o, err := p.Orders.Order(ctx, t.Order)
	switch {
	case err != nil && !errors.Is(err, shop.ErrNoRow):
		return fmt.Errorf("read order %s: %w", t.Order, err)
	case err != nil || o.TradeNo != t.No:
		return p.Lost.AnomalyRefunded(ctx, t.No)
	}
	_, err = p.enterRefund(ctx, MadeRefund{Order: o.ID, Request: t.Refund, AmountFen: t.RefundedFen - o.RefundedFen})
	return err
}

// bookRefund enters a refund that a list or a notification reports, if the gateway confirms it. It reports false if
// nothing changed.
func (p *PaymentService) bookRefund(ctx context.Context, r RefundRequest, at shop.Millis) (bool, error) {
	made, err := p.Gateway.Refunded(ctx, r)
	if errors.Is(err, ErrGatewayRefused) || err == nil && !made {
		slog.WarnContext(ctx, "the gateway does not confirm a reported refund", "order", r.Order, "request", r.Request,
			"fen", r.AmountFen, "err", err)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("query a refund of order %s: %w", r.Order, err)
	}
	return p.enterRefund(ctx, MadeRefund{Order: r.Order, Request: r.Request, AmountFen: r.AmountFen, At: at})
}

func (p *PaymentService) enterRefund(ctx context.Context, made MadeRefund) (bool, error) {
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	made.At = cmp.Or(made.At, now)
	o, err := p.Lost.BookRefund(ctx, made)
	if err != nil {
		return false, fmt.Errorf("enter a refund of order %s: %w", made.Order, err)
	}
	return o.Touched, p.Effects.Do(ctx, now, &o)
}

// anomalyPause is the pause after the gateway has rejected the refund of an anomaly.
const anomalyPause = 10 * time.Minute

// refundAnomaly refunds a payment that does not fit an order, because an operator has decided so. Its request number
// depends only on the trade, so that a repeat does not refund twice.
func (p *PaymentService) refundAnomaly(ctx context.Context, received ReceivedPayment, now shop.Millis) error {
	ctx, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	err := p.Gateway.Refund(ctx, RefundRequest{
		Order: received.Order, TradeNo: received.TradeNo, Request: "P" + received.TradeNo, AmountFen: received.AmountFen,
		Reason: ReasonRefundShop,
	})
	if err == nil {
		return p.Lost.AnomalyRefunded(ctx, received.TradeNo)
	}
	if errors.Is(err, ErrGatewayRefused) {
		err = errors.Join(err, p.Lost.RetryAnomaly(ctx, received.TradeNo, now.Add(anomalyPause)))
	}
	return fmt.Errorf("refund trade %s: %w", received.TradeNo, err)
}
