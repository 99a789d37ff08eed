package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app"
)

// Sale reads one sale with its product. ErrNoRow if there is none.
func (s *Store) Sale(ctx context.Context, id app.ID) (app.Sale, error) {
	what := "read sale " + id.String()
	found, err := s.sales(ctx, what, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("s.id = ?", id) })
	if err != nil {
		return app.Sale{}, err
	}
	if len(found) == 0 {
		return app.Sale{}, wrap(what, app.ErrNoRow)
	}
	return found[0], nil
}

// LoadedSales lists the sales of a partition that were loaded into Redis and are not retired.
func (s *Store) LoadedSales(ctx context.Context, partition int) ([]app.Sale, error) {
	what := fmt.Sprintf("read loaded sales of partition %d", partition)
	return s.sales(ctx, what, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("s.part = ? AND s.retired_at = 0 AND s.epoch > 0", partition).Order("s.id")
	})
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

// MarkRetired notes that a sale's keys have left Redis for good, if it is still at that epoch. Marking it again keeps the
// first instant.
func (s *Store) MarkRetired(ctx context.Context, sale app.ID, epoch int64) error {
	return s.inTx(ctx, "mark sale "+sale.String()+" retired", func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE sales SET retired_at = ? WHERE id = ? AND epoch = ? AND retired_at = 0", wallClock(), sale, epoch)
		return err
	})
}
