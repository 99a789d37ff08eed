package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"stampede/app"
)

var _ app.ReconciliationStore = (*Store)(nil)

// longestTrade is the longest time to pay that a shop can set (STAMPEDE_PAY_WINDOW), and bounds how far before a day
// its trades can have been opened.
const longestTrade = 24 * time.Hour

// OrdersOfDay lists the orders that a day's payments are about. See app.ReconciliationStore.
func (s *Store) OrdersOfDay(ctx context.Context, from, to app.Millis, after app.ID, limit int) ([]app.ID, error) {
	var ids []app.ID
	err := s.db.NewRaw("SELECT order_id FROM payments WHERE paid_at >= ? AND paid_at < ? AND order_id > ?"+
		" UNION SELECT order_id FROM trades WHERE opened_at >= ? AND opened_at < ? AND expires_at >= ? AND order_id > ?"+
		" ORDER BY order_id LIMIT ?", from, to, after, from.Add(-longestTrade), to, from, after, limit).Scan(ctx, &ids)
	return ids, wrap("list the orders of a day's payments", err)
}

// PaymentsOf reads the payments of the orders, in the order of their trades.
func (s *Store) PaymentsOf(ctx context.Context, orders []app.ID) ([]app.Received, error) {
	var out []app.Received
	for some := range slices.Chunk(orders, idsAtOnce) {
		var rows []paymentRow
		err := s.db.NewSelect().Model(&rows).Where("order_id IN (?)", bun.List(some)).Order("trade_no").Scan(ctx)
		if err != nil {
			return nil, wrap("read payments", err)
		}
		out = append(out, convert(rows, (*paymentRow).received)...)
	}
	return out, nil
}
