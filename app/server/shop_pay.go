package server

import (
	"context"
	"net/url"

	"stampede/app"
)

// cashier is flow 3 as the shop uses it.
type cashier interface {
	Pay(ctx context.Context, user, order app.ID, via app.PayVia) (app.Payable, error)
	Settle(ctx context.Context, t app.Trade) error
}

// openGateway makes the payment gateway; nil when nothing can be paid.
func openGateway(c *Config) (app.Gateway, error) {
	gateway, err := c.gateway()
	if gateway == nil || err != nil {
		return nil, err
	}
	return gateway, nil
}

// Pay answers where a buyer pays.
func (s *shop) Pay(ctx context.Context, user, order app.ID, via app.PayVia) (app.Payable, error) {
	if s.cashier == nil {
		return app.Payable{}, app.Fail(app.UnknownOp, "this shop takes no payments")
	}
	return s.cashier.Pay(ctx, user, order, via)
}

// notified makes the handler of the gateway's notifications; nil when nothing can be paid. Nothing but a verified
// notification reaches the cashier.
func (s *shop) notified(gateway app.Gateway) func(ctx context.Context, form url.Values) error {
	if gateway == nil || s.cashier == nil {
		return nil
	}
	return func(ctx context.Context, form url.Values) error {
		trade, err := gateway.Notified(form)
		if err != nil {
			return err
		}
		return s.cashier.Settle(ctx, trade)
	}
}
