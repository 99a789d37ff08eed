package app

import (
	"context"
	"errors"
	"fmt"

	"stampede/app/crashpoint"
)

// end ends a pending order whose trade was opened: the gateway first, then the row, then the units. It answers the row as
// it is afterwards: ended, or paid if the buyer was faster. An error is a fault of the moment: nothing is known to have
// ended, ask again.
//
// A trade begins to exist when the buyer comes to the gateway with what was signed, so one that the gateway does not know is
// over for certain only at the deadline, Margin after the gateway stopped taking money for it. A buyer who cancels earlier
// gives up a payment that was not begun; should it come all the same, it is late money.
func (c *Cashier) end(ctx context.Context, o Order, to OrderState) (Order, error) {
	t, err := c.Gateway.Close(ctx, o.ID)
	if errors.Is(err, ErrGatewayRefused) {
		t, err = c.Gateway.Query(ctx, o.ID)
	}
	if err != nil {
		c.counts.Unknown.Add(1)
		return Order{}, fmt.Errorf("close the trade of order %s: %w", o.ID, errors.Join(ErrMoment, err))
	}
	crashpoint.At(crashpoint.CloseAnswered)
	now, err := c.Ledger.Now(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("read Redis time: %w", errors.Join(ErrMoment, err))
	}
	switch {
	case t.State == TradePaid:
		return c.paidMeanwhile(ctx, t)
	case t.State == TradeWaiting, t.State == TradeAbsent && to == Expired && now < o.PayBy:
		return Order{}, fmt.Errorf("%w: the trade of order %s is not over yet", ErrMoment, o.ID)
	}
	row, err := c.Payments.EndTraded(ctx, o.ID, to, now)
	if err != nil {
		return Order{}, fmt.Errorf("end order %s: %w", o.ID, err)
	}
	crashpoint.At(crashpoint.CloseCommitted)
	c.counts.Closed.Add(1)
	if err := giveBack(ctx, c.Ledger, []Order{row}); err != nil {
		return Order{}, err
	}
	crashpoint.At(crashpoint.CloseReturned)
	return row, tell(ctx, c.Teller, c.Told, []Order{row})
}

// paidMeanwhile takes the money and answers the order that it has paid.
func (c *Cashier) paidMeanwhile(ctx context.Context, t Trade) (Order, error) {
	if err := c.Settle(ctx, t); err != nil {
		return Order{}, fmt.Errorf("settle the trade of order %s: %w", t.Order, errors.Join(ErrMoment, err))
	}
	row, err := c.Orders.Order(ctx, t.Order)
	if err != nil {
		return Order{}, fmt.Errorf("read order %s: %w", t.Order, err)
	}
	return row, nil
}
