package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stampede/app/shop"
)

// end ends a pending order whose trade was opened. It closes the trade at the gateway, ends the row, and returns the
// units. The returned order has ended, or is paid if the payment came first. Errors are transient: retry.
func (p *PaymentService) end(ctx context.Context, o shop.Order, to shop.OrderState) (shop.Order, error) {
	row, closed, err := p.closeAtGateway(ctx, o, to)
	if err != nil || !closed {
		return row, err
	}
	rows, locked, err := p.endOrders(ctx, []shop.ID{o.ID}, to)
	switch {
	case err != nil:
		return shop.Order{}, err
	case len(locked) > 0:
		return shop.Order{}, fmt.Errorf("end order %s: %w", o.ID, errLockedSale)
	case len(rows) == 0:
		return shop.Order{}, fmt.Errorf("end order %s: %w", o.ID, shop.ErrNoRow)
	}
	return rows[0], nil
}

// closeAtGateway closes the trade at the gateway. If closed is true, nothing was paid and nothing can be paid later.
// Otherwise row is the order after its payment was settled. A trade starts when the buyer opens the page of the
// gateway. So an absent trade is closed only at the deadline, Margin after the gateway stopped accepting money. If the
// buyer cancels earlier, an absent trade also counts as closed; money that still arrives is late money.
func (p *PaymentService) closeAtGateway(
	ctx context.Context, o shop.Order, to shop.OrderState,
) (row shop.Order, closed bool, err error) {
	t, err := p.Gateway.Close(ctx, o.ID)
	if errors.Is(err, ErrGatewayRefused) {
		t, err = p.Gateway.Query(ctx, o.ID)
	}
	if err != nil {
		p.counts.Unknown.Add(1)
		return shop.Order{}, false, fmt.Errorf("close the trade of order %s: %w", o.ID, errors.Join(shop.ErrTransient, err))
	}
	switch t.State {
	case TradePaid:
		row, err := p.settlePaid(ctx, t)
		return row, false, err
	case TradeClosed:
		return o, true, nil
	}
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return shop.Order{}, false, fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	if t.State == TradeWaiting || to == shop.Expired && now < o.PayBy {
		return shop.Order{}, false, fmt.Errorf("%w: the trade of order %s has not ended yet", shop.ErrTransient, o.ID)
	}
	return o, true, nil
}

var errLockedSale = fmt.Errorf("%w: the row of its sale is locked", shop.ErrTransient)

// endOrders ends pending orders whose trades are closed, returns their units and publishes their states. It returns the
// rows that are not pending, and the IDs of orders that stay pending because the row of their sale is locked.
func (p *PaymentService) endOrders(
	ctx context.Context, orders []shop.ID, to shop.OrderState,
) (rows []shop.Order, locked []shop.ID, err error) {
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	rows, err = p.Trades.EndTraded(ctx, orders, to, now)
	if err != nil {
		return nil, nil, fmt.Errorf("end %d orders: %w", len(orders), err)
	}
	rows = slices.DeleteFunc(rows, func(o shop.Order) bool {
		if o.State == shop.Pending {
			locked = append(locked, o.ID)
		}
		return o.State == shop.Pending
	})
	p.counts.Closed.Add(int64(len(rows)))
	return rows, locked, p.Effects.Do(ctx, now, shop.Pointers(rows)...)
}

// settlePaid settles the payment and returns the order that it paid.
func (p *PaymentService) settlePaid(ctx context.Context, t Trade) (shop.Order, error) {
	if err := p.Settle(ctx, t); err != nil {
		return shop.Order{}, fmt.Errorf("settle the trade of order %s: %w", t.Order, errors.Join(shop.ErrTransient, err))
	}
	return p.Orders.Order(ctx, t.Order)
}
