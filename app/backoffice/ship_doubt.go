package backoffice

import (
	"context"
	"errors"

	"stampede/app/journal"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// maxPaymentQueries is how many gateway queries about the parcels of one request run concurrently.
const maxPaymentQueries = 4

// confirmPayments queries the gateway about parcels of orders that were paid before a doubt, because the database may
// have lost a refund that was sent. It returns the orders with a payment that is not refunded. If the gateway has
// refunded everything, the refund is entered again, but not in a dry run; the gateway recognizes its number.
func (ss *ShippingService) confirmPayments(
	ctx context.Context, actor journal.Actor, now shop.Millis, parcels []store.Parcel,
) (map[shop.ID]bool, error) {
	ids := shop.Mapped(parcels, func(p store.Parcel) shop.ID { return p.Order })
	doubtful, err := ss.Store.Shipments().InDoubt(ctx, ids)
	if err != nil || len(doubtful) == 0 {
		return nil, shop.Unavailable("the orders", err)
	}
	if ss.Gateway == nil {
		return nil, shop.Fail(shop.WrongState, "the database has lost writes since these orders were paid, and this node "+
			"cannot query the gateway: set its STAMPEDE_ALIPAY_ variables, or ship through a node that has them")
	}
	paid := make([]bool, len(doubtful))
	err = shop.Concurrently(maxPaymentQueries, len(doubtful), func(i int) (err error) {
		paid[i], err = ss.confirmPayment(ctx, doubtful[i], now, actor.DryRun)
		return err
	})
	confirmed := make(map[shop.ID]bool, len(doubtful))
	for i, id := range doubtful {
		confirmed[id] = paid[i]
	}
	return confirmed, shop.UnknownOutcome("query the payments of the orders", err)
}

func (ss *ShippingService) confirmPayment(
	ctx context.Context, id shop.ID, now shop.Millis, dryRun bool,
) (paid bool, err error) {
	t, err := ss.Gateway.Query(ctx, id)
	if err != nil || t.State != payment.TradeClosed || dryRun {
		return t.State == payment.TradePaid && t.RefundedFen == 0, err
	}
	row, err := ss.Store.Refunds().BeginRefund(ctx, id, []shop.OrderState{shop.Paid}, payment.ReasonRefundShop, now)
	if errors.Is(err, shop.ErrNoRow) { // it was shipped or refunded meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return false, ss.publish(ctx, now, &row)
}
