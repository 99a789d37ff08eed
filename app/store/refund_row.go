package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// refundRow is payment.Refund as the table has it.
type refundRow struct {
	bun.BaseModel `bun:"table:refunds"`

	Order     shop.ID             `bun:"order_id,pk"`
	Request   string              `bun:"request"`
	State     payment.RefundState `bun:"state"`
	AmountFen int64               `bun:"amount_fen"`
	Reason    string              `bun:"reason"`
	AskedBy   shop.ID             `bun:"asked_by"`
	AskedAt   shop.Millis         `bun:"asked_at"`
	DecidedBy shop.ID             `bun:"decided_by"`
	DecidedAt shop.Millis         `bun:"decided_at"`
	DoneAt    shop.Millis         `bun:"done_at"`
	Attempts  int                 `bun:"attempts"`
	NextAt    *shop.Millis        `bun:"next_at"`
	Note      string              `bun:"note"`
}

func (r *refundRow) refund() payment.Refund {
	return payment.Refund{
		Order: r.Order, Request: r.Request, State: r.State, AmountFen: r.AmountFen, Reason: r.Reason,
		AskedBy: r.AskedBy, AskedAt: r.AskedAt, DecidedBy: r.DecidedBy, DecidedAt: r.DecidedAt, DoneAt: r.DoneAt,
		Attempts: r.Attempts, NextAt: orZero(r.NextAt), Note: r.Note,
	}
}

// lockRefund reads the refund of an order, if it has one, and keeps it from changing until the transaction ends.
func (s *Store) lockRefund(ctx context.Context, tx bun.Conn, order shop.ID) (row refundRow, known bool, err error) {
	q := tx.NewSelect().Model(&row).Where("order_id = ?", order)
	err = s.locking(q).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// putRefund writes a refund in the place of the one that was locked, or as the order's first.
func (s *Store) putRefund(ctx context.Context, tx bun.Conn, known bool, r *refundRow) error {
	if known {
		_, err := tx.NewUpdate().Model(r).WherePK().Exec(ctx)
		return err
	}
	return insert(ctx, tx, r)
}

// turn flips a locked order to another state of the same units, or to the same with another reason. Its buyer is to be
// told.
func (s *Store) turn(ctx context.Context, tx bun.Conn, o *shop.Order, to shop.OrderState) error {
	return s.flip(ctx, tx, o, to, "reason = ?", o.Reason)
}
