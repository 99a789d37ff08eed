package store

import (
	"context"

	"stampede/app"
)

// ArchiveState reads what is where; whole tables are only counted about. See app.ArchiveStore.
func (s *Store) ArchiveState(
	ctx context.Context, now, closedBefore, blankBefore app.Millis,
) (state app.ArchiveState, err error) {
	state.Months = []app.ArchivedMonth{}
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
	err = s.db.NewRaw("SELECT COUNT(*) FROM sales WHERE archive_at > ? AND retired_at > 0", now).
		Scan(ctx, &state.SalesKept)
	if err != nil {
		return state, wrap("count sales with orders that are not at rest", err)
	}
	// All others of these sales have moved: few rows are read.
	err = s.db.NewRaw("SELECT COALESCE(SUM(o.state = 'paid'), 0), COALESCE(SUM(o.state = 'shipped'), 0) FROM sales s"+
		" JOIN orders o ON o.sale_id = s.id WHERE s.archive_at > ? AND s.retired_at > 0", now).
		Scan(ctx, &state.PaidLeft, &state.ShippedLeft)
	if err != nil {
		return state, wrap("count orders that nobody has shipped", err)
	}
	months, err := s.months(ctx, s.db)
	if err != nil {
		return state, wrap("list the months of the archive", err)
	}
	first := app.ID(0)
	for _, m := range months {
		one := app.ArchivedMonth{Month: m.month, Bytes: m.bytes}
		err := s.db.NewRaw("SELECT COUNT(*) FROM orders_archive WHERE id >= ? AND id < ?", first, m.end).Scan(ctx, &one.Orders)
		if err != nil {
			return state, wrap("count orders of month "+m.month.String(), err)
		}
		first = m.end
		state.Months = append(state.Months, one)
		state.Orders += one.Orders
	}
	return state, wrap("count months that are about to be dropped",
		s.db.NewRaw("SELECT COUNT(DISTINCT month) FROM archive_drops WHERE dropped_at = 0").Scan(ctx, &state.MonthsToDrop))
}
