package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// unstamped is said by every change of a row that makes no new state of it: what its buyer sees is as old as before.
const unstamped = "changed_at = changed_at"

// Restamp makes the changes of rows as new as now, so that absent nodes find them, and answers the rows, stamped. Rows
// are locked first, so that no stamp is older than that of a change which was waited for.
func (s *Store) Restamp(ctx context.Context, ids []shop.ID) ([]shop.Order, error) {
	out := make([]shop.Order, 0, len(ids))
	for some := range inOrder(ids) {
		rows, err := inTx(ctx, s, "stamp orders anew", func(tx bun.Conn) ([]shop.Order, error) {
			rows, err := s.lockOrders(ctx, tx, some)
			if err != nil || len(rows) == 0 {
				return nil, err
			}
			return rows, updateLocked(ctx, tx, len(rows), "stamp locked orders", "SET "+s.d.stamp+" WHERE id IN (?)",
				bun.List(some))
		})
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Stamped = true
		}
		out = append(out, rows...)
	}
	return out, nil
}

// RestampSince does that for the rows that were stamped at the instant given or later, and answers nothing.
func (s *Store) RestampSince(ctx context.Context, ids []shop.ID, since shop.Millis) error {
	for some := range inOrder(ids) {
		_, err := s.run(ctx, "stamp young orders anew",
			"UPDATE orders SET "+s.d.stamp+" WHERE id IN (?) AND "+s.d.changed+" >= ?", bun.List(some), since)
		if err != nil {
			return err
		}
	}
	return nil
}
