package app

import (
	"context"
	"errors"
)

// ListRefunds pages through refunds, those of the newest orders first.
func (d *RefundDesk) ListRefunds(ctx context.Context, q RefundsQuery) ([]Refund, bool, error) {
	refunds, more, err := d.Refunds.Refunds(ctx, q)
	return refunds, more, Unreadable("refunds", err)
}

// AnyOrder reads an order, whosever it is, with its refund, if it has one. NotFound when there is no such order.
func (d *RefundDesk) AnyOrder(ctx context.Context, order ID) (Order, *Refund, error) {
	row, err := d.Orders.Order(ctx, order)
	if errors.Is(err, ErrNoRow) {
		return row, nil, Fail(NotFound, "no such order")
	}
	if err != nil {
		return row, nil, Unreadable("the order", err)
	}
	refund, err := d.Refunds.RefundOf(ctx, order)
	if errors.Is(err, ErrNoRow) {
		return row, nil, nil
	}
	return row, &refund, Unreadable("the refund", err)
}
