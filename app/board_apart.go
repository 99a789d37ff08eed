package app

import (
	"context"
	"fmt"
	"slices"
)

// BoardBooks is what the database tells of what the live board shows.
type BoardBooks interface {
	FreeUnits(ctx context.Context, sales []ID) (map[ID]int64, error)
	OpenTrades(ctx context.Context) (int64, error)
}

// ReadBooks reads the board for somebody whom Redis does not answer since the instant given: the sales, of which the
// stock is what the database has left, and how many payments are open. Nobody knows more then.
func (r *BoardReader) ReadBooks(ctx context.Context, books BoardBooks, since Millis) (Board, error) {
	b := Board{Now: r.Now()}
	b.sum(nil)
	sales := r.offered(ctx, b.Now)
	ids := make([]ID, len(sales))
	for i, s := range sales {
		ids[i] = s.ID
	}
	free, err := books.FreeUnits(ctx, ids)
	if err != nil {
		return Board{}, fmt.Errorf("read the units that are left: %w", err)
	}
	if b.Payments.Open, err = books.OpenTrades(ctx); err != nil {
		return Board{}, fmt.Errorf("count open payments: %w", err)
	}
	for _, s := range sales {
		shown := boardSale(s, Counters{}, b.Now)
		shown.Stock = free[s.ID]
		b.Sales = append(b.Sales, shown)
	}
	away := redisAway(since)
	away.Says = "Redis does not answer; this is what the database knows: what it has left, and open payments."
	b.Alarms = append(b.Alarms, away)
	return b, nil
}

// WithoutDatabase says on a board that was read from Redis that the database does not answer since the instant given,
// so that sales may be missing.
func (b *Board) WithoutDatabase(since Millis) {
	b.Alarms = slices.DeleteFunc(b.Alarms, func(a Alarm) bool { return a.Name == AlarmDatabaseAway })
	b.Alarms = append(b.Alarms, Alarm{
		Name: AlarmDatabaseAway, Since: since, Link: runbook + "the-database-is-away",
		Says: "The database does not answer; this is what Redis knows: sales may be missing.",
		Do:   databaseBack,
	})
}
