package backoffice

import (
	"context"
	"errors"
	"unicode/utf8"

	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// RefundService decides on refunds for operators. Buyers request refunds (see payment.RefundRequests); payment.Refunder
// pays the money back.
type RefundService struct {
	Store     *store.Store
	RedisTime func(ctx context.Context) (shop.Millis, error)
	Effects   *order.Effects
}

// Decide approves or declines a refund. Approving also refunds an order without a request. NotFound: no such order.
// WrongState: the order is not paid, or there is no request to decline. The journal stores only the state of the order,
// so a repeated decision returns the current order.
func (s *RefundService) Decide(
	ctx context.Context, actor journal.Actor, order shop.ID, approve bool, note string,
) (shop.Order, error) {
	if utf8.RuneCountInString(note) > payment.MaxRefundText || !shop.Printable(note) {
		return shop.Order{}, shop.Failf(
			shop.BadRequest, "note must be printable text of at most %d characters", payment.MaxRefundText,
		)
	}
	now, err := s.RedisTime(ctx)
	if err != nil {
		return shop.Order{}, shop.Unavailable("Redis time", err)
	}
	decision := payment.RefundDecision{Order: order, By: actor.User, Approved: approve, Note: note, At: now}
	var row shop.Order
	done, err := s.Store.RunOperation(ctx, actor, func(tx *store.Store) (journal.Operation, error) {
		before, err := tx.Orders().Order(ctx, order)
		if err != nil {
			return journal.Operation{}, err
		}
		row, err = tx.Refunds().DecideRefund(ctx, decision)
		operation := journal.Operation{
			Kind: "refund.decline", Object: object("order", order), Note: note, Before: stateOf(&before),
			After: stateOf(&row),
		}
		if approve {
			operation.Kind = "refund.approve"
		}
		return operation, err
	})
	if err == nil && done.Repeated {
		row, err = s.Store.Orders().Order(ctx, order)
	}
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Order{}, s.decisionError(ctx, order, approve)
	}
	if err != nil {
		return shop.Order{}, shop.UnknownOutcome("decide on the refund of order "+order.String(), err)
	}
	return row, shop.UnknownOutcome("publish the refund of order "+order.String(), s.Effects.Do(ctx, now, &row))
}

// stateOf returns the part of an order that the journal may store.
func stateOf(o *shop.Order) any {
	return struct {
		State  shop.OrderState `json:"state"`
		Reason string          `json:"reason,omitempty"`
		Rev    int             `json:"rev"`
	}{o.State, o.Reason, o.Rev}
}

// decisionError returns the reason why a decision changed no order.
func (s *RefundService) decisionError(ctx context.Context, order shop.ID, approve bool) error {
	row, err := s.Store.Orders().Order(ctx, order)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return shop.Fail(shop.NotFound, "no such order")
	case err != nil:
		return shop.Unavailable("the order", err)
	case !approve && (row.State == shop.Paid || row.State == shop.Shipped):
		return shop.Fail(shop.WrongState, "the order has no refund request to decline")
	default:
		return shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
}

// Retry sends a stuck refund to the gateway again. WrongState: the refund is not stuck.
func (s *RefundService) Retry(ctx context.Context, actor journal.Actor, order shop.ID) error {
	now, err := s.RedisTime(ctx)
	if err != nil {
		return shop.Unavailable("Redis time", err)
	}
	_, err = s.Store.RunOperation(ctx, actor, func(tx *store.Store) (journal.Operation, error) {
		return journal.Operation{
			Kind: "refund.retry", Object: object("order", order), Before: payment.RefundStuck, After: payment.RefundOpen,
		}, tx.Refunds().RetryRefund(ctx, order, now)
	})
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.WrongState, "the refund of that order is not stuck")
	}
	return shop.UnknownOutcome("try the refund of order "+order.String()+" again", err)
}

// List pages through refunds, those of the newest orders first.
func (s *RefundService) List(ctx context.Context, q payment.RefundsQuery) ([]payment.Refund, bool, error) {
	refunds, more, err := s.Store.Refunds().Refunds(ctx, q)
	if errors.Is(err, shop.ErrNoRow) {
		return nil, false, shop.Fail(shop.BadRequest, "before is not the request number of a refund")
	}
	return refunds, more, shop.Unavailable("refunds", err)
}

// Order reads an order of any user with its refund; nil: it has no refund. NotFound: no such order.
func (s *RefundService) Order(ctx context.Context, order shop.ID) (shop.Order, *payment.Refund, error) {
	row, err := s.Store.Orders().Order(ctx, order)
	if errors.Is(err, shop.ErrNoRow) {
		return row, nil, shop.Fail(shop.NotFound, "no such order")
	}
	if err != nil {
		return row, nil, shop.Unavailable("the order", err)
	}
	refund, err := s.Store.Refunds().RefundOf(ctx, order)
	if errors.Is(err, shop.ErrNoRow) {
		return row, nil, nil
	}
	return row, &refund, shop.Unavailable("the refund", err)
}
