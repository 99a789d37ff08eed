package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// Sale reads one sale with its product. ErrNoRow if there is none.
func (s *Store) Sale(ctx context.Context, id app.ID) (app.Sale, error) {
	what := "read sale " + id.String()
	found, err := s.sales(ctx, what, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("s.id = ?", id) })
	return only(what, found, err)
}

// LoadedSales lists the sales of a partition that were loaded into Redis and are not retired.
func (s *Store) LoadedSales(ctx context.Context, partition int) ([]app.Sale, error) {
	what := fmt.Sprintf("read loaded sales of partition %d", partition)
	return s.sales(ctx, what, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("s.part = ? AND s.retired_at = 0 AND s.epoch > 0", partition).Order("s.id")
	})
}

// FreeUnits reads how many units the guard of each of the sales has left.
func (s *Store) FreeUnits(ctx context.Context, sales []app.ID) (map[app.ID]int64, error) {
	left := make(map[app.ID]int64, len(sales))
	for some := range slices.Chunk(sales, idsAtOnce) {
		var rows []struct {
			ID   app.ID `bun:"id"`
			Free int64  `bun:"free"`
		}
		err := s.db.NewRaw("SELECT id, initial + added - withdrawn - taken AS free FROM sales WHERE id IN (?)",
			bun.List(some)).Scan(ctx, &rows)
		if err != nil {
			return nil, wrap(fmt.Sprintf("read what %d sales have left", len(some)), err)
		}
		for _, r := range rows {
			left[r.ID] = r.Free
		}
	}
	return left, nil
}

// MarkLoaded sets the epoch of a sale that was never loaded (I7). The partition's row is locked first, so
// that the epoch cannot advance past the sale meanwhile.
func (s *Store) MarkLoaded(ctx context.Context, sale app.ID, epoch int64) error {
	return s.inTx(ctx, "mark sale "+sale.String()+" loaded", func(tx bun.Conn) error {
		var part int
		if err := tx.QueryRowContext(ctx, "SELECT part FROM sales WHERE id = ?", sale).Scan(&part); err != nil {
			return err
		}
		current, err := s.lockPartition(ctx, tx, part)
		if err != nil {
			return err
		}
		if current != epoch {
			return fmt.Errorf("%w: partition %d is at epoch %d, not %d", app.ErrStaleEpoch, part, current, epoch)
		}
		matched, err := exec(ctx, tx, "UPDATE sales SET epoch = ? WHERE id = ? AND epoch IN (0, ?)", epoch, sale, epoch)
		if err != nil {
			return err
		}
		if matched == 0 {
			return fmt.Errorf("%w: it was loaded under another epoch than %d", app.ErrStaleEpoch, epoch)
		}
		return nil
	})
}

// MarkRetired notes that a sale's keys have left Redis for good, if it is still at that epoch. Marking it again keeps
// the first instant.
func (s *Store) MarkRetired(ctx context.Context, sale app.ID, epoch int64) error {
	return s.inTx(ctx, "mark sale "+sale.String()+" retired", func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE sales SET retired_at = ? WHERE id = ? AND epoch = ? AND retired_at = 0",
			wallClock(), sale, epoch)
		return err
	})
}
