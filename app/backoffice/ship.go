package backoffice

import (
	"context"
	"errors"
	"time"

	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// ShippingService records parcels for operators and receipts for buyers:
//
//	paid ── operator: carrier, number ──▶ shipped ── its buyer, or the FinisherJob ──▶ finished
//
// The order is: COMMIT, an event to the buyer's sockets, then the e-mail of the FinisherJob. A requested refund is
// decided before either step, because a finished order is not refunded.
type ShippingService struct {
	Store       *store.Store
	RedisTime   func(ctx context.Context) (shop.Millis, error)
	Gateway     payment.Gateway // nil: none
	Effects     *order.Effects
	FinishAfter time.Duration // time until a shipped order finishes automatically
}

// Ship marks a paid order as shipped. With how.Replace, a shipped order gets another parcel. An order of which a part
// was refunded is shipped only with how.PartRefunded. A repeat returns the order unchanged. NotFound: no such order.
// WrongState: the order cannot be shipped; the message contains the reason.
func (ss *ShippingService) Ship(
	ctx context.Context, actor journal.Actor, p store.Parcel, how store.Shipping,
) (shop.Order, error) {
	if err := checkParcel(&p); err != nil {
		return shop.Order{}, err
	}
	shipping, err := ss.shipping(ctx, actor, how)
	if err == nil {
		shipping.Confirmed, err = ss.confirmPayments(ctx, actor, shipping.At, []store.Parcel{p})
	}
	if err != nil {
		return shop.Order{}, err
	}
	var row shop.Order
	done, err := ss.Store.RunOperation(ctx, actor, func(tx *store.Store) (journal.Operation, error) {
		before, err := tx.Orders().Order(ctx, p.Order)
		if err != nil {
			return journal.Operation{}, err
		}
		all, err := tx.Shipments().Ship(ctx, shipping, []store.Parcel{p})
		if err != nil {
			return journal.Operation{}, err
		}
		if rejection := shipRejection(&all[0]); rejection != nil {
			return journal.Operation{}, rejection
		}
		row = all[0].Order
		return journal.Operation{
			Kind: "order.ship", Object: object("order", p.Order), Before: stateOf(&before), After: stateOf(&row),
		}, nil
	})
	if err == nil && done.Repeated {
		row, err = ss.Store.Orders().Order(ctx, p.Order)
	}
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Order{}, shop.Fail(shop.NotFound, "no such order")
	}
	if err != nil {
		return shop.Order{}, shop.UnknownOutcome("ship order "+p.Order.String(), err)
	}
	return row, ss.publish(ctx, shipping.At, &row)
}

// shipping adds the operator and the times for parcels that are recorded now.
func (ss *ShippingService) shipping(
	ctx context.Context, actor journal.Actor, how store.Shipping,
) (store.Shipping, error) {
	now, err := ss.RedisTime(ctx)
	how.By, how.At, how.Finish = actor.User, now, now.Add(ss.FinishAfter)
	return how, shop.Unavailable("Redis time", err)
}

func (ss *ShippingService) publish(ctx context.Context, asOf shop.Millis, rows ...*shop.Order) error {
	return shop.UnknownOutcome("publish shipped orders", ss.Effects.Do(ctx, asOf, rows...))
}

// ConfirmReceipt finishes a shipped order for its buyer. A repeat returns the same result. NotFound: no such order of
// this user. WrongState: the order is not shipped, or a refund is requested.
func (ss *ShippingService) ConfirmReceipt(ctx context.Context, user, order shop.ID) (shop.OrderState, error) {
	now, err := ss.RedisTime(ctx)
	if err != nil {
		return "", shop.Unavailable("Redis time", err)
	}
	row, refundRequested, err := ss.Store.Shipments().ConfirmReceipt(ctx, order, user, now)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return "", shop.Fail(shop.NotFound, "no such order")
	case err != nil:
		return "", shop.UnknownOutcome("confirm the receipt of order "+order.String(), err)
	case refundRequested:
		return "", shop.Fail(shop.WrongState, "you have requested your money back; the shop decides on the refund first")
	case row.State != shop.Finished:
		return "", shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be confirmed")
	}
	return row.State, ss.publish(ctx, now, &row)
}

// ShipmentOf reads the parcel of an order; nil: it has no parcel.
func (ss *ShippingService) ShipmentOf(ctx context.Context, order shop.ID) (*store.Shipment, error) {
	s, err := ss.Store.Shipments().ShipmentOf(ctx, order)
	if errors.Is(err, shop.ErrNoRow) {
		return nil, nil
	}
	return &s, shop.Unavailable("the shipment", err)
}
