package backoffice

import (
	"context"

	"stampede/app/journal"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// RefundedAnomalies are the payments that an operator refunds at once.
type RefundedAnomalies struct {
	Payments  int   `json:"payments"`
	AmountFen int64 `json:"amount_fen"`
}

// RefundAnomalies refunds payments that do not fit an order: the one with the trade number, or all with the outcome.
// WrongState: there is no such payment.
func (s *RefundService) RefundAnomalies(
	ctx context.Context, actor journal.Actor, tradeNo string, outcome payment.Outcome,
) (RefundedAnomalies, error) {
	switch {
	case (tradeNo == "") == (outcome == ""):
		return RefundedAnomalies{}, shop.Fail(shop.BadRequest, "send either trade_no or state")
	case outcome != "" && !outcome.IsAnomaly():
		return RefundedAnomalies{}, shop.Fail(shop.BadRequest,
			"state must be unknown_order, wrong_amount, second_trade or never_payable")
	case actor.Note == "":
		return RefundedAnomalies{}, shop.Fail(shop.BadRequest, "the reason is missing: send it as the note of the operation")
	}
	now, err := s.RedisTime(ctx)
	if err != nil {
		return RefundedAnomalies{}, shop.Unavailable("Redis time", err)
	}
	refund := func(tx *store.Store) (journal.Operation, error) {
		n, fen, err := tx.LostOrders().RefundAnomalies(ctx, tradeNo, outcome, now)
		if err == nil && n == 0 {
			err = shop.Fail(shop.WrongState, "there is no such payment to refund")
		}
		refunded, object := RefundedAnomalies{n, fen}, "payment:"+tradeNo
		if tradeNo == "" {
			object = "payments:" + string(outcome)
		}
		return journal.Operation{
			Kind: "payment.refund", Object: object, After: refunded, Note: actor.Note, Result: refunded,
		}, err
	}
	return store.RunOperationFor[RefundedAnomalies](ctx, s.Store, actor, refund)
}
