package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// outboxRow is what the back office is to hear of one revision of an order.
type outboxRow struct {
	bun.BaseModel `bun:"table:outbox"`

	Order  app.ID         `bun:"order_id,pk"`
	Rev    int            `bun:"rev,pk"`
	State  app.OrderState `bun:"state"`
	At     app.Millis     `bun:"at"`
	NextAt *app.Millis    `bun:"next_at"`
}

// post notes for the back office that an order was paid or refunded, in the transaction in which that happens: once for
// each such revision.
func (s *Store) post(ctx context.Context, tx bun.Conn, o *app.Order, now app.Millis) error {
	row := outboxRow{Order: o.ID, Rev: o.Rev, State: o.State, At: now, NextAt: &now}
	_, err := tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx)
	return err
}

// ClaimOutbox takes what is due. See app.OutboxStore.
func (s *Store) ClaimOutbox(ctx context.Context, now app.Millis, limit int) ([]app.OutboxMessage, error) {
	due := func(db bun.IDB, rows *[]outboxRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Order("next_at", "order_id", "rev").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s, "claim postings", due, func(tx bun.Conn, rows []outboxRow) error {
		for some := range slices.Chunk(ordersOf(rows), idsAtOnce) {
			// A newer revision of one of them that is due beyond the limit waits as long as these.
			_, err := exec(ctx, tx, "UPDATE outbox SET next_at = ? WHERE order_id IN (?) AND next_at <= ?",
				now.Add(app.OutboxLease), bun.List(some), now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return s.postings(ctx, rows)
}

// postings puts what the orders' rows say behind the revisions. What the row has by now is no older than the revision.
func (s *Store) postings(ctx context.Context, rows []outboxRow) ([]app.OutboxMessage, error) {
	found, err := s.OrdersByID(ctx, ordersOf(rows))
	if err != nil {
		return nil, err
	}
	byID := make(map[app.ID]*app.Order, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	out := make([]app.OutboxMessage, len(rows))
	for i, r := range rows {
		o := byID[r.Order]
		if o == nil {
			return nil, fmt.Errorf("%w: order %s is in the outbox and has no row", app.ErrPermanent, r.Order)
		}
		out[i] = app.OutboxMessage{
			Order: r.Order, Rev: r.Rev, State: r.State, At: r.At, Sale: o.Sale, ProductName: o.ProductName,
			User: o.User, Qty: o.Qty,
			PriceFen: o.PriceFen, AmountFen: o.AmountFen, PaidAt: o.PaidAt, TradeNo: o.TradeNo, Address: o.Address,
		}
	}
	return out, nil
}

func ordersOf(rows []outboxRow) []app.ID {
	return convert(rows, func(r *outboxRow) app.ID { return r.Order })
}

// MarkSent notes that postings are in the stream, with one statement per revision.
func (s *Store) MarkSent(ctx context.Context, posted []app.OutboxMessage) error {
	byRev := make(map[int][]app.ID, 2)
	for i := range posted {
		byRev[posted[i].Rev] = append(byRev[posted[i].Rev], posted[i].Order)
	}
	for rev, ids := range byRev {
		for some := range inOrder(ids) {
			err := s.inTx(ctx, "mark postings", func(tx bun.Conn) error {
				_, err := exec(ctx, tx, "UPDATE outbox SET next_at = NULL WHERE order_id IN (?) AND rev = ?",
					bun.List(some), rev)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Repost has everything from an instant on appended once more. See app.OutboxStore.
func (s *Store) Repost(ctx context.Context, since app.Millis) (n int64, err error) {
	return inTx(ctx, s, "post again", func(tx bun.Conn) (int64, error) {
		return exec(ctx, tx, "UPDATE outbox SET next_at = at WHERE at >= ?", since)
	})
}

// Unposted counts what waits.
func (s *Store) Unposted(ctx context.Context) (n int64, err error) {
	err = s.db.NewRaw("SELECT COUNT(*) FROM outbox WHERE next_at IS NOT NULL").Scan(ctx, &n)
	return n, wrap("count postings that wait", err)
}
