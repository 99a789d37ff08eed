package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Refunds keeps refunds and the states of their orders.
type Refunds struct{ *session }

// BeginRefund changes an order in one of the given states to refunding and enters its refund, in one transaction. A
// repeat returns the order. ErrNoRow: no such order, or it is in another state. A paid or shipped order keeps its
// units; an ended order with a late payment has no units.
func (s Refunds) BeginRefund(
	ctx context.Context, order shop.ID, from []shop.OrderState, reason string, now shop.Millis,
) (shop.Order, error) {
	return inTx(ctx, s.session, "begin the refund of order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		return s.beginRefund(ctx, tx, refundRow{
			Order: order, Reason: reason, RequestedAt: now, DecidedAt: now,
		}, from)
	})
}

// refundable lists the states in which an order can be refunded on request. A finished order is not refundable, because
// its receipt is confirmed.
var refundable = []shop.OrderState{shop.Paid, shop.Shipped}

// beginRefund enters the given refund of the money that is not refunded yet, and copies its reason to the order. If the
// buyer has requested a refund, beginRefund opens the requested refund and keeps its requester, time and reason.
func (s Refunds) beginRefund(
	ctx context.Context, tx bun.Conn, r refundRow, from []shop.OrderState,
) (shop.Order, error) {
	o, err := s.Orders().lockOrder(ctx, tx, r.Order)
	if err != nil {
		return o, err
	}
	before, err := s.lockRefund(ctx, tx, o.ID)
	if err != nil {
		return o, err
	}
	if before.Order == o.ID && (o.State == shop.Refunding || o.State == shop.Refunded) {
		return o, nil
	}
	if !slices.Contains(from, o.State) {
		return o, shop.ErrNoRow
	}
	o.Reason = clip(r.Reason, maxReason)
	if before.State == payment.RefundRequested {
		o.Reason = payment.ReasonRefundBuyer
		r.Reason, r.RequestedBy, r.RequestedAt = before.Reason, before.RequestedBy, before.RequestedAt
	}
	ended := shop.Step{State: o.State, At: o.CancelledAt}
	if err := s.setState(ctx, tx, &o, shop.Refunding); err != nil {
		return o, err
	}
	if ended.At > 0 { // the row no longer shows whether the order was cancelled or expired
		if err := s.Orders().keepSteps(ctx, tx, o.ID, ended); err != nil {
			return o, err
		}
	}
	r.State, r.AmountFen, r.NextAt = payment.RefundOpen, o.AmountFen-o.RefundedFen, &r.DecidedAt
	return o, s.replaceRefund(ctx, tx, &before, &r)
}

// RequestRefund enters the refund request of the buyer of a paid or shipped order, and sets the order's reason. An
// approved request of a paid order begins the refund in the same transaction. RequestRefund returns the resulting row,
// changed or not. ErrNoRow: no such order of this user.
func (s Refunds) RequestRefund(ctx context.Context, request payment.BuyerRefundRequest) (shop.Order, error) {
	return inTx(ctx, s.session, "request the refund of order "+request.Order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.requestRefund(ctx, tx, request)
		if err != nil || !request.Approved || o.State != shop.Paid {
			return o, err
		}
		return s.beginRefund(ctx, tx, refundRow{
			Order: request.Order, RequestedAt: request.At, DecidedAt: request.At,
		}, []shop.OrderState{shop.Paid})
	})
}

func (s Refunds) requestRefund(
	ctx context.Context, tx bun.Conn, request payment.BuyerRefundRequest,
) (shop.Order, error) {
	o, err := s.Orders().lockOrderOf(ctx, tx, request.Order, request.User)
	if err != nil {
		return o, err
	}
	before, err := s.lockRefund(ctx, tx, o.ID)
	if err != nil || !slices.Contains(refundable, o.State) || before.State == payment.RefundRequested {
		return o, err
	}
	o.Reason = payment.ReasonRefundRequested
	if err := s.setState(ctx, tx, &o, o.State); err != nil {
		return o, err
	}
	return o, s.replaceRefund(ctx, tx, &before, &refundRow{
		Order: o.ID, State: payment.RefundRequested, AmountFen: o.AmountFen - o.RefundedFen,
		Reason: clip(request.Text, maxReason), RequestedBy: request.User, RequestedAt: request.At,
	})
}

// DecideRefund changes a paid or shipped order to refunding, or declines the requested refund. A repeat returns the
// order unchanged. ErrNoRow: the order is in another state, or there is no request to decline.
func (s Refunds) DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error) {
	return inTx(ctx, s.session, "decide on the refund of order "+d.Order.String(), func(tx bun.Conn) (shop.Order, error) {
		decision := "refund"
		if !d.Approved {
			decision = "declined"
		}
		// A recovery requests the refund of an order whose units are gone, and adds it to the problems.
		if _, err := s.Problems().decide(ctx, tx, d.Order, decision, d.By, d.At); err != nil {
			return shop.Order{}, err
		}
		if !d.Approved {
			return s.declineRefund(ctx, tx, d)
		}
		return s.beginRefund(ctx, tx, refundRow{
			Order: d.Order, Reason: payment.ReasonRefundShop, RequestedBy: d.By, RequestedAt: d.At, DecidedBy: d.By,
			DecidedAt: d.At, Note: clip(d.Note, maxReason),
		}, refundable)
	})
}

func (s Refunds) declineRefund(ctx context.Context, tx bun.Conn, d payment.RefundDecision) (shop.Order, error) {
	o, err := s.Orders().lockOrder(ctx, tx, d.Order)
	if err != nil {
		return o, err
	}
	r, err := s.lockRefund(ctx, tx, o.ID)
	switch {
	case err != nil:
		return o, err
	case r.State == payment.RefundDeclined:
		return o, nil
	case r.State != payment.RefundRequested || !slices.Contains(refundable, o.State):
		return o, shop.ErrNoRow
	}
	o.Reason = payment.ReasonRefundDeclined
	if err := s.setState(ctx, tx, &o, o.State); err != nil {
		return o, err
	}
	r.State, r.DecidedBy, r.DecidedAt, r.Note = payment.RefundDeclined, d.By, d.At, clip(d.Note, maxReason)
	_, err = tx.NewUpdate().Model(&r).WherePK().Exec(ctx)
	return o, err
}

// refundRow is the row of a payment.Refund.
type refundRow struct {
	bun.BaseModel `bun:"table:refunds"`

	Request     string              `bun:"request,pk"`
	Order       shop.ID             `bun:"order_id"`
	State       payment.RefundState `bun:"state"`
	AmountFen   int64               `bun:"amount_fen"`
	Reason      string              `bun:"reason"`
	RequestedBy shop.ID             `bun:"requested_by"`
	RequestedAt shop.Millis         `bun:"requested_at"`
	DecidedBy   shop.ID             `bun:"decided_by"`
	DecidedAt   shop.Millis         `bun:"decided_at"`
	DoneAt      shop.Millis         `bun:"done_at"`
	Attempts    int                 `bun:"attempts"`
	NextAt      *shop.Millis        `bun:"next_at"`
	Note        string              `bun:"note"`
}

func (r *refundRow) refund() payment.Refund {
	return payment.Refund{
		Order: r.Order, Request: r.Request, State: r.State, AmountFen: r.AmountFen, Reason: r.Reason,
		RequestedBy: r.RequestedBy, RequestedAt: r.RequestedAt, DecidedBy: r.DecidedBy, DecidedAt: r.DecidedAt,
		DoneAt:   r.DoneAt,
		Attempts: r.Attempts, NextAt: zeroIfNil(r.NextAt), Note: r.Note,
	}
}

// pending reports whether an operator or the gateway has to decide on the refund.
func (r *refundRow) pending() bool {
	return r.State == payment.RefundRequested || r.State == payment.RefundOpen || r.State == payment.RefundStuck
}

// lastRefund selects the newest refund of an order. A longer number is newer.
func lastRefund(q *bun.SelectQuery, order shop.ID) *bun.SelectQuery {
	return q.Where("order_id = ?", order).OrderExpr("LENGTH(request) DESC, request DESC").Limit(1)
}

// lockRefund reads the newest refund of an order and locks it until the transaction ends. An empty row: the order has
// no refund.
func (s Refunds) lockRefund(ctx context.Context, tx bun.Conn, order shop.ID) (row refundRow, err error) {
	err = s.locking(lastRefund(tx.NewSelect().Model(&row), order)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return row, err
}

// replaceRefund replaces the locked newest refund, unless it is missing or done: then it inserts the next one. It keeps
// the steps of a declined request.
func (s Refunds) replaceRefund(ctx context.Context, tx bun.Conn, before, r *refundRow) error {
	if before.State == "" || before.State == payment.RefundDone {
		count, err := tx.NewSelect().Model((*refundRow)(nil)).Where("order_id = ?", r.Order).Count(ctx)
		if err != nil {
			return err
		}
		r.Request = payment.RefundNumber(r.Order, int(count)+1)
		return insert(ctx, tx, r)
	}
	if before.State == payment.RefundDeclined {
		if err := s.Orders().keepSteps(ctx, tx, r.Order, before.steps(before.RequestedBy)...); err != nil {
			return err
		}
	}
	r.Request = before.Request
	_, err := tx.NewUpdate().Model(r).WherePK().Exec(ctx)
	return err
}

// setState changes a locked order to another state with the same units, or changes only its reason. The order becomes
// unpublished.
func (s Refunds) setState(ctx context.Context, tx bun.Conn, o *shop.Order, to shop.OrderState) error {
	return s.Orders().changeState(ctx, tx, o, to, "reason = ?, refunded_fen = ?", o.Reason, o.RefundedFen)
}

// ClaimRefunds claims open refunds of changeable orders that are due and were decided until decidedBy, and counts an
// attempt for each. A refund is due again after RefundPause, unless it is finished or stuck by then.
func (s Refunds) ClaimRefunds(
	ctx context.Context, now, decidedBy shop.Millis, limit int,
) ([]payment.Refund, error) {
	due := func(db bun.IDB, rows *[]refundRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Where("decided_at <= ?", decidedBy).
			Where(s.changeable()).Order("next_at", "order_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s.session, "claim refunds", due, func(tx bun.Conn, rows []refundRow) error {
		for i := range rows {
			r := &rows[i]
			r.Attempts++
			r.NextAt = new(now.Add(payment.RefundPause(r.Attempts)))
			err := execMatching(ctx, tx, 1, "count an attempt",
				"UPDATE refunds SET attempts = ?, next_at = ? WHERE request = ?", r.Attempts, *r.NextAt, r.Request)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return convert(rows, (*refundRow).refund), err
}

// RecordRefundAttempt stores the result of an attempt. If stuck is set, the gateway's rejection is final, and the
// refund is not retried.
func (s Refunds) RecordRefundAttempt(ctx context.Context, order shop.ID, note string, stuck bool) error {
	return s.inTx(ctx, "record an attempt to refund order "+order.String(), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE refunds SET note = ? WHERE order_id = ? AND state = ?", clip(note, maxReason),
			order, payment.RefundOpen)
		if err == nil && stuck {
			_, err = exec(ctx, tx, "UPDATE refunds SET state = ?, next_at = NULL WHERE order_id = ? AND state = ?",
				payment.RefundStuck, order, payment.RefundOpen)
		}
		return err
	})
}

// RetryRefund reopens a stuck refund. ErrNoRow: the refund is not stuck.
func (s Refunds) RetryRefund(ctx context.Context, order shop.ID, now shop.Millis) error {
	return s.changeRow(ctx, "retry the refund of order "+order.String(),
		"UPDATE refunds SET state = ?, next_at = ? WHERE order_id = ? AND state = ?", payment.RefundOpen, now, order,
		payment.RefundStuck)
}

// FinishRefund changes a refunding order to refunded and its refund to done, and adds a message for the back office, in
// one transaction. A refunded order is returned unchanged. ErrNoRow: the order is in another state. The guard still
// counts its units as taken. SaleTotals reports them as refunded units.
func (s Refunds) FinishRefund(ctx context.Context, order shop.ID, now shop.Millis) (shop.Order, error) {
	return inTx(ctx, s.session, "finish the refund of order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.Orders().lockOrder(ctx, tx, order)
		switch {
		case err != nil || o.State == shop.Refunded:
			return o, err
		case o.State != shop.Refunding:
			return o, shop.ErrNoRow
		}
		o.RefundedFen = o.AmountFen
		if err := s.setState(ctx, tx, &o, shop.Refunded); err != nil {
			return o, err
		}
		err = execMatching(ctx, tx, 1, "close its refund",
			"UPDATE refunds SET state = ?, done_at = ?, next_at = NULL, note = '' WHERE order_id = ? AND state IN (?)",
			payment.RefundDone, now, order, bun.List([]payment.RefundState{payment.RefundOpen, payment.RefundStuck}))
		if err != nil {
			return o, err
		}
		return o, s.Outbox().addOutboxMessage(ctx, tx, &o, now)
	})
}

// RefundOf reads the newest refund of an order. ErrNoRow: it has no refund.
func (s Refunds) RefundOf(ctx context.Context, order shop.ID) (payment.Refund, error) {
	var row refundRow
	err := lastRefund(s.db.NewSelect().Model(&row), order).Scan(ctx)
	return row.refund(), wrap("read the refund of order "+order.String(), err)
}

// Refunds returns one page of refunds; more reports whether older refunds exist. ErrNoRow: no refund has the number
// q.Before.
func (s Refunds) Refunds(ctx context.Context, q payment.RefundsQuery) (page []payment.Refund, more bool, err error) {
	var rows []refundRow
	sel := whereSet(s.db.NewSelect().Model(&rows), "state = ?", q.State).Order("order_id DESC", "request DESC")
	if q.Before != "" {
		var last refundRow
		err := s.db.NewSelect().Model(&last).Where("request = ?", q.Before).Scan(ctx)
		if err != nil {
			return nil, false, wrap("read the last refund of the page before", err)
		}
		sel = sel.Where("(order_id < ? OR order_id = ? AND request < ?)", last.Order, last.Order, last.Request)
	}
	err = sel.Limit(int64(q.Limit) + 1).Scan(ctx)
	page, more = trimPage(convert(rows, (*refundRow).refund), q.Limit)
	return page, more, wrap("read refunds", err)
}

// RefundBacklog counts the refunds that are requested, open or stuck. Oldest is the time of the earliest decision among
// the open refunds.
func (s Refunds) RefundBacklog(ctx context.Context) (payment.RefundBacklog, error) {
	var b payment.RefundBacklog
	for state, n := range map[payment.RefundState]*int64{
		payment.RefundRequested: &b.Requested, payment.RefundOpen: &b.Open, payment.RefundStuck: &b.Stuck,
	} {
		oldest := shop.Millis(0)
		err := s.db.NewRaw("SELECT COUNT(*), COALESCE(MIN(decided_at), 0) FROM refunds WHERE state = ?", state).Scan(ctx, n, &oldest)
		if err != nil {
			return b, wrap(fmt.Sprintf("count refunds that are %s", state), err)
		}
		if state == payment.RefundOpen {
			b.Oldest = oldest
		}
	}
	return b, nil
}
