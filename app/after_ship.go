package app

import (
	"context"
	"errors"
	"time"
)

// ShippingDesk is where operators enter what they have sent, and buyers say that it has come:
//
//	paid ── operator: carrier, number ──▶ shipped ── its buyer, or the Finisher ──▶ finished
//
// COMMIT, then an event to the buyer's sockets, and the Finisher's e-mail. A refund that a buyer has asked for is
// decided before either step: a finished order is not refunded.
type ShippingDesk struct {
	Inventory   Inventory
	Orders      OrderStore
	Shipments   ShipmentStore
	Effects     *Effects
	Journal     *Journal
	FinishAfter time.Duration // after which an order that was shipped finishes by itself
}

// Ship makes a paid order shipped; with replace, an order that is shipped gets another parcel. The same again answers
// the order as it is. NotFound: there is no such order. WrongState: it cannot be shipped, with the reason.
func (d *ShippingDesk) Ship(ctx context.Context, actor Actor, p Parcel, replace bool) (Order, error) {
	if err := p.Validate(); err != nil {
		return Order{}, err
	}
	how, err := d.shipping(ctx, actor, replace)
	if err != nil {
		return Order{}, err
	}
	var row Order
	done, err := d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		before, err := d.Orders.Order(ctx, p.Order)
		if err != nil {
			return Act{}, err
		}
		all, err := d.Shipments.Ship(ctx, how, []Parcel{p})
		if err != nil {
			return Act{}, err
		}
		if refused := all[0].refusal(); refused != nil {
			return Act{}, refused
		}
		row = all[0].Order
		return Act{Kind: "order.ship", Object: "order:" + p.Order.String(), Before: stateOf(&before), After: stateOf(&row)}, nil
	})
	if err == nil && done.Repeated {
		row, err = d.Orders.Order(ctx, p.Order)
	}
	if errors.Is(err, ErrNoRow) {
		return Order{}, Fail(NotFound, "no such order")
	}
	if err != nil {
		return Order{}, unsettled("ship order "+p.Order.String(), err)
	}
	return row, d.tell(ctx, how.At, &row)
}

// shipping is how parcels are entered now.
func (d *ShippingDesk) shipping(ctx context.Context, actor Actor, replace bool) (Shipping, error) {
	now, err := d.Inventory.Now(ctx)
	how := Shipping{By: actor.User, At: now, Finish: now.Add(d.FinishAfter), Replace: replace}
	return how, unsettled("read Redis time", err)
}

func (d *ShippingDesk) tell(ctx context.Context, asOf Millis, rows ...*Order) error {
	return unsettled("tell of shipped orders", d.Effects.Do(ctx, asOf, rows...))
}

// ConfirmReceipt is the buyer's word that a shipped order has come. Saying it again answers the same. NotFound: another
// user's order. WrongState: it is not shipped, or its refund is asked for.
func (d *ShippingDesk) ConfirmReceipt(ctx context.Context, user, order ID) (OrderState, error) {
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return "", unsettled("read Redis time", err)
	}
	row, asked, err := d.Shipments.ConfirmReceipt(ctx, order, user)
	switch {
	case errors.Is(err, ErrNoRow):
		return "", Fail(NotFound, "no such order")
	case err != nil:
		return "", unsettled("confirm the receipt of order "+order.String(), err)
	case asked:
		return "", Fail(WrongState, "you have asked for your money back, which is decided on first")
	case row.State != Finished:
		return "", Fail(WrongState, "an order that is "+string(row.State)+" cannot be confirmed")
	}
	return row.State, d.tell(ctx, now, &row)
}

// ShipmentOf reads the parcel of an order; nil: none was sent.
func (d *ShippingDesk) ShipmentOf(ctx context.Context, order ID) (*Shipment, error) {
	s, err := d.Shipments.ShipmentOf(ctx, order)
	if errors.Is(err, ErrNoRow) {
		return nil, nil
	}
	return &s, Unreadable("the shipment", err)
}
