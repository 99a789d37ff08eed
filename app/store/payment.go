package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Payments keeps the trades that were opened at the gateway and the payments that it reported, and settles them with
// their orders.
type Payments struct{ *session }

// paymentRow is the row of a payment.ReceivedPayment.
type paymentRow struct {
	bun.BaseModel `bun:"table:payments"`

	TradeNo        string          `bun:"trade_no,pk"`
	Order          shop.ID         `bun:"order_id"`
	AmountFen      int64           `bun:"amount_fen"`
	PaidAt         shop.Millis     `bun:"paid_at"`
	SeenAt         shop.Millis     `bun:"seen_at"`
	Outcome        payment.Outcome `bun:"outcome"`
	UnsettledSince *shop.Millis    `bun:"unsettled_since"`
}

func (r *paymentRow) received() payment.ReceivedPayment {
	return payment.ReceivedPayment{
		TradeNo: r.TradeNo, Order: r.Order, AmountFen: r.AmountFen, PaidAt: r.PaidAt, SeenAt: r.SeenAt,
		Outcome: r.Outcome,
	}
}

// Receive enters a paid trade once, by its number; a trade without an order only if it has a mark. In the same
// transaction a pending order with this amount becomes paid. For an ended order with this amount and no other payment,
// the payment is stored in its row, and is late until ReviveLate or Resolve. Receive returns the order (none for
// OutcomeUnknownOrder) and the outcome. A repeat changes nothing, unless the earlier outcome was an anomaly. The row of
// the order is locked first, so that a concurrent call for the same trade waits and finds the result.
func (s Payments) Receive(
	ctx context.Context, t payment.Trade, now shop.Millis,
) (shop.Order, payment.Outcome, error) {
	var out shop.Order
	var outcome payment.Outcome
	err := s.inTx(ctx, "receive the payment of order "+t.Order.String(), func(tx bun.Conn) error {
		all, err := s.Orders().lockOrders(ctx, tx, []shop.ID{t.Order})
		if err != nil {
			return err
		}
		known, err := s.lockPayment(ctx, tx, t.No)
		if err != nil && !errors.Is(err, shop.ErrNoRow) {
			return err
		}
		fresh := err != nil
		if len(all) > 0 {
			out = all[0]
		}
		outcome = outcomeOf(all, t)
		if !fresh {
			var changes bool
			if outcome, changes = repeatedOutcome(known, t, outcome); !changes {
				return nil
			}
		}
		if outcome == payment.OutcomeUnknownOrder && t.Mark == (payment.Mark{}) { // money of another shop
			return nil
		}
		if !outcome.IsAnomaly() {
			if err := s.credit(ctx, tx, &out, t, now); err != nil {
				return err
			}
		}
		return s.savePayment(ctx, tx, fresh, paymentRow{
			TradeNo: t.No, Order: t.Order, AmountFen: t.AmountFen, PaidAt: paidAt(t, now), SeenAt: now,
			Outcome: outcome,
		})
	})
	return out, outcome, err
}

// outcomeOf returns the outcome of a trade that was not received before. found contains its order, or nothing.
func outcomeOf(found []shop.Order, t payment.Trade) payment.Outcome {
	switch {
	case len(found) == 0:
		return payment.OutcomeUnknownOrder
	case found[0].AmountFen != t.AmountFen:
		return payment.OutcomeWrongAmount
	}
	switch found[0].State {
	case shop.Pending:
		return payment.OutcomeTaken
	case shop.Expired, shop.Cancelled:
		if found[0].TradeNo != "" && found[0].TradeNo != t.No {
			return payment.OutcomeSecondTrade
		}
		return payment.OutcomeLate
	case shop.Refused:
		return payment.OutcomeNeverPayable
	default:
		return payment.OutcomeSecondTrade
	}
}

// repeatedOutcome returns the outcome of a trade that was received before: the recorded outcome; an anomaly if order or
// amount differ now; or, if an anomaly was recorded, the new outcome. changes reports whether the recorded outcome must
// be replaced: it was an anomaly and differs from the new outcome.
func repeatedOutcome(
	known paymentRow, t payment.Trade, outcome payment.Outcome,
) (current payment.Outcome, changes bool) {
	switch {
	case known.Order != t.Order:
		return payment.OutcomeSecondTrade, false
	case known.Outcome.IsAnomaly():
		return outcome, outcome != known.Outcome
	case known.AmountFen != t.AmountFen:
		return payment.OutcomeWrongAmount, false
	default:
		return known.Outcome, false
	}
}

// credit stores the payment in the order's row. A pending order becomes paid; an ended order keeps its state.
func (s Payments) credit(ctx context.Context, tx bun.Conn, o *shop.Order, t payment.Trade, now shop.Millis) error {
	o.TradeNo, o.PaidAt = t.No, paidAt(t, now)
	if o.State != shop.Pending {
		return execMatching(ctx, tx, 1, "record a late payment",
			"UPDATE orders SET trade_no = ?, paid_at = ?, "+keepChangedAt+" WHERE id = ? AND state = ?", o.TradeNo,
			o.PaidAt, o.ID, o.State)
	}
	if err := s.Orders().changeState(ctx, tx, o, shop.Paid, "trade_no = ?, paid_at = ?", o.TradeNo, o.PaidAt); err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "UPDATE trades SET check_at = NULL WHERE order_id = ?", o.ID); err != nil {
		return err
	}
	return s.Outbox().addOutboxMessage(ctx, tx, o, now)
}

// savePayment inserts the row of a trade. If fresh is false, it replaces the recorded anomaly.
func (s Payments) savePayment(ctx context.Context, tx bun.Conn, fresh bool, row paymentRow) error {
	if row.Outcome == payment.OutcomeLate {
		row.UnsettledSince = &row.SeenAt
	}
	if fresh {
		return insert(ctx, tx, &row)
	}
	_, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx)
	return err
}

// lockPayment reads and locks the row of a trade. ErrNoRow: the trade is new.
func (s Payments) lockPayment(ctx context.Context, tx bun.Conn, tradeNo string) (paymentRow, error) {
	var row paymentRow
	q := tx.NewSelect().Model(&row).Where("trade_no = ?", tradeNo)
	return row, wrap("read the payment", s.locking(q).Scan(ctx))
}

// paidAt returns the gateway's time of payment, or now if it is missing.
func paidAt(t payment.Trade, now shop.Millis) shop.Millis { return cmp.Or(t.PaidAt, now) }

// maxTradeDuration is the maximum time to pay (STAMPEDE_PAY_WINDOW). A trade that is open on a day was opened at most
// this time before the day.
const maxTradeDuration = 24 * time.Hour

// OrdersOfDay lists ids of orders above `after`, in ascending order. It lists orders with a payment in [from, to), and
// orders whose trade was open in this time, because their payment may be missing in the shop. An id may belong to no
// order, because the gateway can report a payment for an unknown order.
func (s Payments) OrdersOfDay(ctx context.Context, from, to shop.Millis, after shop.ID, limit int) ([]shop.ID, error) {
	var ids []shop.ID
	err := s.db.NewRaw("SELECT order_id FROM payments WHERE paid_at >= ? AND paid_at < ? AND order_id > ?"+
		" UNION SELECT order_id FROM trades WHERE opened_at >= ? AND opened_at < ? AND expires_at >= ? AND order_id > ?"+
		" ORDER BY order_id LIMIT ?", from, to, after, from.Add(-maxTradeDuration), to, from, after, limit).Scan(ctx, &ids)
	return ids, wrap("list the orders of a day's payments", err)
}

// PaymentsOf reads the payments of the orders, sorted by trade number within each chunk of idsAtOnce orders.
func (s Payments) PaymentsOf(ctx context.Context, orders []shop.ID) ([]payment.ReceivedPayment, error) {
	var out []payment.ReceivedPayment
	for chunk := range slices.Chunk(orders, idsAtOnce) {
		var rows []paymentRow
		err := s.db.NewSelect().Model(&rows).Where("order_id IN (?)", bun.List(chunk)).Order("trade_no").Scan(ctx)
		if err != nil {
			return nil, wrap("read payments", err)
		}
		out = append(out, convert(rows, (*paymentRow).received)...)
	}
	return out, nil
}
