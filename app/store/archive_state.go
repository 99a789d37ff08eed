package store

import (
	"context"

	"stampede/app"
)

// ArchiveState counts due sales and remaining orders. See app.ArchiveStore.
func (s *Store) ArchiveState(
	ctx context.Context, now, closedBefore, blankBefore app.Millis,
) (state app.ArchiveState, err error) {
	for _, count := range []struct {
		into   *int64
		column string
		before app.Millis
	}{{&state.SalesToMove, "archive_at", closedBefore}, {&state.SalesToBlank, "blank_at", blankBefore}} {
		err := s.db.NewRaw("SELECT COUNT(*) FROM sales WHERE "+count.column+" <= ? AND closes_at < ? AND retired_at > 0",
			now, count.before).Scan(ctx, count.into)
		if err != nil {
			return state, wrap("count sales that closed long ago", err)
		}
	}
	err = s.db.NewRaw("SELECT COUNT(*) FROM sales WHERE archive_at > ? AND retired_at > 0", now).Scan(ctx, &state.SalesKept)
	if err != nil {
		return state, wrap("count sales with orders that are not at rest", err)
	}
	// All others of these sales have moved: few rows are read.
	err = s.db.NewRaw("SELECT COALESCE(SUM(o.state = 'paid'), 0), COALESCE(SUM(o.state = 'shipped'), 0) FROM sales s"+
		" JOIN orders o ON o.sale_id = s.id WHERE s.archive_at > ? AND s.retired_at > 0", now).
		Scan(ctx, &state.PaidLeft, &state.ShippedLeft)
	return state, wrap("count orders that were not shipped", err)
}
