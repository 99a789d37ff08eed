package recovery

import (
	"context"
	"fmt"

	"stampede/app/payment"
	"stampede/app/shop"
)

// endOrders ends orders whose rows hold units in the database and whose holds are gone. The gateway is queried about
// these orders for a day, as about every ended order, so payment.PayReconciler handles a payment that did arrive. A
// sold row without a hold may have been refunded. A refund needs positive evidence, so an operator decides, and until
// then the order is not shipped. A Redis that has lost writes is an older state: it proves the end of an order that it
// has accepted, and nothing about later orders and revivals. A sale that is not in Redis proves nothing.
func (rr *recoveryRun) endOrders(ctx context.Context, sale *shop.Sale) error {
	return rr.eachPage(ctx, sale, func(page []shop.Order) error { return rr.endPage(ctx, sale, page) })
}

func (rr *recoveryRun) endPage(ctx context.Context, sale *shop.Sale, page []shop.Order) error {
	var holding []shop.Order
	for i := range page {
		if o := &page[i]; o.HoldsUnits() && o.State != shop.Refunded && o.State != shop.Refunding {
			holding = append(holding, *o)
		}
	}
	evidence, loaded, err := rr.Redis.Recovery().Evidence(ctx, sale.Ref(), holding)
	if err != nil || !loaded {
		return err
	}
	var ended []shop.ID
	var problems []shop.Problem
	for i := range holding {
		o, e := &holding[i], &evidence[i]
		switch {
		case e.Hold != nil: // a late payment may have revived the order, and the database has lost the revival
			if err := rr.raiseHold(ctx, o, e.Hold.Hold); err != nil {
				return err
			}
		case !e.InRecord && rr.found.redisLost != "": // a later order
		case o.State.Sold() && o.Reason == payment.ReasonRefundDeclined: // an operator has decided
		case o.State.Sold():
			if err := rr.requestRefund(ctx, o); err != nil {
				return err
			}
			problems = append(problems, problemOf(o, "it is %s, and its units were withdrawn, as after a refund: decide on its "+
				"refund", o.State))
		case e.InRecord && o.Hold == 1:
			ended = append(ended, o.ID)
		case rr.found.redisLost != "": // a later revival
		default:
			problems = append(problems, problemOf(o, "it is pending, and its hold %d is not in Redis: nothing proves that it "+
				"ended", o.Hold))
		}
	}
	if err := rr.addProblems(ctx, problems...); err != nil {
		return err
	}
	if len(ended) == 0 {
		return nil
	}
	if err := rr.beginDoubt(ctx); err != nil {
		return err
	}
	rows, err := rr.Store.Orders().EndLost(ctx, ended, rr.closedAt)
	if err != nil {
		return fmt.Errorf("end %d orders: %w", len(ended), err)
	}
	for i := range rows {
		if rows[i].Reason == shop.ReasonRecovered {
			rr.report.Ended++
		}
	}
	return nil
}

// requestRefund requests the refund of a sold order without a hold; an operator decides on it. After approval, the
// gateway recognizes an earlier refund by its number (I6).
func (rr *recoveryRun) requestRefund(ctx context.Context, o *shop.Order) error {
	_, err := rr.Store.Refunds().RequestRefund(ctx, payment.BuyerRefundRequest{
		Order: o.ID, User: o.User, Text: "recovery: its units were withdrawn, as after a refund", At: rr.closedAt,
	})
	if err != nil {
		return fmt.Errorf("request the refund of order %s: %w", o.ID, err)
	}
	return nil
}

// problemOf returns the problem of an order that has a row.
func problemOf(o *shop.Order, format string, args ...any) shop.Problem {
	return shop.Problem{Sale: o.Sale, Order: o.ID, User: o.User, Text: fmt.Sprintf(format, args...)}
}
