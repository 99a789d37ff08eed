package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// BeginRefund flips an order in one of the given states to refunding and enters its refund, in one transaction. A repeat returns the order. ErrNoRow: no such order in such a state. A paid or shipped order keeps
// its units; late money holds none.
func (s *Store) BeginRefund(
	ctx context.Context, order shop.ID, from []shop.OrderState, reason string, now shop.Millis,
) (shop.Order, error) {
	return inTx(ctx, s, "begin the refund of order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		return s.beginRefund(ctx, tx, refundRow{
			Order: order, Request: payment.RefundNumber(order), Reason: reason, AskedAt: now, DecidedAt: now,
		}, from)
	})
}

// refundable are the states from which people may have an order refunded. A finished one was received and confirmed.
var refundable = []shop.OrderState{shop.Paid, shop.Shipped}

// beginRefund enters the refund given, whose order gets its reason, or opens the one that was asked for before and
// keeps who asked, when and why.
func (s *Store) beginRefund(ctx context.Context, tx bun.Conn, r refundRow, from []shop.OrderState) (shop.Order, error) {
	o, err := s.lockOrder(ctx, tx, r.Order)
	if err != nil {
		return o, err
	}
	before, known, err := s.lockRefund(ctx, tx, o.ID)
	if err != nil {
		return o, err
	}
	if known && before.Request == r.Request && (o.State == shop.Refunding || o.State == shop.Refunded) {
		return o, nil
	}
	if !slices.Contains(from, o.State) {
		return o, shop.ErrNoRow
	}
	o.Reason = clip(r.Reason, maxReason)
	if known && before.State == payment.RefundAsked {
		o.Reason = payment.ReasonRefundBuyer
		r.Reason, r.AskedBy, r.AskedAt = before.Reason, before.AskedBy, before.AskedAt
	}
	if err := s.turn(ctx, tx, &o, shop.Refunding); err != nil {
		return o, err
	}
	r.State, r.AmountFen, r.NextAt = payment.RefundOpen, o.AmountFen, &r.DecidedAt
	return o, s.putRefund(ctx, tx, known, &r)
}

// AskRefund enters what the buyer of a paid or shipped order wants, and tells so in the order's reason. It answers the
// row as it is afterwards, changed or not; ErrNoRow if there is none or it is another user's.
func (s *Store) AskRefund(ctx context.Context, ask payment.RefundAsk) (shop.Order, error) {
	return inTx(ctx, s, "ask for the refund of order "+ask.Order.String(), func(tx bun.Conn) (shop.Order, error) {
		return s.askRefund(ctx, tx, ask)
	})
}

func (s *Store) askRefund(ctx context.Context, tx bun.Conn, ask payment.RefundAsk) (shop.Order, error) {
	o, err := s.lockOrderOf(ctx, tx, ask.Order, ask.User)
	if err != nil {
		return o, err
	}
	before, known, err := s.lockRefund(ctx, tx, o.ID)
	if err != nil || !slices.Contains(refundable, o.State) || known && before.State == payment.RefundAsked {
		return o, err
	}
	o.Reason = payment.ReasonRefundAsked
	if err := s.turn(ctx, tx, &o, o.State); err != nil {
		return o, err
	}
	return o, s.putRefund(ctx, tx, known, &refundRow{
		Order: o.ID, Request: payment.RefundNumber(o.ID), State: payment.RefundAsked, AmountFen: o.AmountFen,
		Reason: clip(ask.Text, maxReason), AskedBy: ask.User, AskedAt: ask.At,
	})
}

// DecideRefund flips a paid or shipped order to refunding, or declines what was asked for. A repeat answers the order
// as it is. ErrNoRow: the order is in no such state, or there is nothing to decline.
func (s *Store) DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error) {
	return inTx(ctx, s, "decide on the refund of order "+d.Order.String(), func(tx bun.Conn) (shop.Order, error) {
		if !d.Yes {
			return s.declineRefund(ctx, tx, d)
		}
		return s.beginRefund(ctx, tx, refundRow{
			Order: d.Order, Request: payment.RefundNumber(d.Order), Reason: payment.ReasonRefundShop,
			AskedBy: d.By, AskedAt: d.At, DecidedBy: d.By, DecidedAt: d.At, Note: clip(d.Note, maxReason),
		}, refundable)
	})
}

func (s *Store) declineRefund(ctx context.Context, tx bun.Conn, d payment.RefundDecision) (shop.Order, error) {
	o, err := s.lockOrder(ctx, tx, d.Order)
	if err != nil {
		return o, err
	}
	r, known, err := s.lockRefund(ctx, tx, o.ID)
	switch {
	case err != nil:
		return o, err
	case known && r.State == payment.RefundDeclined:
		return o, nil
	case !known || r.State != payment.RefundAsked || !slices.Contains(refundable, o.State):
		return o, shop.ErrNoRow
	}
	o.Reason = payment.ReasonRefundDeclined
	if err := s.turn(ctx, tx, &o, o.State); err != nil {
		return o, err
	}
	r.State, r.DecidedBy, r.DecidedAt, r.Note = payment.RefundDeclined, d.By, d.At, clip(d.Note, maxReason)
	return o, s.putRefund(ctx, tx, known, &r)
}
