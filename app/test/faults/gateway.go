package faults

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Gateway applies a fault to a payment gateway. A nil gateway stays nil: the shop accepts no payments.
func Gateway(to payment.Gateway, f Fault) payment.Gateway {
	if to == nil {
		return nil
	}
	return gateway{to, f}
}

type gateway struct {
	payment.Gateway
	f Fault
}

func (g gateway) Pay(ctx context.Context, r payment.PayRequest) (payment.Payment, error) {
	return callWith(ctx, g.f, "Gateway.Pay", func() (payment.Payment, error) { return g.Gateway.Pay(ctx, r) })
}

func (g gateway) Query(ctx context.Context, order shop.ID) (payment.Trade, error) {
	return callWith(ctx, g.f, "Gateway.Query", func() (payment.Trade, error) { return g.Gateway.Query(ctx, order) })
}

func (g gateway) Close(ctx context.Context, order shop.ID) (payment.Trade, error) {
	return callWith(ctx, g.f, "Gateway.Close", func() (payment.Trade, error) { return g.Gateway.Close(ctx, order) })
}

func (g gateway) Refund(ctx context.Context, r payment.RefundRequest) error {
	return g.f(ctx, "Gateway.Refund", func() error { return g.Gateway.Refund(ctx, r) })
}

func (g gateway) Refunded(ctx context.Context, r payment.RefundRequest) (bool, error) {
	return callWith(ctx, g.f, "Gateway.Refunded", func() (bool, error) { return g.Gateway.Refunded(ctx, r) })
}
