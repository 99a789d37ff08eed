package server

import (
	"context"
	"errors"

	"stampede/app"
	"stampede/app/account"
)

// operator reads the token of somebody who looks after the shop.
func (s *shop) operator(token string) (app.ID, error) {
	who, err := s.issuer.Verify(token)
	if err != nil {
		return 0, err
	}
	if who.Role != account.Operator && who.Role != account.Admin {
		return 0, app.Fail(app.Forbidden, "this is for operators")
	}
	return who.User, nil
}

// Refund asks for the money of a paid order back.
func (s *shop) Refund(ctx context.Context, user, order app.ID, reason string) (app.OrderState, error) {
	return s.desk.Ask(ctx, user, order, reason)
}

// DecideRefund is an operator's yes or no.
func (s *shop) DecideRefund(ctx context.Context, operator, order app.ID, yes bool, note string) (app.Order, error) {
	return s.desk.Decide(ctx, operator, order, yes, note)
}

// RetryRefund has the gateway asked again for a refund that is stuck.
func (s *shop) RetryRefund(ctx context.Context, order app.ID) error { return s.desk.Retry(ctx, order) }

// Refunds pages through refunds.
func (s *shop) Refunds(ctx context.Context, q app.RefundsQuery) ([]app.Refund, bool, error) {
	refunds, more, err := s.desk.Refunds.Refunds(ctx, q)
	return refunds, more, app.Unreadable("refunds", err)
}

// OrdersInState pages through all orders of a state.
func (s *shop) OrdersInState(ctx context.Context, q app.StateQuery) ([]app.Order, bool, error) {
	orders, more, err := s.desk.Orders.OrdersInState(ctx, q)
	return orders, more, app.Unreadable("orders", err)
}

// AnyOrder reads an order, whosever it is, with its refund, if it has one.
func (s *shop) AnyOrder(ctx context.Context, order app.ID) (app.Order, *app.Refund, error) {
	row, err := s.desk.Orders.Order(ctx, order)
	if errors.Is(err, app.ErrNoRow) {
		return row, nil, app.Fail(app.NotFound, "no such order")
	}
	if err != nil {
		return row, nil, app.Unreadable("the order", err)
	}
	refund, err := s.desk.Refunds.RefundOf(ctx, order)
	if errors.Is(err, app.ErrNoRow) {
		return row, nil, nil
	}
	return row, &refund, app.Unreadable("the refund", err)
}
